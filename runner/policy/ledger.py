"""Provenance: what was in the workspace when the run started, and what it made or changed since.

Built from the first full scan and kept up to date by the differences that later scans report, so a file that a command
made counts like one that a tool made. `.git` is not in a scan. A scan that was cut short must not come here: a path
that it left out would look like one that the run made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runner.model.tree import EntryKind, ScanEntry

__all__ = ["Ledger", "LedgerDelta"]


@dataclass(frozen=True, slots=True)
class LedgerDelta:
    """What one call did to the tree, each part sorted: paths that are new, other, and gone since the call before."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]


class Ledger:
    """Two maps from path to stamp: the start, and now. A question costs a path's depth at most.

    The start never changes, but that `put_back` gives a path that is as it was again its new stamp.
    """

    __slots__ = ("_now", "_start")

    def __init__(self, entries: Iterable[ScanEntry]) -> None:
        self._start = {entry.path: _stamp(entry) for entry in entries}
        self._now = dict(self._start)

    def apply(self, entries: Iterable[ScanEntry], removed: Iterable[str]) -> LedgerDelta:
        """The ledger knows the new state; returned is what differs from the state before.

        `entries` are the paths that are new or other, `removed` those that are gone. Both together describe the
        difference: an entry wins over a removal of the same path.
        """
        gone = {path: self._now.pop(path) for path in removed if path in self._now}
        created: list[str] = []
        changed: list[str] = []
        for entry in entries:
            stamp = _stamp(entry)
            before = self._now.get(entry.path) or gone.pop(entry.path, None)
            self._now[entry.path] = stamp
            if before is None:
                created.append(entry.path)
            elif before != stamp:
                changed.append(entry.path)
        return LedgerDelta(tuple(sorted(created)), tuple(sorted(changed)), tuple(sorted(gone)))

    def put_back(self, path: str) -> None:
        """What is at the path is what was there when the run started; the caller has made it so."""
        if path in self._start and path in self._now:
            self._start[path] = self._now[path]

    def kind(self, path: str) -> EntryKind | None:
        """What is at the real path now, None for nothing."""
        stamp = self._now.get(path)
        return None if stamp is None else EntryKind(stamp.partition(":")[0])

    def paths(self) -> list[str]:
        """Every path that is there now, sorted."""
        return sorted(self._now)

    def existed_at_start(self, path: str) -> bool:
        """Whether the real path was there when the run started, as a file or anything else, whatever is there now."""
        return path in self._start

    def created_by_run(self, path: str) -> bool:
        """Whether what is at the real path was not there when the run started: itself, or a folder above it."""
        if path in self._start:
            return False
        if path in self._now:
            return True
        return any(folder in self._now and folder not in self._start for folder in _folders_above(path))

    def changed_by_run(self, path: str) -> bool:
        """Whether the real path was there when the run started and is not as it was: other, made anew, or gone.

        A change of mode or of the number of hard links counts, since the stamp cannot tell it from a change of
        content. A folder counts when its kind or mode changed, not when its entries did.
        """
        start = self._start.get(path)
        return start is not None and self._now.get(path) != start

    def created(self) -> tuple[str, ...]:
        """Every path that the run made and that is there now, sorted."""
        return tuple(sorted(path for path in self._now if path not in self._start))

    def changed(self) -> tuple[str, ...]:
        """Every path that was there at the start and is other now, or gone, sorted."""
        return tuple(sorted(path for path, stamp in self._start.items() if self._now.get(path) != stamp))


def _stamp(entry: ScanEntry) -> str:
    # A folder's own stamp moves with every entry made in it, which says nothing of the folder.
    return f"dir:{entry.mode:o}" if entry.kind is EntryKind.DIR else f"{entry.kind}:{entry.stamp}"


def _folders_above(path: str) -> Iterable[str]:
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)
