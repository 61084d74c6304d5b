"""Connections that send no whole request head: how long they are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from runner.doors.http.listening import Place
from runner.doors.http.serve_command import _server
from tests.support.clocks import ManualClock

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Connection(asyncio.Transport):
    """What a client has sent and is sent, on a loop whose time is `clock`."""

    def __init__(self, app: Any, clock: ManualClock) -> None:
        super().__init__()
        self.closed, self.sent, self._clock = False, b"", clock
        loop = asyncio.get_running_loop()
        loop.time = clock  # type: ignore[method-assign]
        config = _server(app, Place()).config
        self._protocol: Any = config.http_protocol_class(config=config, server_state=ServerState(), app_state={})  # type: ignore[call-arg]
        self._protocol.connection_made(self)

    async def send(self, data: bytes) -> None:
        self._protocol.data_received(data)
        await self.passes(0)

    async def passes(self, seconds: float) -> None:
        self._clock.advance(seconds)
        for _ in range(5):
            await asyncio.sleep(0)

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """Nothing is read that the test does not send."""

    def resume_reading(self) -> None:
        """Nothing is read that the test does not send."""


async def at_once(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


async def never(_scope: Scope, _receive: Receive, _send: Send) -> None:
    await asyncio.Event().wait()


def on_connection(app: Any, act: Callable[[Connection], Awaitable[None]]) -> None:
    async def go() -> None:
        await act(Connection(app, ManualClock()))

    asyncio.run(go())


@pytest.mark.parametrize("begun", [b"", b"GET / HTT", HEAD[:-2]])
def test_a_connection_that_sends_no_whole_head_in_time_is_closed(begun: bytes) -> None:
    async def act(client: Connection) -> None:
        for byte in begun:
            await client.send(bytes([byte]))
        await client.passes(9.9)
        after_less = client.closed
        await client.passes(0.2)
        assert (after_less, client.closed, client.sent) == (False, True, b"")

    on_connection(at_once, act)


def test_a_head_that_dribbles_gets_no_more_time_with_each_byte() -> None:
    async def act(client: Connection) -> None:
        for byte in HEAD[:10]:
            assert not client.closed
            await client.send(bytes([byte]))
            await client.passes(1)
        assert client.closed

    on_connection(at_once, act)


def test_a_request_that_has_begun_takes_the_time_that_its_answer_needs() -> None:
    async def act(client: Connection) -> None:
        await client.send(HEAD)
        await client.passes(3600)
        assert not client.closed

    on_connection(never, act)


def test_the_head_of_a_further_request_is_timed_from_its_first_byte() -> None:
    async def act(client: Connection) -> None:
        await client.send(HEAD)
        assert client.sent.startswith(b"HTTP/1.1 200")
        await client.passes(4)
        await client.send(b"G")
        await client.passes(9.9)
        assert not client.closed
        await client.send(HEAD[1:])
        assert client.sent.count(b"HTTP/1.1 200") == 2 and not client.closed
        await client.send(b"G")
        await client.passes(10.1)
        assert client.closed

    on_connection(at_once, act)
