"""The proxy against a relay that lies, floods or stalls; the test speaks the relay's part."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import pytest

from runner.egress.frames import MAX_PAYLOAD_BYTES, WINDOW_BYTES, FrameKind, encode, encode_window
from runner.egress.proxy import EgressProxy
from runner.egress.values import EgressLimits, IPAddress
from runner.model.errors import SandboxLost
from tests.unit.egress.harness import (
    WAIT_SECONDS,
    Audit,
    ManualClock,
    RawServer,
    ScriptedRelay,
    SocketStream,
    client_hello,
    make_proxy,
)

READY = encode(FrameKind.READY, 0, struct.pack(">H", 3128))


@dataclass
class Scene:
    relay: ScriptedRelay
    proxy: EgressProxy
    audit: Audit
    clock: ManualClock


@contextmanager
def scene(allow: list[str], **options: Any) -> Iterator[Scene]:
    ours, theirs = socket.socketpair()
    audit, clock = Audit(), ManualClock()
    with theirs, make_proxy(SocketStream(ours), audit, allow, clock=clock, **options) as proxy:
        theirs.sendall(READY)
        assert proxy.start() == 3128
        yield Scene(ScriptedRelay(theirs), proxy, audit, clock)


def opened(number: int) -> bytes:
    return encode(FrameKind.OPEN, number)


def data(number: int, payload: bytes) -> bytes:
    return encode(FrameKind.DATA, number, payload)


def connect(number: int, target: str) -> bytes:
    return data(number, f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())


def flood_of_opens() -> bytes:
    return b"".join(opened(number) for number in range(1, 10_001))


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param(flood_of_opens, id="ten thousand opens"),
        pytest.param(lambda: b"\xff" * 64, id="garbage"),
        pytest.param(lambda: struct.pack(">BII", 3, 1, MAX_PAYLOAD_BYTES + 1), id="oversized data"),
        pytest.param(lambda: struct.pack(">BII", 3, 1, 0), id="empty data"),
        pytest.param(lambda: READY, id="ready twice"),
        pytest.param(lambda: opened(2) + opened(1), id="a number that goes back"),
        pytest.param(lambda: opened(2) + opened(2), id="a number twice"),
        pytest.param(lambda: opened(0), id="number zero"),
        pytest.param(lambda: data(7, b"x"), id="data of a connection that was never opened"),
        pytest.param(lambda: opened(1) + encode_window(1, 1), id="credit for what was not sent"),
        pytest.param(lambda: opened(1) + encode_window(1, 0xFFFFFFFF), id="endless credit"),
    ],
)
def test_a_relay_that_breaks_the_protocol_ends_the_proxy(lie: Callable[[], bytes]) -> None:
    with scene(["allowed.test"]) as here:
        with suppress(ConnectionError):  # it may hang up before all is sent
            here.relay.say(lie())
        assert here.relay.is_hung_up()
        here.proxy.close()
        assert isinstance(here.proxy.failure, SandboxLost)
        assert here.proxy.failure.__cause__ is None  # judged, not crashed
        events = here.audit.rest()
        assert events[-1].connection == 0
        assert not any(event.allowed for event in events)


def test_a_relay_that_sends_beyond_its_credit_ends_the_proxy() -> None:
    hanging = threading.Event()

    def never(host: str, port: int) -> list[IPAddress]:
        hanging.wait(WAIT_SECONDS)
        return []

    with scene(["allowed.test"], resolver=never) as here:
        here.relay.say(opened(1) + connect(1, "allowed.test:443"))
        with suppress(ConnectionError):
            for _ in range(WINDOW_BYTES // 32_768 + 1):
                here.relay.say(data(1, b"x" * 32_768))
        assert here.relay.is_hung_up()
        hanging.set()


def test_bytes_that_wait_for_the_dial_stay_within_one_window_and_the_others_go_on() -> None:
    hanging = threading.Event()

    def slow_for_one(host: str, port: int) -> list[IPAddress]:
        if host == "slow.test":
            hanging.wait(WAIT_SECONDS)
        return []

    with scene(["slow.test", "quick.test"], resolver=slow_for_one) as here:
        here.relay.say(opened(1) + connect(1, "slow.test:443") + data(1, b"x" * 65_536))
        here.relay.say(opened(2) + connect(2, "quick.test:443"))
        assert b" 502 " in here.relay.hear_until_close(2)
        hanging.set()
        assert b" 502 " in here.relay.hear_until_close(1)


def test_a_request_that_dribbles_in_is_cut_at_its_time() -> None:
    with scene(["allowed.test"]) as here:
        here.relay.say(opened(1) + data(1, b"CONNECT allo"))
        _sync(here, 2)
        here.clock.now += 19
        here.relay.say(data(1, b"w"))
        _sync(here, 3)
        here.clock.now += 2
        here.proxy.wake()
        assert b" 408 " in here.relay.hear_until_close(1)
        assert here.audit.next().rule == "egress.handshake"


def test_a_hello_that_never_comes_is_cut_at_its_time() -> None:
    server = RawServer()
    with scene([f"allowed.test:{server.port}"]) as here:
        here.relay.say(opened(1) + connect(1, f"allowed.test:{server.port}"))
        frame = here.relay.hear()
        assert frame is not None
        assert b" 200 " in frame.payload
        here.clock.now += 21
        here.proxy.wake()
        assert here.relay.hear_until_close(1) == b""
        event = here.audit.next()
        assert (event.allowed, event.rule) == (False, "egress.handshake")
        assert server.received.get(timeout=WAIT_SECONDS) == b""
    server.close()


def test_a_lookup_that_hangs_delays_no_close() -> None:
    hanging, asked = threading.Event(), threading.Event()

    def never(host: str, port: int) -> list[IPAddress]:
        asked.set()
        hanging.wait(WAIT_SECONDS)
        return [ip_address("127.0.0.1")]

    with scene(["allowed.test"], resolver=never) as here:
        here.relay.say(opened(1) + connect(1, "allowed.test:443"))
        assert asked.wait(WAIT_SECONDS)
        here.proxy.close()
        assert here.relay.is_hung_up()
        assert here.audit.next().rule == "egress.closed"
        assert "egress-proxy" not in {thread.name for thread in threading.enumerate()}
        hanging.set()


def test_a_client_that_ends_its_side_still_reaches_the_remote_with_all_it_sent() -> None:
    server, hello = RawServer(), client_hello("allowed.test")
    with scene([f"allowed.test:{server.port}"]) as here:
        here.relay.say(opened(1) + connect(1, f"allowed.test:{server.port}"))
        here.relay.hear()
        here.relay.say(data(1, hello) + encode(FrameKind.END, 1))
        assert server.received.get(timeout=WAIT_SECONDS) == hello
        assert here.relay.hear_until_close(1) == b""
        event = here.audit.next()
        assert (event.allowed, event.ended_by, event.bytes_up) == (True, "closed", len(hello))
    server.close()


def test_data_after_the_client_ended_its_side_ends_the_proxy() -> None:
    server, hello = RawServer(), client_hello("allowed.test")
    with scene([f"allowed.test:{server.port}"]) as here:
        here.relay.say(opened(1) + connect(1, f"allowed.test:{server.port}"))
        here.relay.hear()
        here.relay.say(data(1, hello) + encode(FrameKind.END, 1) + data(1, b"more"))
        assert here.relay.is_hung_up()
    server.close()


def test_late_frames_of_an_ended_connection_are_dropped() -> None:
    with scene(["allowed.test"]) as here:
        here.relay.say(opened(1) + connect(1, "other.test:443"))
        here.relay.hear_until_close(1)
        assert here.audit.next().connection == 1
        here.relay.say(data(1, b"late") + encode_window(1, 99) + encode(FrameKind.CLOSE, 1))
        _sync(here, 2)
        assert here.proxy.failure is None


def test_a_relay_that_never_reads_cannot_grow_the_proxy() -> None:
    with scene(["allowed.test"], limits=EgressLimits(connections=1)) as here:
        with suppress(ConnectionError):
            for number in range(1, 20_000):
                here.relay.say(opened(number) + connect(number, "other.test:443"))
        here.proxy.close()
        assert isinstance(here.proxy.failure, SandboxLost)


def test_the_number_of_connections_per_run_is_bounded() -> None:
    with scene(["allowed.test"], limits=EgressLimits(connections_total=2)) as here:
        for number in (1, 2):
            here.relay.say(opened(number) + connect(number, "other.test:443"))
            here.relay.hear_until_close(number)
        here.relay.say(opened(3))
        assert here.relay.is_hung_up()


def test_an_unreadable_target_is_audited_as_short_printable_text() -> None:
    with scene(["allowed.test"]) as here:
        here.relay.say(opened(1) + data(1, b"CONNECT \x1b]0;\xff" + b"a" * 400 + b":443 HTTP/1.1\r\n\r\n"))
        here.relay.hear_until_close(1)
        host = here.audit.next().host
        assert host.startswith("CONNECT \\x1b]0;\\xff")
        assert host.isascii()
        assert host.isprintable()
        assert len(host) == 255


def test_a_relay_that_is_not_ready_in_time_is_given_up() -> None:
    ours, theirs = socket.socketpair()
    with theirs, make_proxy(SocketStream(ours), Audit(), ["allowed.test"]) as proxy, pytest.raises(SandboxLost):
        proxy.start(ready_seconds=0.01)


def test_a_relay_that_ends_at_once_is_reported_at_start() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with make_proxy(SocketStream(ours), Audit(), ["allowed.test"]) as proxy, pytest.raises(SandboxLost):
        proxy.start()


def test_a_proxy_that_was_never_started_closes() -> None:
    ours, theirs = socket.socketpair()
    with theirs, make_proxy(SocketStream(ours), Audit(), ["allowed.test"]):
        pass


def _sync(here: Scene, number: int) -> None:
    """The proxy has taken all that was said before: it answers a connection of its own."""
    here.relay.say(opened(number) + connect(number, "other.test:443"))
    here.relay.hear_until_close(number)
    assert here.audit.next().connection == number
