"""MCP over standard input and output.

Input is read by a thread that nobody waits for: a server that is told to stop must not wait for its client's next
line. Lines are bounded, as those of a calls file are.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from runner.doors.calls import bounded_lines

__all__ = ["serve_stdio"]

_AHEAD = 64  # lines that wait to be taken; a client that sends more is read no further


class _Lines:
    """The lines of standard input, as the SDK wants them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, name="runner-mcp-input", daemon=True).start()

    def _read(self) -> None:
        for line in bounded_lines(sys.stdin.buffer):
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
    async with stdio_server(stdin=_Lines()) as (read, write):  # type: ignore[arg-type]  # it iterates, which is all that is asked of it
        await server.run(read, write, server.create_initialization_options())
