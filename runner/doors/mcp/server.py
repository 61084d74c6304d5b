"""The MCP server: the registry's tools with their schemas and hints; a refusal is an answer, never a protocol error."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server

from runner.controller.run import Progress
from runner.doors.mcp.session import OpenRun, Session, session
from runner.doors.render import visible
from runner.doors.tool_pages import ToolFormat, flat_name, tool_schemas
from runner.model.errors import RunnerError
from runner.model.version import VERSION
from runner.tools.registry import TOOLS

__all__ = ["make_server"]

_NAMES = {flat_name(name): name for name in TOOLS}
_PROGRESS_SECONDS = 1.0  # a client with a time limit of its own hears within it that something goes on
_SHOWN_CHARS = 200
_ABOUT = (
    "Tools on a repository in a fresh, isolated container, under a policy. Paths are relative to its root. A refused "
    "call says why and what to do instead; nothing has changed then. Commands run without a shell."
)

Reporting = Callable[[Session, "_LastLine"], Coroutine[Any, Any, None]]


def make_server(
    open_run: OpenRun,
    tell: Progress,
    declared: frozenset[str],
    *,
    at_once: int = 1,
    report_seconds: float = _PROGRESS_SECONDS,
) -> Server[Session, Any]:
    """A server whose every session has a run of its own, with the declared tools. `tell` hears of openings."""
    places = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def life(_server: Server[Session, Any]) -> AsyncIterator[Session]:
        # A session that has ended may still tear its run down: whoever begins and ends sessions fast waits for that.
        async with places, session(open_run, tell) as made:
            yield made

    server: Server[Session, Any] = Server("runner", VERSION, _ABOUT, lifespan=life)
    listed = [
        types.Tool.model_validate(shape) for shape in tool_schemas(ToolFormat.MCP) if _NAMES[shape["name"]] in declared
    ]

    @server.list_tools()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK's decorators have no types
    async def list_tools() -> list[types.Tool]:
        server.request_context.lifespan_context.begin()
        return listed

    # The contract's own checks answer, with the contract's codes; the SDK's would answer before them with words.
    @server.call_tool(validate_input=False)  # type: ignore[untyped-decorator]
    async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        context = server.request_context
        token = context.meta.progressToken if context.meta is not None else None

        async def keep_reporting(made: Session, last: _LastLine) -> None:
            if token is None:
                return
            for count in itertools.count(1):
                await anyio.sleep(report_seconds)
                message = last.text or visible(made.said)[:_SHOWN_CHARS]
                await context.session.send_progress_notification(
                    token, count * report_seconds, message=message, related_request_id=str(context.request_id)
                )

        return await _answered(context.lifespan_context, _NAMES.get(name, name), arguments, keep_reporting)

    return server


async def _answered(
    made: Session,
    tool: str,
    arguments: object,
    keep_reporting: Callable[[Session, _LastLine], Coroutine[Any, Any, None]],
) -> types.CallToolResult:
    last = _LastLine()
    async with anyio.create_task_group() as group:
        group.start_soon(keep_reporting, made, last)
        try:
            answer = await made.call(tool, arguments, last.take)
        except RunnerError as error:
            answer = {"ok": False, "error": _not_opened(error)}
        group.cancel_scope.cancel()
    return _result(answer)


class _LastLine:
    """The last line of output, for progress: made visible and bounded, since it is untrusted."""

    def __init__(self) -> None:
        self.text = ""

    def take(self, _stream: str, data: bytes) -> None:
        lines = [line for line in data[-4 * _SHOWN_CHARS :].splitlines() if line.strip()]
        if lines:
            self.text = visible(lines[-1].decode("utf-8", "replace"))[:_SHOWN_CHARS]


def _not_opened(error: RunnerError) -> dict[str, Any]:
    message = " ".join(filter(None, (f"The run could not be opened: {error.message}.", error.hint)))
    return {"code": error.code, "message": message, "details": {"hint": error.hint} if error.hint else {}}


def _result(answer: dict[str, Any]) -> types.CallToolResult:
    if not answer["ok"]:
        error = answer["error"]
        said = f"{error['code']}: {error['message']}"
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=said)], structuredContent=error, isError=True
        )
    result = answer["result"]
    if isinstance(result, str):
        return types.CallToolResult(content=[types.TextContent(type="text", text=result)])
    text = types.TextContent(type="text", text=json.dumps(result, ensure_ascii=False))
    return types.CallToolResult(content=[text], structuredContent=result)
