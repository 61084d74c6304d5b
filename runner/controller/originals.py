"""What stood outside the write patterns when the run started, for `commandWrites: revert` to put back.

Where content comes from, the first that applies:

1. A file or link that stood as the base commit has it: from the base commit, out of the host's own mirror. Whether it
   stood so is the workspace's git's word at the baseline, before the run's first command, and its size and kind must
   be the base's; so a wrong word can only bring back what the repository itself holds.
2. A regular file that set-up changed, or made without git ignoring it: a copy in the controller's memory, taken at the
   baseline, of at most 64 MiB and 10,000 files together, in the order of path.
3. Everything else, which is what git ignores (installed packages, build output), links that set-up made, and what is
   beyond those bounds: none. When a command changes such a path, the result says that it was not reverted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from runner.controller.guest_git import GuestGit
from runner.engine.contract import FileRefused, Sandbox
from runner.gate.fetch import Fetched, mirror_broken
from runner.gate.git import Git, GitFailed, reading
from runner.model.tree import EntryKind, ScanEntry
from runner.policy.writes import WriteRules, within_write_globs

__all__ = ["Originals", "take_originals"]

_MAX_COPIED_BYTES = 64 * 1024 * 1024  # in the controller's memory, as for add-only files
_MAX_COPIED_FILES = 10_000  # each is a read of a fifth of a millisecond before the first call
_MAX_LISTING_BYTES = 512 * 1024 * 1024  # a million paths of 500 bytes
_FETCHED_BYTES = 16 * 1024 * 1024  # blobs asked for at once; one larger one comes alone
_DIFFERENCES = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
_KINDS = {b"100644": EntryKind.FILE, b"100755": EntryKind.FILE, b"120000": EntryKind.SYMLINK}


@dataclass(frozen=True, slots=True)
class Original:
    """Content of the base commit: the blob's name, and what a path that stands as it does must look like."""

    blob: str
    kind: EntryKind
    size: int


@dataclass(frozen=True, slots=True)
class Originals:
    """Every path as the baseline's scan saw it, and the content of those that can be put back.

    `blobs` yields the content of the blobs with these names, in their order.
    """

    entries: Mapping[str, ScanEntry]
    tracked: Mapping[str, Original]
    copies: Mapping[str, bytes]
    blobs: Callable[[Sequence[str]], Iterator[bytes]]

    def has_content(self, path: str) -> bool:
        """Whether the path can be put back as it was: a folder always, a file or link when its content is at hand."""
        entry = self.entries.get(path)
        return entry is not None and (entry.kind is EntryKind.DIR or path in self.copies or path in self.tracked)

    def contents(self, paths: Sequence[str]) -> Iterator[tuple[ScanEntry, bytes]]:
        """Each path's entry with its content, a link's target, or nothing for a folder; all must have content.

        Raises:
            RepositoryUnavailable: the mirror on this host cannot be read any more.
        """
        batch: list[str] = []
        size = 0
        for path in paths:
            batch.append(path)
            size += self.entries[path].size
            if size >= _FETCHED_BYTES:
                yield from self._batch(batch)
                batch, size = [], 0
        yield from self._batch(batch)

    def _batch(self, paths: Sequence[str]) -> Iterator[tuple[ScanEntry, bytes]]:
        names = [self.tracked[path].blob for path in paths if self._from_base(path)]
        blobs = self.blobs(names)
        for path in paths:
            yield self.entries[path], next(blobs) if self._from_base(path) else self.copies.get(path, b"")

    def _from_base(self, path: str) -> bool:
        return path in self.tracked and path not in self.copies


