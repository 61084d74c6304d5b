"""The MCP door over the SDK's own client: what is listed, how calls and refusals answer, and whose run ends when."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import jsonschema_rs
import pytest
from anyio import to_thread
from mcp import ClientSession, McpError, types

from runner.controller.held import HeldRun
from runner.doors.mcp.server import make_server
from runner.engine.contract import OutputSink
from runner.model.errors import EngineUnavailable
from runner.tools.registry import TOOLS
from tests.support.held import NODE
from tests.support.mcp_door import SHORT_SECONDS, McpHolding, act, connected

RUN = "workspace_run_command"
READ = {"path": "README.md"}


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[McpHolding]:
    made = McpHolding(tmp_path)
    made.bench.engine.programs = {**made.bench.engine.programs, "node": made.waits}
    yield made
    made.end_all()


def statuses(holding: McpHolding) -> list[str]:
    """How the runs ended; asking ends none."""
    assert all(run.ended for run in holding.runs)
    return [run.close().status for run in holding.runs]


async def until(event: threading.Event) -> None:
    assert await to_thread.run_sync(event.wait, 30)


async def cancel(client: ClientSession, request: int) -> None:
    params = types.CancelledNotificationParams(requestId=request)
    await client.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))


def test_the_tools_are_listed_with_schemas_that_hold_and_hints(holding: McpHolding) -> None:
    async def story() -> None:
        async with connected(holding.server()) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {name.replace(".", "_") for name in TOOLS}
        for tool in tools.values():
            for schema in filter(None, (tool.inputSchema, tool.outputSchema)):
                jsonschema_rs.Draft202012Validator(schema)
            assert tool.description
        read, written = tools["workspace_read_file"].annotations, tools["workspace_delete_file"].annotations
        assert read is not None
        assert (read.readOnlyHint, read.destructiveHint, read.idempotentHint) == (True, False, True)
        assert written is not None
        assert (written.readOnlyHint, written.destructiveHint) == (False, True)

    act(story)


def test_only_declared_tools_are_listed(holding: McpHolding) -> None:
    async def story() -> None:
        server = make_server(holding.open_run, holding.bench.said.append, frozenset({"workspace.search"}))
        async with connected(server) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["workspace_search"]

    act(story)


def test_results_are_structured_and_fit_the_schema_that_was_listed(holding: McpHolding) -> None:
    async def story() -> None:
        async with connected(holding.server()) as client:
            await client.list_tools()  # the SDK's client checks results by it
            listed = await client.call_tool("workspace_list_dir", {})
            assert listed.structuredContent == json.loads(listed.content[0].text)  # type: ignore[union-attr]
            assert not listed.isError
            text = await client.call_tool("workspace_read_file", READ)
            assert text.structuredContent is None
            assert text.content == [types.TextContent(type="text", text="# R0\n")]
            for tool, arguments in (
                ("workspace_search", {"pattern": "a"}),
                ("workspace_write_file", {"path": "src/n.txt", "content": "x"}),
                ("workspace_edit", {"path": "src/n.txt", "oldString": "x", "newString": "y"}),
                ("workspace_delete_file", {"path": "src/n.txt"}),
                ("git", {"args": "status"}),
            ):
                assert not (await client.call_tool(tool, arguments)).isError, tool

    act(story)


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("workspace_write_file", {"path": "README.md", "content": "x"}, "workspace_write_not_allowed"),
        ("workspace_read_file", {"path": "../etc/passwd"}, "path_outside_workspace"),
        ("workspace_read_file", {"wrong": 1}, "invalid_arguments"),
        ("workspace_read_file", {"path": 7}, "invalid_arguments"),
        (RUN, {"argv": ["curl", "x"]}, "bin_not_allowlisted"),
        ("no_such_tool", {}, "unknown_tool"),
        ("\x1b[2J", {}, "unknown_tool"),
    ],
)
def test_a_refusal_is_an_answer_with_its_code_and_the_run_goes_on(
    tool: str, arguments: dict[str, Any], code: str, holding: McpHolding
) -> None:
    async def story() -> None:
        async with connected(holding.server()) as client:
            refused = await client.call_tool(tool, arguments)
            assert refused.isError
            assert refused.structuredContent is not None
            assert refused.structuredContent["code"] == code
            if code != "unknown_tool":
                assert refused.structuredContent["details"]["hint"]
            assert not (await client.call_tool("workspace_read_file", READ)).isError

    act(story)


def test_a_run_that_cannot_be_opened_is_said_by_each_call(holding: McpHolding) -> None:
    def closed(*_told: object) -> HeldRun:
        raise EngineUnavailable("there is no engine", hint="Start it.")

    async def story() -> None:
        async with connected(make_server(closed, holding.bench.said.append, frozenset(TOOLS))) as client:
            assert (await client.list_tools()).tools
            for _ in range(2):
                refused = await client.call_tool("workspace_read_file", READ)
                assert refused.isError
                assert refused.structuredContent is not None
                assert refused.structuredContent["code"] == "engine_unavailable"
                assert refused.structuredContent["details"] == {"hint": "Start it."}

    act(story)


def test_a_client_that_never_asks_for_tools_costs_no_run(holding: McpHolding) -> None:
    async def story() -> None:
        async with connected(holding.server()) as client:
            await client.send_ping()

    act(story)
    assert holding.runs == []


def test_a_cancelled_call_kills_its_command_and_the_run_goes_on(holding: McpHolding) -> None:
    async def story() -> None:
        async with connected(holding.server()) as client, anyio.create_task_group() as group:

            async def call() -> None:
                with pytest.raises(McpError):
                    await client.call_tool(RUN, NODE)

            group.start_soon(call)
            await until(holding.begun)
            await cancel(client, 1)
            assert not (await client.call_tool("workspace_read_file", READ)).isError
            assert not holding.runs[0].busy

    act(story)
    assert statuses(holding) == ["completed"]


def test_cancelling_a_call_that_waits_its_turn_leaves_the_one_before_it_alone(holding: McpHolding) -> None:
    async def story() -> None:
        async with connected(holding.server()) as client, anyio.create_task_group() as group:
            ended = anyio.Event()

            async def call(tool: str, arguments: dict[str, Any], then: Callable[[], None]) -> None:
                with pytest.raises(McpError):
                    await client.call_tool(tool, arguments)
                then()

            group.start_soon(call, RUN, NODE, lambda: None)
            await until(holding.begun)
            group.start_soon(call, "workspace_read_file", READ, ended.set)
            await anyio.wait_all_tasks_blocked()
            await cancel(client, 2)
            await ended.wait()
            assert holding.runs[0].busy
            await cancel(client, 1)

    act(story)
    assert statuses(holding) == ["interrupted"]


def test_two_sessions_at_once_have_two_runs(holding: McpHolding) -> None:
    async def story() -> None:
        server = holding.server(at_once=2)
        async with connected(server) as one, connected(server) as other:
            await one.call_tool("workspace_write_file", {"path": "src/mine.txt", "content": "x"})
            assert (await other.call_tool("workspace_read_file", {"path": "src/mine.txt"})).isError
            assert not (await one.call_tool("workspace_read_file", {"path": "src/mine.txt"})).isError
        assert len({run.run_id for run in holding.runs}) == 2

    act(story)
    assert statuses(holding) == ["completed", "completed"]
    assert holding.bench.engine.objects() == []


def test_a_session_that_ends_in_the_middle_of_a_call_interrupts_its_run(holding: McpHolding) -> None:
    async def story() -> None:
        async with connected(holding.server()) as client:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, RUN, NODE)
                    await until(holding.begun)
                    scope.cancel()

    act(story)
    assert statuses(holding) == ["interrupted"]
    assert holding.bench.engine.objects() == []


class Talking:
    """A run whose one call prints a line and ends when it is told to."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.heard = threading.Event()
        self.busy = False

    def call(self, _tool: str, _arguments: object, *, on_output: OutputSink) -> dict[str, Any]:
        on_output(cast(Any, "stdout"), b"first\n" + self.line)
        self.heard.wait(30)
        return {"ok": True, "result": "done"}

    def cancel(self) -> None:
        self.heard.set()

    def close(self) -> None:
        self.busy = False


