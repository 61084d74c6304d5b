"""`workspace.git_commit`: judged on what would be staged, then on what was committed, hooks included.

Steps, numbered as in the body:

1. A copy of the index gets everything that changed (`add -A`); its tree is what would be committed.
2. That tree is judged against HEAD. A violation ends here: nothing was touched.
3. What hooks could disturb is kept on this side (`commit_state`).
4. The real index is staged and `git commit` runs, with the hooks that set-up left.
5. It made exactly one commit, on the same branch, on top of HEAD (and of what was being merged). That commit is judged
   again, since hooks may add to it.
6. Where the policy has commits signed, the signed form of that very object takes its place (`signing`).
7. Whenever 4 to 6 fail, HEAD, index and working tree become what they were at the start (`commit_restore`); what
   could not be put back is said.

A merge of what the remote had is judged like the gate does: what follows from its parents is nobody's change.

All of it happens in the container that untrusted code shares: a guard rail. The boundary is the gate, which judges
every commit that leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.controller import commit_state
from runner.controller.commit_restore import restore
from runner.controller.commit_state import Everything, Saved, TreeFailed
from runner.controller.guest_git import GuestGit, hex_name
from runner.controller.raw_diff import parse_raw_diff
from runner.engine.contract import SpawnResult
from runner.gate.commit_object import CommitObject, object_name, parse_commit
from runner.gate.merges import introduced_by_merge
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange
from runner.tools.workspace import CommitOutcome

__all__ = ["Judge", "Known", "Sign", "commit"]

Judge = Callable[[tuple[TreeChange, ...]], None]
"""Raises ToolError when the changes violate the write policy."""

Known = Callable[[str], bool]
"""Whether the remote had that commit when the run started, by the host's own record."""

Sign = Callable[[CommitObject, tuple[str, ...]], bytes]
"""The signed form of a commit that stands on these parents; raises ToolError for one that is not to be signed."""

_MESSAGE_TAIL_CHARS = 4000  # enough of a hook's output to act on
_IDENTITY_OF_NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's empty tree, for a first commit
_MAX_MERGED = 7  # each pair of parents is compared; as many as the gate takes


@dataclass(frozen=True, slots=True)
class _Start:
    """What the commit stands on: HEAD's branch and commit, and the commits that are being merged."""

    branch: str | None
    head: str | None
    merging: tuple[str, ...]

    @property
    def parents(self) -> tuple[str, ...]:
        return (*([self.head] if self.head else []), *self.merging)


def commit(
    git: GuestGit, message: str, judge: Judge, known: Known = lambda _commit: False, sign: Sign | None = None
) -> CommitOutcome:
    """One commit on the current branch, within the policy.

    Raises:
        ToolError: `git_commit_failed` with git's own words, or what `judge` raised. Then HEAD, index and files are as
            they were, or the details hold `restored: false` and name what is not.
    """
    start = _start(git)
    try:
        now = commit_state.everything(git)  # 1
    except TreeFailed as failed:
        raise _failed(_words(failed.result)) from None
    staged = _changes(git, start.head or _IDENTITY_OF_NOTHING, now.tree)
    judge(_introduced(git, start, now.tree, staged, known))  # 2
    saved = _save(git, start, now, staged)  # 3
    try:
        _stage_and_commit(git, message)  # 4
        made = _the_one_commit(git, start)  # 5
        plain = None if sign is None else _plain(git, made)
        tree = made if plain is None else plain.tree  # what is signed is what was judged, whatever git says of the name
        changes = _changes(git, start.head or _IDENTITY_OF_NOTHING, tree)
        judge(_introduced(git, start, tree, changes, known))
        if sign is not None and plain is not None:
            made = _replace(git, start, plain, sign(plain, start.parents))  # 6
    except ToolError as error:
        left = restore(git, saved)  # 7
        raise _not_restored(error, left) if left else error from None
    _remove_locks(git, start)
    return CommitOutcome(made, tuple(sorted(change.path for change in changes)))


def _start(git: GuestGit) -> _Start:
    _require_own_repository(git)
    merging = git.program("/usr/bin/cat", ".git/MERGE_HEAD")
    names = merging.stdout.decode("ascii", "replace").split() if merging.exit == 0 else []
    if len(names) > _MAX_MERGED or any(hex_name(name) is None for name in names):
        raise _failed("the merge in progress cannot be read, or is one of too many commits")
    return _Start(git.line("symbolic-ref", "--quiet", "HEAD"), git.object_name("HEAD"), tuple(names))


def _require_own_repository(git: GuestGit) -> None:
    """A linked `.git`, a moved work tree or a bare repository: what git does there is not about the workspace."""
    where = git.run("rev-parse", "--show-toplevel", "--absolute-git-dir").stdout.splitlines()
    if len(where) != 2 or where[1] != where[0] + b"/.git":
        raise _failed("the workspace is not a git repository with a .git folder and a working tree of its own")


def _save(git: GuestGit, start: _Start, now: Everything, staged: tuple[TreeChange, ...]) -> Saved:
    there = tuple(change.path for change in staged if change.new_mode is not None)
    saved = commit_state.save(git, now, there, start.parents)
    if saved is None:
        raise _failed("the repository's own state (.git without its objects) cannot be read, or is over 64 MiB")
    return saved


