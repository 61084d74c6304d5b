"""The list's lines, kept as long as their records are the same: a log is not read again at every look at the list."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from runner.pages.heading import Heading, heading_of
from runner.pages.record import RecordFolder
from runner.pages.story import Story

__all__ = ["Headings"]

_MAX_KEPT = 1000
_Key = tuple[str, bool, str, int, int]


class Headings:
    """Remembers headings by the size of the log, the time of the report, and whether the run goes on."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, Heading] = OrderedDict()
        self._lock = Lock()  # a server's pages are made side by side

    def of(self, folder: RecordFolder) -> Heading:
        """The run in a few words."""
        key = (str(folder.path), folder.alive, "" if folder.known is None else folder.known.status, *folder.stamps())
        with self._lock:
            known = self._kept.get(key)
        if known is not None:
            return known
        made = heading_of(folder, Story(folder.lines()), folder.report())
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return made
