"""`workspace.git_commit`: judged on what would be staged, then on what was committed, hooks included.

Steps, numbered as in the body:

1. A copy of the index gets everything that changed (`add -A`); its tree is what would be committed.
2. That tree is judged against HEAD. A violation ends here: nothing was touched.
3. The real index is staged and `git commit` runs, with the hooks that set-up left.
4. What was committed is judged again, since hooks may add to it.
5. Whenever 3 or 4 fails, HEAD, index and working tree become what they were at the start.

All of it happens in the container that untrusted code shares: a guard rail. The boundary is the gate, which judges
every commit that leaves.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from runner.controller.guest_git import GuestGit, hex_name
from runner.controller.raw_diff import parse_raw_diff
from runner.engine.contract import SpawnRequest, SpawnResult
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange
from runner.tools.workspace import CommitOutcome

__all__ = ["Judge", "commit"]

Judge = Callable[[tuple[TreeChange, ...]], None]
"""Raises ToolError when the changes violate the write policy."""

_MESSAGE_TAIL_CHARS = 4000  # enough of a hook's output to act on
_IDENTITY_OF_NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's empty tree, for a first commit


@dataclass(frozen=True, slots=True)
class _Before:
    """What has to be restored: HEAD's commit, a copy of the index, and the tree of everything not ignored."""

    head: str | None
    index_copy: str
    tree: str


def commit(git: GuestGit, message: str, judge: Judge) -> CommitOutcome:
    """One commit on the current branch, within the policy.

    Raises:
        ToolError: `git_commit_failed` with git's own words, or what `judge` raised; then nothing has changed.
    """
    with _temporary(git) as (index_copy, scratch_index):
        head = git.object_name("HEAD")
        before = _Before(head, index_copy, _tree_of_everything(git, index_copy, scratch_index))  # 1
        judge(_changes(git, head, before.tree))  # 2
        try:
            _stage_and_commit(git, message)  # 3
            made = git.object_name("HEAD")
            if made is None or made == head:
                raise _failed("git reported success, but HEAD did not move")
            changes = _changes(git, head, made)
            judge(changes)  # 4
        except ToolError:
            _restore(git, before, scratch_index)  # 5
            raise
    return CommitOutcome(made, tuple(sorted(change.path for change in changes)))


@contextmanager
def _temporary(git: GuestGit) -> Iterator[tuple[str, str]]:
    """Names for a copy of the index and a scratch index, beside the repository's own so that paths mean the same."""
    token = secrets.token_hex(8)
    names = (f"/tmp/runner-index-{token}", f"/tmp/runner-scratch-{token}")  # noqa: S108 - inside the container
    index = git.line("rev-parse", "--git-path", "index")
    if index is None:
        raise _failed("the workspace is not a git repository any more")
    try:
        _copy(git, index, names[0])
        yield names
    finally:
        _program(git, "rm", "-f", "--", *names, *(f"{name}.lock" for name in names))


def _program(git: GuestGit, *argv: str) -> SpawnResult:
    request = SpawnRequest(argv, git.environment, git.deadline_seconds, output_cap_bytes=65536)
    return git.sandbox.spawn(request)


def _copy(git: GuestGit, source: str, target: str) -> None:
    if _program(git, "cp", "--", source, target).exit != 0 and _program(git, "test", "-e", source).exit == 0:
        raise _failed("the index could not be read")


def _tree_of_everything(git: GuestGit, index_copy: str, scratch: str) -> str:
    """The tree that `git add -A` on top of the present index would make; the present index stays."""
    _copy(git, index_copy, scratch)
    added = git.run("add", "-A", index=scratch)
    written = git.run("write-tree", index=scratch)
    tree = hex_name(written.stdout.decode("ascii", "replace")) if written.exit == 0 else None
    if added.exit != 0 or tree is None:
        raise _failed(_words(added if added.exit != 0 else written))
    return tree


def _changes(git: GuestGit, old: str | None, new: str) -> tuple[TreeChange, ...]:
    result = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", old or _IDENTITY_OF_NOTHING, new)
    if result.exit != 0 or result.truncated:
        raise _failed(_words(result))
    return parse_raw_diff(result.stdout)


def _stage_and_commit(git: GuestGit, message: str) -> None:
    staged = git.run("add", "-A")
    if staged.exit != 0:
        raise _failed(_words(staged))
    # The message goes over stdin, so that none can be taken for an option. --allow-empty: the contract wants it.
    made = git.run("commit", "--allow-empty", "--file=-", stdin=[message.encode("utf-8")], hooks=True)
    if made.exit != 0:
        raise _failed(_words(made))


def _restore(git: GuestGit, before: _Before, scratch: str) -> None:
    """HEAD, index and every file that git does not ignore are as they were before the commit began."""
    now = _tree_of_everything(git, before.index_copy, scratch)
    if now != before.tree:
        git.run("read-tree", "--reset", now, index=scratch)
        git.run("update-index", "-q", "--refresh", index=scratch)
        git.run("read-tree", "-m", "-u", now, before.tree, index=scratch)
    if before.head is not None:
        git.run("update-ref", "-m", "commit refused", "HEAD", before.head)
    index = git.line("rev-parse", "--git-path", "index")
    if index is not None:
        _copy(git, before.index_copy, index)


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
