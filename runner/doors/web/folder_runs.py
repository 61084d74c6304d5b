"""Runs of this host's state folder, as far as a viewer may see them. A run that goes on is followed by its log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from runner.audit.keys import PublicKey
from runner.controller.records import StateFolder
from runner.pages.record import AUDIT, RecordFolder

__all__ = ["FolderRuns"]

_PAUSE_SECONDS = 0.5
_BEATS = 20  # pauses after which a viewer hears of a quiet run too, so that no proxy takes the stream for dead


class FolderRuns:
    """A `RunsSource`. `key` checks receipts; `may_see` says of a run's id whether this viewer may know of it."""

    def __init__(
        self,
        state: StateFolder,
        key: Callable[[], PublicKey | None],
        may_see: Callable[[str], bool] = lambda _run: True,
        pause: float = _PAUSE_SECONDS,
    ) -> None:
        self._state = state
        self._key = key
        self._may_see = may_see
        self._pause = pause

    def who(self) -> str:
        """Nobody: whoever may read the folder."""
        return ""

    def key(self) -> PublicKey | None:
        """The key that receipts are checked with."""
        return self._key()

    def runs(self) -> Sequence[RecordFolder]:
        """The viewer's runs, newest first."""
        return [self._folder(run_id) for run_id, _ in self._state.runs() if self._may_see(run_id)]

    def run(self, run_id: str) -> RecordFolder | None:
        """One of the viewer's runs."""
        # The id is a folder's name: nothing but letters and digits may lead anywhere.
        if not (run_id.isascii() and run_id.isalnum()) or not self._may_see(run_id):
            return None
        return self._folder(run_id) if self._path(run_id).is_dir() else None

    async def changes(self, run_id: str) -> AsyncIterator[None]:
        """Once at first, whenever the log has grown, and now and then; ends with the run."""
        seen, quiet = -1, 0
        while True:
            alive = await asyncio.to_thread(self._goes_on, run_id)  # asked before the size: the end is not missed
            size = await asyncio.to_thread(self._size, run_id)
            quiet += 1
            if size != seen or quiet >= _BEATS:
                seen, quiet = size, 0
                yield None
            if not alive:
                return
            await asyncio.sleep(self._pause)

    def _goes_on(self, run_id: str) -> bool:
        return self._state.alive(run_id)

    def _folder(self, run_id: str) -> RecordFolder:
        return RecordFolder(run_id, self._path(run_id), self._state.alive(run_id))

    def _path(self, run_id: str) -> Path:
        return self._state.path / "runs" / run_id

    def _size(self, run_id: str) -> int:
        try:
            return (self._path(run_id) / AUDIT).stat().st_size
        except OSError:
            return 0