def _changes(git: GuestGit, old: str, new: str) -> tuple[TreeChange, ...]:
    result = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", old, new)
    if result.exit != 0 or result.truncated:
        raise _failed(_words(result))
    return parse_raw_diff(result.stdout)


def _introduced(
    git: GuestGit, start: _Start, new: str, changes: tuple[TreeChange, ...], known: Known
) -> tuple[TreeChange, ...]:
    """What is to be judged: `changes` against HEAD, without what a merge of the remote's commits brought."""
    if start.head is None or not start.merging or not all(known(name) for name in start.merging):
        return changes

    def diff(old: str, other: str) -> dict[str, TreeChange]:
        return {change.path: change for change in _changes(git, old, other)}

    sides = [{change.path: change for change in changes}, *(diff(name, new) for name in start.merging)]
    return introduced_by_merge(start.parents, sides, diff, lambda one, two: _merge_bases(git, one, two))


def _merge_bases(git: GuestGit, one: str, two: str) -> list[str]:
    result = git.run("merge-base", "--all", one, two)
    bases = result.stdout.decode("ascii", "replace").split()
    if result.exit not in (0, 1) or any(hex_name(base) is None for base in bases):
        raise _failed("the merge base of what is being merged could not be found")
    return bases or [_IDENTITY_OF_NOTHING]


def _stage_and_commit(git: GuestGit, message: str) -> None:
    staged = git.run("add", "-A")
    if staged.exit != 0:
        raise _failed(_words(staged))
    # The message goes over stdin, so that none can be taken for an option. --allow-empty: the contract wants it.
    made = git.run("commit", "--allow-empty", "--file=-", stdin=[message.encode("utf-8")], hooks=True)
    if made.exit != 0:
        raise _failed(_words(made))


def _the_one_commit(git: GuestGit, start: _Start) -> str:
    """HEAD's commit, once it is seen to be the only new one and on the branch that HEAD was on."""
    _require_own_repository(git)
    made = git.object_name("HEAD")
    if made is None or made == start.head:
        raise _failed("git reported success, but HEAD did not move")
    if git.line("symbolic-ref", "--quiet", "HEAD") != start.branch:
        raise _failed("a hook switched to another branch")
    # The object itself is read: grafts and a commit graph, which hooks can write, say nothing here.
    raw = git.run("cat-file", "commit", made)
    header = raw.stdout.partition(b"\n\n")[0].split(b"\n")
    parents = tuple(line[7:].decode("ascii", "replace") for line in header if line.startswith(b"parent "))
    if raw.exit != 0 or parents != start.parents:
        raise _failed("a hook made commits of its own, so that HEAD is not one commit ahead of where it was")
    return made


def _plain(git: GuestGit, made: str) -> CommitObject:
    """The commit's bytes, once they are seen to be those of its name."""
    raw = git.run("cat-file", "commit", made)
    plain = parse_commit(raw.stdout) if raw.exit == 0 and not raw.truncated else None
    if plain is None or plain.name != made:
        raise _failed("the commit is not signed: it is no plain commit, or has headers beside those of one")
    return plain


def _replace(git: GuestGit, start: _Start, plain: CommitObject, signed: bytes) -> str:
    """The signed commit is where the plain one was: on the branch, and as HEAD."""
    name = object_name(signed)
    _remove_locks(git, start)
    stored = git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=[signed])
    if stored.exit != 0 or stored.stdout.strip() != name.encode("ascii"):
        raise _failed(_words(stored))
    moved = git.run("update-ref", "-m", "commit: signed", "HEAD", name, plain.name)
    if moved.exit != 0:
        raise _failed(_words(moved))
    if git.object_name("HEAD") != name or git.line("symbolic-ref", "--quiet", "HEAD") != start.branch:
        raise _failed("the branch did not move to the signed commit")
    return name


def _remove_locks(git: GuestGit, start: _Start) -> None:
    """Locks that git needed for the commit, so which were not there before: a hook left them, and no process lives."""
    locked = ["index", "HEAD", *([start.branch] if start.branch is not None else [])]
    git.program("/usr/bin/rm", "-f", "--", *(f".git/{name}.lock" for name in locked))


def _words(result: SpawnResult) -> str:
    if result.timed_out:
        return "it ran into its time limit"
    said = (result.stderr + b"\n" + result.stdout).decode("utf-8", "replace").strip()
    return said[-_MESSAGE_TAIL_CHARS:] or f"git ended with {result.exit}"


def _failed(why: str) -> ToolError:
    return ToolError(
        ErrorCode.GIT_COMMIT_FAILED,
        f"git did not commit: {why}",
        hint="Mend what it says and commit again; nothing was changed.",
        details={"output": why},
    )


def _not_restored(error: ToolError, left: tuple[str, ...]) -> ToolError:
    return ToolError(
        error.code,
        f"{error.message}\nWhat was done meanwhile could not all be undone. Not as before: {', '.join(left)}.",
        rule=error.rule,
        hint="Look at the repository (git status, git log) before anything else.",
        details={**error.details, "restored": False, "not_restored": list(left)},
    )
