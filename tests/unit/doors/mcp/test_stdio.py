"""MCP over standard input and output: whatever a client writes, only messages of the protocol come back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest
from anyio import create_task_group, to_thread

from runner.doors import calls
from runner.doors.mcp.stdio import serve_stdio
from tests.support.mcp_door import McpHolding, act

BOUND = 4096
ASKING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Talk:
    """A client at the other end of two pipes."""

    def __init__(self) -> None:
        (ours_in, self._to), (self._from, ours_out) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self.writes: BinaryIO = os.fdopen(self._to, "wb", buffering=0)
        self.reads: BinaryIO = os.fdopen(self._from, "rb")
        self.said: list[dict[str, Any]] = []

    def send(self, message: bytes | dict[str, Any]) -> None:
        data = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.writes.write(data + b"\n")

    def answer(self, request: int) -> dict[str, Any]:
        """The answer to the request; every line on the way is a message."""
        while True:
            message = json.loads(self.reads.readline())
            assert message["jsonrpc"] == "2.0"
            self.said.append(message)
            if message.get("id") == request:
                found: dict[str, Any] = message
                return found

    def greet(self) -> None:
        self.send({"id": 0, "method": "initialize", "params": ASKING})
        assert self.answer(0)["result"]["serverInfo"]["name"] == "runner"
        self.send({"method": "notifications/initialized"})

    def read_file(self, request: int) -> dict[str, Any]:
        params = {"name": "workspace_read_file", "arguments": {"path": "README.md"}}
        self.send({"id": request, "method": "tools/call", "params": params})
        return self.answer(request)


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[McpHolding]:
    made = McpHolding(tmp_path)
    yield made
    made.end_all()


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    made = Talk()
    monkeypatch.setattr(calls, "MAX_LINE_BYTES", BOUND)
    # Not those of `sys` itself, which pytest changes between a fixture and its test.
    ends = SimpleNamespace(stdin=SimpleNamespace(buffer=made.stdin), stdout=SimpleNamespace(buffer=made.stdout))
    monkeypatch.setattr("runner.doors.mcp.stdio.sys", ends)
    yield made
    for end in (made.writes, made.stdout, made.reads, made.stdin):
        end.close()


@pytest.mark.parametrize(
    "noise",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "1.0", "id": 9, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 9, "method": "no/such"}',
        b'{"jsonrpc": "2.0", "id": 77, "result": {}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
        b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 7}}',
        b"[" * BOUND,
        b"x" * (3 * BOUND),
        b'{"jsonrpc": "2.0", "id": 9, "method": "ping", "x": "' + b"y" * BOUND + b'"}',
    ],
    ids=range(15),
)
def test_noise_is_no_call_and_the_session_goes_on(noise: bytes, holding: McpHolding, talk: Talk) -> None:
    def client() -> None:
        talk.greet()
        talk.send(noise)
        assert talk.read_file(1)["result"]["content"][0]["text"] == "# R0\n"
        talk.writes.close()

    async def story() -> None:
        async with create_task_group() as group:
            group.start_soon(to_thread.run_sync, client)
            await serve_stdio(holding.server())

    act(story)
    assert [run.close().status for run in holding.runs] == ["completed"]
    assert holding.bench.engine.objects() == []


def test_a_client_that_hangs_up_before_it_says_anything_costs_nothing(holding: McpHolding, talk: Talk) -> None:
    talk.writes.close()

    async def story() -> None:
        await serve_stdio(holding.server())

    act(story)
    assert holding.runs == []


def test_a_call_before_the_greeting_is_refused_and_no_run_begins(holding: McpHolding, talk: Talk) -> None:
    def client() -> None:
        talk.send({"id": 5, "method": "tools/list"})
        assert "error" in talk.answer(5)
        talk.writes.close()

    async def story() -> None:
        async with create_task_group() as group:
            group.start_soon(to_thread.run_sync, client)
            await serve_stdio(holding.server())

    act(story)
    assert holding.runs == []


@pytest.mark.parametrize("lines", [1, 4, 50])
def test_noise_and_then_the_end_of_input_is_the_end_of_the_session(lines: int, holding: McpHolding, talk: Talk) -> None:
    for _ in range(lines):
        talk.send(b"[]")
    talk.writes.close()

    async def story() -> None:
        await serve_stdio(holding.server())

    act(story)
    assert holding.runs == []
