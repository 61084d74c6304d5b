"""MCP over standard input and output.

Input is read by a thread that nobody waits for: a server that is told to stop must not wait for its client's next
line. Lines are bounded, as those of a calls file are.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from runner.doors.calls import bounded_lines

__all__ = ["run_stdio", "serve_stdio"]

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_AHEAD = 64  # lines that wait to be taken; a client that sends more is read no further


class _Lines:
    """The lines of standard input, as the SDK wants them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, name="runner-mcp-input", daemon=True).start()

    def _read(self) -> None:
        # A reader of this thread's own: at the interpreter's end `sys.stdin` is closed, which a thread that still waits
        # in it turns into an abort.
        own = os.fdopen(sys.stdin.buffer.fileno(), "rb", closefd=False)
        for line in bounded_lines(own):
            self._room.acquire()
            self._put(line.decode("utf-8", "replace"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    async def __aiter__(self) -> AsyncIterator[str]:
        """Until the end of input."""
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line


async def serve_stdio(server: Server[Any, Any]) -> None:
    """One session, until its client closes the input."""
    out = TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
    try:
        lines: Any = _Lines()  # it iterates, which is all that is asked of it
        async with stdio_server(lines, anyio.wrap_file(out)) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # the input ended while something was still to be said, to a client that is gone
    finally:
        out.detach()  # the process's own output is not closed with it


def run_stdio(server: Server[Any, Any]) -> None:
    """The same, in an event loop of its own.

    Raises:
        KeyboardInterrupt: the process was told to stop; the run was torn down first.
    """
    if anyio.run(_until_stopped, server):
        raise KeyboardInterrupt


async def _until_stopped(server: Server[Any, Any]) -> bool:
    # An exception out of a signal's handler would strike whichever task runs, and take the loop down beside the run.
    stopped = False
    with anyio.open_signal_receiver(*_STOPS) as signals:
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                nonlocal stopped
                async for _ in signals:
                    stopped = True
                    group.cancel_scope.cancel()

            group.start_soon(stop)
            await serve_stdio(server)
            group.cancel_scope.cancel()
    return stopped
