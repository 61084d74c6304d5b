"""The run of one session: it begins to open when the session does, and ends with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from anyio import CancelScope

from runner.controller.held import HeldRun
from runner.controller.run import Progress
from runner.doors.waiting import whole
from runner.model.errors import RunnerError

__all__ = ["OpenRun", "Session", "session"]

OpenRun = Callable[[Progress], HeldRun]


class Session:
    """One session. `said` is the last step of its run's opening."""

    def __init__(self, open_run: OpenRun, tell: Progress) -> None:
        self.said = ""
        self._tell = tell
        self._opening = asyncio.get_running_loop().run_in_executor(None, open_run, self._step)

    def _step(self, message: str) -> None:
        self.said = message
        self._tell(message)

    async def run(self) -> HeldRun:
        """The run, once it is open.

        Raises:
            RunnerError: it could not be opened.
        """
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        """The run has ended: completed, or given up in the middle of a call."""
        with suppress(RunnerError):
            run = await whole(self._opening)
            await whole(asyncio.ensure_future(asyncio.to_thread(_end, run)))


def _end(run: HeldRun) -> None:
    if run.busy:
        run.interrupt()
    else:
        run.close()


@asynccontextmanager
async def session(open_run: OpenRun, tell: Progress) -> AsyncIterator[Session]:
    """A session whose run is gone when the block ends, also when the block is cancelled."""
    made = Session(open_run, tell)
    try:
        yield made
    finally:
        with CancelScope(shield=True):
            await made.close()
