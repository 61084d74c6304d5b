"""The MCP door over runs in memory, with the SDK's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams

from runner.controller.held import HeldRun
from runner.controller.run import Progress
from runner.doors.mcp.server import make_server
from runner.doors.mcp.session import Wanted
from runner.engine.fake import FakeCall, FakeOutcome
from runner.tools.registry import TOOLS
from tests.support.held import Holding

__all__ = ["SHORT_SECONDS", "McpHolding", "act", "connected"]

SHORT_SECONDS = 0.001


class McpHolding(Holding):
    """Runs that a server's sessions open. `node` waits to be cancelled for those that are opened with `waiting`."""

    def __init__(self, folder: Path, node: Callable[[FakeCall], FakeOutcome] | None = None) -> None:
        super().__init__(folder)
        if node is not None:
            self.bench.engine.programs = {**self.bench.engine.programs, "node": node}

    def open_run(self, progress: Progress, wanted: Wanted) -> HeldRun:
        asked = replace(self.request(), out=None)
        made = HeldRun(self.bench.host, asked, progress, wanted=wanted, timer=self._timer)
        self.runs.append(made)
        return made

    def server(self, **options: Any) -> Server[Any, Any]:
        return make_server(self.open_run, self.bench.said.append, frozenset(TOOLS), **options)


@asynccontextmanager
async def connected(server: Server[Any, Any]) -> AsyncIterator[ClientSession]:
    """A client of one session. After the block the client has hung up and the server's session is over."""
    async with create_client_server_memory_streams() as (client, (read, write)), anyio.create_task_group() as group:
        group.start_soon(server.run, read, write, server.create_initialization_options())
        async with ClientSession(*client) as session:
            await session.initialize()
            yield session
        for stream in client:
            await stream.aclose()


def act(story: Callable[[], Awaitable[None]]) -> None:
    """Plays the story; one that hangs fails."""

    async def bounded() -> None:
        with anyio.fail_after(60):
            await story()

    anyio.run(bounded)
