"""What would leave: taken in, checked, and listed, before anything is pushed.

Everything that comes from the workspace's side is hostile: the pack, the objects in it, the commit that it names. It
goes into a quarantine, a bare repository of ours that borrows the mirror's objects, and is checked there:

1. the size, while it streams in;
2. every object, strictly (`index-pack --strict`);
3. that the commit is one, and that nothing it needs is missing (`rev-list --objects`);
4. the number of commits that the remote does not have.

`runner.gate.range` lists what each of these commits changes. Judging that is the policy's matter.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from runner.gate.contents import TooMuch, contents_of
from runner.gate.failures import one_line
from runner.gate.fetch import Fetched
from runner.gate.folders import remove_tree
from runner.gate.git import Git, GitFailed
from runner.gate.refs import OBJECT_NAME, rev_list_input
from runner.model.errors import ErrorCode, ToolError

__all__ = ["Quarantine", "TreeEntry", "receive"]

_INDEX_SECONDS = 300.0
_LISTING_BYTES = 128 << 20  # a tree of 500,000 files, the most that a workspace may hold


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path in a commit's tree: git's mode and the object's name."""

    mode: int
    blob: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A checked outgoing commit with all that it needs. To be closed, or used as a context manager.

    `known` are the refs of the remote as it has them now: what they hold is not leaving, it is there already.
    `started` are those that it had when the run started: what they hold was not made by the run.
    """

    git: Git
    repository: Path
    commit: str
    base: str
    known: Mapping[str, str]
    started: Mapping[str, str]

    def __enter__(self) -> Quarantine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Everything that was taken in is gone from the host. Idempotent."""
        remove_tree(self.repository)

    def output(self, arguments: Sequence[str], *, stdin: bytes = b"", max_stdout_bytes: int = _LISTING_BYTES) -> bytes:
        """What git wrote, working in the quarantine.

        Raises:
            ToolError: PUSH_POLICY_VIOLATION, rule `push.objects`: git failed, or wrote more than the bound.
        """
        try:
            return self.git.output(
                arguments, repository=self.repository, stdin=[stdin], max_stdout_bytes=max_stdout_bytes
            )
        except GitFailed as failure:
            raise _refused("push.objects", f"the outgoing objects could not be read: {failure}") from failure

    def blob(self, oid: str, *, max_bytes: int) -> bytes:
        """The content of a blob.

        Raises:
            ToolError: PUSH_POLICY_VIOLATION, rule `push.blob`: it is none, or is larger than `max_bytes`.
        """
        _require_object_name(oid)
        header = self.output(["cat-file", "--batch-check"], stdin=f"{oid}\n".encode())
        fields = header.decode("ascii", "replace").split()
        if len(fields) != 3 or fields[1] != "blob" or not fields[2].isdigit() or int(fields[2][:20]) > max_bytes:
            raise _refused("push.blob", f"an outgoing file's content ({oid[:12]}) is too large to be judged")
        return self.output(["cat-file", "blob", oid], max_stdout_bytes=max_bytes)

    def tree(self, commit: str) -> Mapping[str, TreeEntry]:
        """Every path of a commit's tree, folders left out."""
        _require_object_name(commit)
        listing = self.output(["ls-tree", "-r", "-z", "--full-tree", commit])
        try:
            return MappingProxyType(dict(_entries(listing)))
        except ValueError as error:
            raise _refused("push.objects", "a tree of an outgoing commit could not be listed") from error

    def contents(self, *, max_object_bytes: int) -> Iterator[tuple[str, bytes]]:
        """Name and content of each object that would leave: files, trees, commits.

        Raises:
            ToolError: PUSH_POLICY_VIOLATION, rule `push.objects`: they are too large, or git failed.
        """

        def batch(arguments: Sequence[str], stdin: bytes, max_bytes: int) -> bytes:
            return self.output(arguments, stdin=stdin, max_stdout_bytes=max_bytes)

        try:
            yield from contents_of(batch, rev_list_input(self.commit, self.known), max_object_bytes)
        except (TooMuch, ValueError) as error:
            raise _refused("push.objects", f"the outgoing objects could not be looked through: {error}") from error

    def base_tree(self) -> Mapping[str, TreeEntry]:
        """Every path of the commit that the run started from: what was there before the run."""
        return self.tree(self.base)


