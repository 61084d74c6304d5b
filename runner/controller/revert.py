"""`commandWrites: revert`: what a command did outside the write patterns is put back to what stood there at the start.

What is undone is what the command's result lists as `outside_writes`: every path outside the write patterns that is
new, other or gone, whether git ignores it or not. (The write patterns are writeAllow and rewriteAllow, less writeDeny;
a policy that wants commands to install packages or build lists those folders there.) The round, repeated until nothing
is left or a round no longer helps:

1. Folders that are new or other are opened, so that their names can be removed.
2. What was not there, or stands where something of another kind stood, is removed, deepest first; a new folder in
   which the command was allowed to write something stays.
3. What stood there is put back, content, mode and link targets, as far as its content is at hand (`originals`).
4. A scan says what is there now. Only what it shows to be as it was counts as reverted.

The state that comes back is the run's start, not the moment before the command: outside the patterns nothing else can
have written but commands, and hooks of a commit, whose writes are undone with the next command's. A path whose content
is not at hand stays as the command left it and is named as not reverted.

Not undone: `.git` (a commit that a command made of reverted files stays; the gate judges it), and places outside the
workspace. It is a guard rail like all that happens inside; the boundary is the gate.

The programs used are the image's own, by absolute path, with paths on standard input. They cannot be led through a
link: no process of the run lives meanwhile, every path to remove was found by a scan, which follows none, and nothing
is put back beneath what is no folder.
"""

from __future__ import annotations

import tarfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.controller.baseline import whole_scan
from runner.controller.originals import Originals
from runner.engine.contract import Sandbox, SpawnRequest
from runner.model.tree import EntryKind, ScanEntry
from runner.policy.ledger import Ledger
from runner.policy.writes import WriteRules, within_write_globs

__all__ = ["NOTHING_UNDONE", "Undone", "revert"]

