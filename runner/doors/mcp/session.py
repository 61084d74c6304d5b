"""The run of one session: it opens when the client first asks for tools, and ends with the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from anyio import CancelScope

from runner.controller.held import HeldRun
from runner.controller.run import Progress
from runner.doors.waiting import cut_with_its_task, settled, whole
from runner.engine.contract import OutputSink
from runner.model.errors import RunnerError

__all__ = ["OpenRun", "Session", "Wanted", "session"]

Wanted = Callable[[], bool]
OpenRun = Callable[[Progress, Wanted], HeldRun]


class Session:
    """One session. `said` is the last step of its run's opening.

    It has a thread of its own, so that another session's long command never keeps it waiting, nor its cancellation.
    """

    def __init__(self, open_run: OpenRun, tell: Progress) -> None:
        self.said = ""
        self._open_run = open_run
        self._tell = tell
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="runner-mcp")
        self._opening: asyncio.Future[HeldRun] | None = None
        self._wanted = True
        self._cut = False
        self._turn = asyncio.Lock()

    def begin(self) -> asyncio.Future[HeldRun]:
        """The run is open, or on its way. A session that never asks for tools costs no container."""
        if self._opening is None:
            loop = asyncio.get_running_loop()
            self._opening = loop.run_in_executor(self._thread, self._open_run, self._step, lambda: self._wanted)
        return self._opening

    async def call(self, tool: str, arguments: object, on_output: OutputSink) -> dict[str, Any]:
        """The answer. When the task is cancelled, this call is ended; one that another task waits for goes on.

        Raises:
            RunnerError: the run could not be opened.
        """
        run = await asyncio.shield(self.begin())
        # A cancellation ends what is in flight: it may reach the run only from the call that is.
        async with self._turn:
            self._cut = True
            answer = await cut_with_its_task(
                lambda: run.call(tool, arguments, on_output=on_output), run.cancel, self._thread
            )
            self._cut = False
            return answer

    async def close(self) -> None:
        """The run has ended: completed, or interrupted where its last call was cut off."""
        self._wanted = False
        if self._opening is not None:
            await settled(self._opening)
            if self._opening.exception() is None:
                run = self._opening.result()
                with suppress(RunnerError):
                    await whole(asyncio.ensure_future(asyncio.to_thread(run.interrupt if self._cut else run.close)))
        self._thread.shutdown(wait=False)

    def _step(self, message: str) -> None:
        self.said = message
        self._tell(message)


@asynccontextmanager
async def session(open_run: OpenRun, tell: Progress) -> AsyncIterator[Session]:
    """A session whose run is gone when the block ends, also when the block is cancelled."""
    made = Session(open_run, tell)
    try:
        yield made
    finally:
        with CancelScope(shield=True):
            await made.close()
