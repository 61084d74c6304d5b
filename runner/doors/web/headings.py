"""The list's lines, kept for runs that have ended: their records are read once, and not at every look at the list."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from runner.pages.heading import Heading, heading_of
from runner.pages.record import RecordFolder
from runner.pages.story import Story

__all__ = ["Headings"]

_MAX_KEPT = 1000


class Headings:
    """Remembers the headings of ended runs, by the time at which their report was written."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int], Heading] = OrderedDict()
        self._lock = Lock()  # a server's pages are made side by side

    def of(self, folder: RecordFolder) -> Heading:
        """The run in a few words."""
        key = (str(folder.path), folder.report_written())
        with self._lock:
            known = self._kept.get(key)
        if known is not None:
            return known
        made = heading_of(folder, Story(folder.lines()), folder.report())
        if key[1]:
            self._keep(key, made)
        return made

    def _keep(self, key: tuple[str, int], made: Heading) -> None:
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