def take_originals(
    sandbox: Sandbox, git: GuestGit, gate: Git, fetched: Fetched, rules: WriteRules, entries: Sequence[ScanEntry]
) -> Originals:
    """What stands now, `entries` being a whole scan of it."""
    by_path = {entry.path: entry for entry in entries}
    base = _base(gate, fetched)
    other = _said(git, *_DIFFERENCES, fetched.base, "--")
    made = _said(git, "ls-files", "--others", "--exclude-standard", "-z") or frozenset()
    # Without an answer nothing is taken to be as the base has it.
    changed = frozenset(base) if other is None else other
    tracked = {path: o for path, o in base.items() if path not in changed and _stands(by_path.get(path), o)}
    # What stands otherwise than the base has it, though git sees no change: line ends that git itself converted.
    wanted = (path for path in sorted({*base, *changed, *made} - tracked.keys()) if path in by_path)
    copies = _copies(sandbox, rules, (by_path[path] for path in wanted))
    return Originals(by_path, tracked, copies, partial(_blobs, gate, fetched))


def _stands(entry: ScanEntry | None, original: Original) -> bool:
    return entry is not None and (entry.kind, entry.size) == (original.kind, original.size)


def _base(gate: Git, fetched: Fetched) -> dict[str, Original]:
    """The files and links of the base commit."""
    try:
        listing = gate.output(
            ["ls-tree", "-r", "-l", "-z", "--full-tree", fetched.base],
            repository=fetched.mirror,
            max_stdout_bytes=_MAX_LISTING_BYTES,
        )
        with reading("ls-tree"):
            return dict(_originals(listing))
    except GitFailed as failure:
        raise mirror_broken(fetched.mirror, failure) from failure


def _originals(listing: bytes) -> Iterator[tuple[str, Original]]:
    for record in filter(None, listing.split(b"\0")):
        facts, _, path = record.partition(b"\t")
        mode, _type, name, size = facts.split()
        if mode in _KINDS:
            yield path.decode("utf-8", "surrogateescape"), Original(name.decode("ascii"), _KINDS[mode], int(size))


def _said(git: GuestGit, *arguments: str) -> frozenset[str] | None:
    """The paths that git lists, None when it fails."""
    result = git.run(*arguments)
    if result.exit != 0 or result.truncated:
        return None
    return frozenset(filter(None, result.stdout.decode("utf-8", "surrogateescape").split("\0")))


def _copies(sandbox: Sandbox, rules: WriteRules, entries: Iterator[ScanEntry]) -> dict[str, bytes]:
    copies: dict[str, bytes] = {}
    room = _MAX_COPIED_BYTES
    for entry in entries:
        if entry.kind is not EntryKind.FILE or entry.size > room or within_write_globs(rules, entry.path):
            continue
        if len(copies) >= _MAX_COPIED_FILES:
            break
        try:
            copies[entry.path] = sandbox.read(entry.path, max_bytes=room).data
        except FileRefused:
            continue  # closed by its own mode: then there is no content to put back
        room -= len(copies[entry.path])
    return copies


def _blobs(gate: Git, fetched: Fetched, names: Sequence[str]) -> Iterator[bytes]:
    """The blobs' content, from the host's mirror."""
    if not names:
        return
    try:
        output = gate.output(
            ["cat-file", "--batch"],
            repository=fetched.mirror,
            stdin=[b"".join(name.encode("ascii") + b"\n" for name in names)],
            max_stdout_bytes=1 << 40,  # their sizes are those of files that were in the workspace together
        )
        with reading("cat-file"):
            places = list(_places(output, len(names)))
    except GitFailed as failure:
        raise mirror_broken(fetched.mirror, failure) from failure
    yield from (output[start:end] for start, end in places)


def _places(output: bytes, count: int) -> Iterator[tuple[int, int]]:
    """Where each content begins and ends: known before the first is handed out, and none copied before it is wanted."""
    offset = 0
    for _ in range(count):
        end = output.index(b"\n", offset)
        size = int(output[offset:end].split()[2])
        if size < 0 or size > len(output):
            raise ValueError("more than there is")
        yield end + 1, end + 1 + size
        offset = end + size + 2