_ROUNDS_MAX = 5  # more are needed only where closed folders were nested to hide what is in them
_SECONDS = 60.0  # each program; they work at the speed of a memory file system
_OUTPUT_CAP_BYTES = 64 * 1024
_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_PIECE_BYTES = 256 * 1024  # of the archive: each piece costs the way to the helper and back
_MAX_NAMED = 1000  # paths in one line of the audit log
_OPEN = ("/usr/bin/chmod", "u+rwx", "--")
_REMOVE = ("/usr/bin/rm", "-f", "--")
_REMOVE_FOLDER = ("/usr/bin/rmdir", "--ignore-fail-on-non-empty", "--")
_EXTRACT = (
    "/usr/bin/tar", "--extract", "--file=-", "--preserve-permissions", "--no-same-owner", "--touch",
    "--delay-directory-restore",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Undone:
    """Paths outside the write patterns that are as they were again, and those that could not be made so. Sorted."""

    reverted: tuple[str, ...]
    not_reverted: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """For the audit log: how many, and the first thousand of each."""
        facts: dict[str, Any] = {}
        for name, paths in (("reverted", self.reverted), ("not_reverted", self.not_reverted)):
            facts[name] = {"count": len(paths), "paths": list(paths[:_MAX_NAMED])}
        return facts


NOTHING_UNDONE = Undone((), ())


def revert(sandbox: Sandbox, ledger: Ledger, originals: Originals, rules: WriteRules, outside: Iterable[str]) -> Undone:
    """The paths `outside`, which the last scan found to be new, other or gone, are as they were, or are named.

    Raises:
        RunLimitReached: the workspace has more paths than can be kept account of.
        RepositoryUnavailable: the host's mirror cannot be read any more.
    """
    touched, left = set(outside), set(outside)
    for _ in range(_ROUNDS_MAX):
        if not left:
            break
        _put_back(sandbox, ledger, originals, left)
        scan = whole_scan(sandbox)
        delta = ledger.apply(scan.entries, scan.removed)
        found = {*delta.created, *delta.changed, *delta.removed} - touched
        touched.update(path for path in found if not within_write_globs(rules, path))
        before, left = left, _left(ledger, originals, touched, {entry.path: entry for entry in scan.entries})
        if left == before:
            break
    return Undone(tuple(sorted(touched - left)), tuple(sorted(left)))


def _left(ledger: Ledger, originals: Originals, touched: set[str], seen: Mapping[str, ScanEntry]) -> set[str]:
    """The paths that are not as they were; the ledger knows of the others."""
    left = set()
    for path in touched:
        original, now = originals.entries.get(path), seen.get(path)
        if original is None:
            if ledger.kind(path) is not None:
                left.add(path)
        elif ledger.changed_by_run(path):
            if now is not None and originals.has_content(path) and _alike(original, now):
                ledger.put_back(path)
            else:
                left.add(path)
    return left


def _alike(original: ScanEntry, now: ScanEntry) -> bool:
    same_size = original.kind is EntryKind.DIR or original.size == now.size
    return (original.kind, original.mode) == (now.kind, now.mode) and same_size


def _put_back(sandbox: Sandbox, ledger: Ledger, originals: Originals, paths: set[str]) -> None:
    """Steps 1 to 3, for these paths. Whether it worked is for the next scan to say."""
    now = {path: ledger.kind(path) for path in paths}
    goes = {path for path in paths if path not in originals.entries}
    back: list[str] = []
    for path in sorted(paths):  # a folder comes before what is in it
        if originals.has_content(path) and _reachable(ledger, path, goes):
            back.append(path)
            if (originals.entries[path].kind, now[path]) != (EntryKind.DIR, EntryKind.DIR):
                goes.add(path)
    folders = [path for path in sorted(paths) if now[path] is EntryKind.DIR]
    _each(sandbox, _OPEN, folders)  # 1
    _each(sandbox, _REMOVE, sorted(path for path in goes if now[path] not in (None, EntryKind.DIR)))  # 2
    _each(sandbox, _REMOVE_FOLDER, [path for path in reversed(folders) if path in goes])
    if back:
        stdin = _archive(originals.contents(back))
        sandbox.spawn(SpawnRequest(_EXTRACT, _ENVIRONMENT, _SECONDS, _OUTPUT_CAP_BYTES, stdin=stdin))  # 3


def _reachable(ledger: Ledger, path: str, removed: Collection[str]) -> bool:
    """Whether nothing but folders stands above the path: through a link, something else would be written."""
    end = path.rfind("/")
    while end > 0:
        above = path[:end]
        if above not in removed and ledger.kind(above) not in (None, EntryKind.DIR):
            return False
        end = path.rfind("/", 0, end)
    return True


def _each(sandbox: Sandbox, argv: tuple[str, ...], paths: Iterable[str]) -> None:
    """The program has run over the paths, as often as their number needs."""
    listed = b"".join(b"./" + path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    if listed:
        words = ("/usr/bin/xargs", "-0", *argv)
        sandbox.spawn(SpawnRequest(words, _ENVIRONMENT, _SECONDS, _OUTPUT_CAP_BYTES, stdin=[listed]))


def _archive(contents: Iterator[tuple[ScanEntry, bytes]]) -> Iterator[bytes]:
    """A tar archive of the entries, in order, piece by piece."""
    piece = bytearray()
    for entry, data in contents:
        member = tarfile.TarInfo(entry.path)
        member.mode = entry.mode
        if entry.kind is EntryKind.DIR:
            member.type = tarfile.DIRTYPE
        elif entry.kind is EntryKind.SYMLINK:
            member.type = tarfile.SYMTYPE
            member.linkname = data.decode("utf-8", "surrogateescape")
        else:
            member.size = len(data)
        piece += member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
        if entry.kind is EntryKind.FILE:
            piece += data + bytes(-len(data) % tarfile.BLOCKSIZE)
        if len(piece) >= _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece) + bytes(2 * tarfile.BLOCKSIZE)