def receive(
    git: Git,
    fetched: Fetched,
    pack: Iterable[bytes],
    commit: str,
    *,
    now: Mapping[str, str],
    max_bytes: int,
    scratch: Path,
) -> Quarantine:
    """The pack is in quarantine, checked. The caller closes it.

    Args:
        git: the gate's git.
        fetched: the run's record of the remote.
        pack: a pack from the workspace, thin against the recorded refs. What it raises, this raises.
        commit: the object name that the workspace says it pushes.
        now: what `remote_now` told.
        max_bytes: more than these are refused, and not read to the end.
        scratch: a folder of ours for the quarantine.

    Raises:
        ToolError: PUSH_POLICY_VIOLATION, with the rule in its details: `push.maxBytes` or `push.objects`.
    """
    _require_object_name(commit)
    started = MappingProxyType({**fetched.refs, "the commit the run started from": fetched.base})
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    repository = Path(tempfile.mkdtemp(prefix="outgoing-", dir=scratch))
    quarantine = Quarantine(git, repository, commit, fetched.base, now, started)
    try:
        git.output(["init", "--quiet", "--bare", "--template=", "--", str(repository)])
        alternates = repository / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_text(f"{fetched.mirror / 'objects'}\n", encoding="utf-8")
        _take_in(quarantine, pack, max_bytes)
        _require_whole(quarantine)
    except GitFailed as failure:
        quarantine.close()
        raise _refused("push.objects", f"the outgoing objects could not be checked: {failure}") from failure
    except BaseException:
        quarantine.close()
        raise
    return quarantine


def _take_in(quarantine: Quarantine, pack: Iterable[bytes], max_bytes: int) -> None:
    result = quarantine.git.run(
        ["index-pack", "--strict", "--stdin", "--fix-thin", f"--max-input-size={max_bytes}"],
        repository=quarantine.repository,
        stdin=_bounded(pack, max_bytes),
        deadline_seconds=_INDEX_SECONDS,
    )
    if not result.ok:
        reason = one_line(result.stderr) or f"git ended with {result.exit}"
        raise _refused("push.objects", f"the outgoing objects did not pass strict checking: {reason}")


def _bounded(pack: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    for chunk in pack:
        left -= len(chunk)
        if left < 0:
            raise _refused("push.maxBytes", f"the outgoing objects are larger than {max_bytes} bytes")
        yield chunk


def _require_whole(quarantine: Quarantine) -> None:
    """The commit is a commit, and everything reachable from it is here or at the remote."""
    kind = quarantine.git.run(["cat-file", "-t", quarantine.commit], repository=quarantine.repository)
    if not kind.ok or kind.stdout.strip() != b"commit":
        raise _refused("push.objects", f"{quarantine.commit} is not a commit that the workspace handed over")
    walk = quarantine.git.run(
        ["rev-list", "--objects", "--quiet", "--stdin"],
        repository=quarantine.repository,
        stdin=[rev_list_input(quarantine.commit, quarantine.known)],
    )
    if not walk.ok:
        raise _refused("push.objects", f"an object that the outgoing commit needs is missing: {one_line(walk.stderr)}")


def _entries(listing: bytes) -> Iterator[tuple[str, TreeEntry]]:
    for record in listing.split(b"\0"):
        if record:
            facts, _, path = record.partition(b"\t")
            mode, _, oid = facts.decode("ascii").split()
            yield path.decode("utf-8", "surrogateescape"), TreeEntry(int(mode, 8), oid)


def _require_object_name(oid: str) -> None:
    if not OBJECT_NAME.fullmatch(oid):
        raise _refused("push.objects", "the workspace named a commit that is not an object name")


def _refused(rule: str, message: str) -> ToolError:
    return ToolError(
        ErrorCode.PUSH_POLICY_VIOLATION,
        message + ".",
        rule=rule,
        hint="Nothing was pushed. Commit the change anew on top of the branch as it was fetched.",
    )