def test_progress_has_the_last_line_of_output_made_visible_and_grows() -> None:
    run = Talking("\x1b[2Jhi\u202e".encode() + b"\xff" + b"x" * 9000)
    said: list[tuple[float, str]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        said.append((progress, message or ""))
        if len(said) == 3:
            run.heard.set()

    async def story() -> None:
        server = make_server(
            lambda _progress, _wanted: cast(HeldRun, run), print, frozenset(TOOLS), report_seconds=SHORT_SECONDS
        )
        async with connected(server) as client:
            answer = await client.call_tool("workspace_read_file", READ, progress_callback=heard)
            assert not answer.isError

    act(story)
    assert [seconds for seconds, _ in said] == sorted({seconds for seconds, _ in said})
    for _, message in said:
        assert len(message) <= 200
        assert message.isascii() or "\ufffd" in message
        assert not {"\x1b", "\u202e"} & set(message)


def test_while_the_run_opens_progress_says_its_last_step(holding: McpHolding) -> None:
    go, said = threading.Event(), []

    def slow(progress: Any, wanted: Any) -> HeldRun:
        progress("fetching \x1b]0;x")
        go.wait(30)
        return holding.open_run(progress, wanted)

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert progress > 0
        assert total is None
        said.append(message)
        go.set()

    async def story() -> None:
        server = make_server(slow, holding.bench.said.append, frozenset(TOOLS), report_seconds=SHORT_SECONDS)
        async with connected(server) as client:
            assert not (await client.call_tool("workspace_read_file", READ, progress_callback=heard)).isError

    act(story)
    assert said[0] == "fetching \\x1b]0;x"


def test_a_session_that_ends_while_its_run_waits_for_a_place_gives_the_place_up(holding: McpHolding) -> None:
    asked, unwanted = threading.Event(), threading.Event()

    def waiting(_progress: Any, wanted: Any) -> HeldRun:
        asked.set()
        while wanted():
            unwanted.wait(SHORT_SECONDS)
        raise EngineUnavailable("given up")

    async def story() -> None:
        async with connected(make_server(waiting, holding.bench.said.append, frozenset(TOOLS))) as client:
            await client.list_tools()
            await until(asked)

    act(story)
