"""The proxy with the real relay as a child process and local servers."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import Any

import pytest

from runner.egress.addresses import AddressJudge
from runner.egress.proxy import EgressProxy
from runner.egress.values import EgressDialled, EgressEvent, EgressLimits, EgressOpened, IPAddress, Verdict
from runner.model.errors import SandboxLost
from tests.unit.egress.harness import (
    WAIT_SECONDS,
    Audit,
    EchoServer,
    ManualClock,
    RawServer,
    allow_loopback_for_tests_only,
    client_hello,
    connect_through,
    echo,
    make_proxy,
    names_at_loopback,
    read_all,
    real_relay,
    send_request,
)

MEGABYTE = 1024 * 1024


@dataclass
class World:
    port: int  # of the relay
    proxy: EgressProxy
    audit: Audit
    relay: subprocess.Popen[bytes]
    clock: ManualClock


@contextmanager
def world(allow: list[str], **options: Any) -> Iterator[World]:
    audit, clock = Audit(), ManualClock()
    with (
        real_relay() as (stream, process),
        make_proxy(stream, audit, allow, clock=clock, **options) as proxy,
    ):
        yield World(proxy.start(), proxy, audit, process, clock)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EchoServer]:
    started = EchoServer(tmp_path, "allowed.test")
    yield started
    started.close()


@pytest.fixture
def raw_server() -> Iterator[RawServer]:
    started = RawServer()
    yield started
    started.close()


def is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS).close()
    except ConnectionRefusedError:
        return True
    return False


def test_an_allowed_host_gets_a_megabyte_and_sends_one_back(server: EchoServer) -> None:
    body = bytes(range(256)) * (MEGABYTE // 256)
    with world([f"allowed.test:{server.port}"]) as here:
        status, _, tunnel = connect_through(here.port, f"allowed.test:{server.port}")
        assert status == 200
        assert echo(tunnel, server.client_context(), "allowed.test", body) == body
        event = here.audit.next()
        assert (event.host, event.port, event.address) == ("allowed.test", server.port, "127.0.0.1")
        assert (event.allowed, event.rule) == (True, f"egress.allow:allowed.test:{server.port}")
        assert event.bytes_up > MEGABYTE
        assert event.bytes_down > MEGABYTE


def test_parallel_connections_do_not_mix_and_are_audited_once_each(server: EchoServer) -> None:
    target = f"allowed.test:{server.port}"
    with world([target]) as here:

        def one(number: int) -> bool:
            body = bytes([number]) * (MEGABYTE // 2)
            _, _, tunnel = connect_through(here.port, target)
            return echo(tunnel, server.client_context(), "allowed.test", body) == body

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(one, range(16)))
        assert sorted(here.audit.next().connection for _ in range(16)) == list(range(1, 17))
    assert here.audit.rest() == []


def test_a_client_that_does_not_read_stalls_only_itself(server: EchoServer) -> None:
    target = f"allowed.test:{server.port}"
    body = b"x" * (4 * MEGABYTE)
    with world([target]) as here:
        _, _, lazy = connect_through(here.port, target)
        context = server.client_context()
        with context.wrap_socket(lazy, server_hostname="allowed.test") as tls:
            sender = threading.Thread(target=_send_quietly, args=(tls, len(body).to_bytes(4, "big") + body))
            sender.start()
            _, _, busy = connect_through(here.port, target)
            assert echo(busy, context, "allowed.test", b"prompt") == b"prompt"
            assert here.audit.next().connection == 2
            here.proxy.close()
            sender.join(WAIT_SECONDS)
            assert not sender.is_alive()


def _send_quietly(stream: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        stream.sendall(data)


@pytest.mark.parametrize(
    "target",
    [
        "evil-allowed.test:443",
        "allowed.test.evil:443",
        "allowed.test@evil:443",
        "user:pw@allowed.test:443",
        "allowed%2etest:443",
        "allowed.test:443:80",
        "allowed.test:80",
        "allowed.test:0443",
        "allowed.test",
        "sub.allowed.test:443",
        "127.0.0.1:443",
        "[::1]:443",
    ],
)
def test_a_target_next_to_the_allowed_one_gets_403_naming_the_rule(target: str) -> None:
    with world(["allowed.test"]) as here:
        status, body, client = connect_through(here.port, target)
        client.close()
        event = here.audit.next()
        assert status == 403
        assert event.rule in {"egress.host", "egress.target"}
        assert body.startswith(event.rule.encode())
        assert (event.allowed, event.address, event.bytes_up) == (False, "", 0)


@pytest.mark.parametrize(
    ("request_bytes", "status", "rule"),
    [
        (b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", 405, "egress.method"),
        (b"CONNECT allowed.test:443 HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431, "egress.request"),
        (b"\x16\x03\x01\x00\x05hello\r\n\r\n", 400, "egress.request"),
    ],
)
def test_what_is_not_a_small_connect_is_refused(request_bytes: bytes, status: int, rule: str) -> None:
    with world(["allowed.test"]) as here:
        with socket.create_connection(("127.0.0.1", here.port), timeout=WAIT_SECONDS) as client:
            assert send_request(client, request_bytes)[0] == status
        assert here.audit.next().rule == rule


@pytest.mark.parametrize(
    "first_bytes",
    [
        pytest.param(client_hello("other.test"), id="another server name"),
        pytest.param(client_hello(None), id="no server name"),
        pytest.param(b"SSH-2.0-client\r\n", id="not TLS"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n", id="plain HTTP in the tunnel"),
    ],
)
def test_a_tunnel_without_the_right_server_name_is_cut_before_a_byte_leaves(
    raw_server: RawServer, first_bytes: bytes
) -> None:
    target = f"allowed.test:{raw_server.port}"
    with world([target]) as here:
        status, _, tunnel = connect_through(here.port, target)
        with tunnel:
            tunnel.sendall(first_bytes)
            assert (status, read_all(tunnel)) == (200, b"")
        event = here.audit.next()
        assert (event.allowed, event.rule, event.bytes_up) == (False, "egress.sni", 0)
        assert raw_server.received.get(timeout=WAIT_SECONDS) == b""


def test_a_name_that_leads_to_a_private_address_is_refused() -> None:
    judge = AddressJudge(lambda address: False)
    with world(["allowed.test"], judge=judge, resolver=lambda host, port: [ip_address("10.1.2.3")]) as here:
        status, _, client = connect_through(here.port, "allowed.test:443")
        client.close()
        assert status == 403
        assert here.audit.next().rule == "egress.address.private"


def test_one_private_address_among_good_ones_refuses_the_name() -> None:
    answers = [ip_address("203.0.113.7"), ip_address("169.254.169.254")]
    judge = AddressJudge(lambda address: False)
    with world(["allowed.test"], judge=judge, resolver=lambda host, port: answers) as here:
        status, _, client = connect_through(here.port, "allowed.test:443")
        client.close()
        assert status == 403
        assert here.audit.next().rule == "egress.address.link-local"


def test_a_name_that_changes_its_address_is_resolved_once_and_stays_pinned(server: EchoServer) -> None:
    questions: list[str] = []
    judged: list[IPAddress] = []

    def rebinding(host: str, port: int) -> list[IPAddress]:
        questions.append(host)
        return [ip_address("127.0.0.1" if len(questions) == 1 else "10.0.0.1")]

    def judge(address: IPAddress) -> Verdict:
        judged.append(address)
        return allow_loopback_for_tests_only(address)

    target = f"allowed.test:{server.port}"
    with world([target], resolver=rebinding, judge=judge) as here:
        for _ in range(2):
            _, _, tunnel = connect_through(here.port, target)
            assert echo(tunnel, server.client_context(), "allowed.test", b"pinned") == b"pinned"
            assert here.audit.next().address == "127.0.0.1"
        assert (questions, judged) == (["allowed.test"], [ip_address("127.0.0.1")] * 2)
        here.clock.now += 31
        status, _, client = connect_through(here.port, target)
        client.close()
        assert (status, len(questions)) == (403, 2)


def test_connections_that_come_together_share_one_lookup() -> None:
    questions: list[str] = []
    together = threading.Event()

    def slow(host: str, port: int) -> list[IPAddress]:
        questions.append(host)
        together.wait(WAIT_SECONDS)
        return [ip_address("10.0.0.1")]

    with world(["allowed.test"], resolver=slow, judge=AddressJudge(lambda address: False)) as here:
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(connect_through, here.port, "allowed.test:443") for _ in range(4)]
            with socket.create_connection(("127.0.0.1", here.port), timeout=WAIT_SECONDS) as last:
                send_request(last, b"CONNECT other.test:443 HTTP/1.1\r\n\r\n")
            together.set()
            for answer in answers:
                status, _, client = answer.result(WAIT_SECONDS)
                client.close()
                assert status == 403
        assert questions == ["allowed.test"]


def test_a_name_without_an_address_gets_502() -> None:
    def failing(host: str, port: int) -> list[IPAddress]:
        raise socket.gaierror("no such name")

    with world(["allowed.test"], resolver=failing) as here:
        status, _, client = connect_through(here.port, "allowed.test:443")
        client.close()
        assert (status, here.audit.next().rule) == (502, "egress.dns")


def test_a_host_that_does_not_listen_gets_502(raw_server: RawServer) -> None:
    raw_server.close()
    with world([f"allowed.test:{raw_server.port}"]) as here:
        status, _, client = connect_through(here.port, f"allowed.test:{raw_server.port}")
        client.close()
        assert (status, here.audit.next().rule) == (502, "egress.dial")


@pytest.mark.parametrize("limit", ["connection_bytes", "run_bytes"])
def test_a_byte_cap_cuts_the_tunnel_at_exactly_its_size(server: EchoServer, limit: str) -> None:
    target = f"allowed.test:{server.port}"
    with world([target], limits=EgressLimits(**{limit: 100_000})) as here:
        _, _, tunnel = connect_through(here.port, target)
        with pytest.raises(OSError):  # a reset, an end or a broken pipe, by what came first
            echo(tunnel, server.client_context(), "allowed.test", b"x" * MEGABYTE)
        tunnel.close()
        event = here.audit.next()
        assert (event.allowed, event.ended_by) == (True, "egress.bytes")
        assert event.bytes_up + event.bytes_down == 100_000


def test_an_idle_tunnel_is_cut(server: EchoServer) -> None:
    target = f"allowed.test:{server.port}"
    with world([target]) as here:
        _, _, tunnel = connect_through(here.port, target)
        with server.client_context().wrap_socket(tunnel, server_hostname="allowed.test") as tls:
            event = None
            while event is None:  # a session ticket of the server may still be on its way, and counts as activity
                here.clock.now += 61
                here.proxy.wake()
                event = here.audit.next_within(0.2)
            assert (event.allowed, event.ended_by) == (True, "egress.idle")
            assert tls.recv(1) == b""


def test_a_tunnel_that_stays_busy_ends_at_its_total_time(server: EchoServer) -> None:
    target = f"allowed.test:{server.port}"
    with world([target], limits=EgressLimits(idle_seconds=1e9)) as here:
        _, _, tunnel = connect_through(here.port, target)
        with server.client_context().wrap_socket(tunnel, server_hostname="allowed.test"):
            here.clock.now += 1801
            here.proxy.wake()
            assert here.audit.next().ended_by == "egress.time"


def test_a_killed_relay_ends_the_proxy_and_every_tunnel(server: EchoServer) -> None:
    target = f"allowed.test:{server.port}"
    with world([target]) as here:
        _, _, tunnel = connect_through(here.port, target)
        with server.client_context().wrap_socket(tunnel, server_hostname="allowed.test"):
            here.relay.kill()
            event = here.audit.next()
            assert (event.connection, event.ended_by) == (1, "egress.failed")
            assert here.audit.next().connection == 0
            here.proxy.close()
            assert here.proxy.failure is not None


def test_after_close_the_port_refuses_and_no_thread_or_tunnel_is_left(raw_server: RawServer) -> None:
    target = f"allowed.test:{raw_server.port}"
    with world([target]) as here:
        _, _, tunnel = connect_through(here.port, target)
        with tunnel:
            tunnel.sendall(client_hello("allowed.test"))
            here.proxy.close()
            assert here.relay.wait(WAIT_SECONDS) == 0
            assert is_refused(here.port)
        assert raw_server.received.get(timeout=WAIT_SECONDS) is not None  # the remote saw its connection end
        names = {thread.name for thread in threading.enumerate()}
        assert not names & {"egress-proxy", "egress-read", "egress-write"}
        assert here.proxy.failure is None


def test_a_client_that_ends_its_side_first_has_all_its_bytes_delivered(raw_server: RawServer) -> None:
    target, hello = f"allowed.test:{raw_server.port}", client_hello("allowed.test")
    with world([target]) as here:
        _, _, tunnel = connect_through(here.port, target)
        with tunnel:
            tunnel.sendall(hello + b"x" * MEGABYTE)
            tunnel.shutdown(socket.SHUT_WR)
            assert len(raw_server.received.get(timeout=WAIT_SECONDS)) == len(hello) + MEGABYTE
            assert read_all(tunnel) == b""
        assert here.audit.next().ended_by == "closed"


def test_a_port_that_other_code_took_first_means_no_network() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as squatter,
        real_relay(squatter.getsockname()[1]) as (stream, process),
        make_proxy(stream, Audit(), ["allowed.test"]) as proxy,
    ):
        with pytest.raises(SandboxLost):
            proxy.start()
        assert process.wait(WAIT_SECONDS) != 0


def test_an_audit_that_hangs_does_not_keep_the_network_open() -> None:
    hanging, reached = threading.Event(), threading.Event()

    def hang(event: object) -> None:
        reached.set()
        hanging.wait(WAIT_SECONDS)

    with real_relay() as (stream, process), make_proxy(stream, hang, ["allowed.test"]) as proxy:
        port = proxy.start()
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as client:
            client.sendall(b"CONNECT other.test:443 HTTP/1.1\r\n\r\n")
            assert reached.wait(WAIT_SECONDS)
            proxy.close()
            assert process.wait(WAIT_SECONDS) == 0
        hanging.set()
    assert is_refused(port)


def test_an_audit_that_fails_ends_the_network() -> None:
    def broken(event: object) -> None:
        raise OSError("disk full")

    with real_relay() as (stream, process), make_proxy(stream, broken, ["allowed.test"]) as proxy:
        _, _, client = connect_through(proxy.start(), "other.test:443")
        client.close()
        assert process.wait(WAIT_SECONDS) == 0
        proxy.close()
        assert proxy.failure is not None


def test_a_connection_is_told_before_its_name_is_looked_up_and_its_address_before_it_is_dialled(
    raw_server: RawServer,
) -> None:
    told_first: list[list[str]] = []

    def names(host: str, port: int) -> list[IPv4Address]:
        told_first.append([type(told).__name__ for told in here.audit.begun])
        return names_at_loopback(host, port)

    target = f"allowed.test:{raw_server.port}"
    with world([target], resolver=names) as here:
        status, _, client = connect_through(here.port, target)
        assert status == 200 and told_first == [["EgressOpened"]]
        assert here.audit.begun == [
            EgressOpened(1, "allowed.test", raw_server.port, f"egress.allow:{target}"),
            EgressDialled(1, "127.0.0.1"),
        ]
        assert here.audit.rest() == []  # it goes on, and is told already
        client.close()
        assert here.audit.next().connection == 1


@pytest.mark.parametrize("lost", [EgressOpened, EgressDialled, EgressEvent])
def test_what_could_not_be_told_does_not_happen(raw_server: RawServer, lost: type) -> None:
    asked: list[str] = []

    def audit(told: object) -> None:
        if isinstance(told, lost):
            raise OSError("disk full")

    def names(host: str, port: int) -> list[IPv4Address]:
        asked.append(host)
        return names_at_loopback(host, port)

    target = f"allowed.test:{raw_server.port}"
    with real_relay() as (stream, process), make_proxy(stream, audit, [target], resolver=names) as proxy:
        status, _, client = connect_through(proxy.start(), "other.test:443" if lost is EgressEvent else target)
        client.close()
        assert status == 0  # not even a refusal is heard of that stands in no log
        assert process.wait(WAIT_SECONDS) == 0
        assert proxy.failure is not None
    assert asked == ([] if lost is not EgressDialled else ["allowed.test"])
    assert raw_server.received.empty()


def test_more_clients_than_connections_wait_their_turn() -> None:
    with world(["allowed.test"]) as here:
        clients = [socket.create_connection(("127.0.0.1", here.port), timeout=WAIT_SECONDS) for _ in range(80)]
        for client in clients:
            assert send_request(client, b"CONNECT other.test:443 HTTP/1.1\r\n\r\n")[0] == 403
            client.close()
        assert here.proxy.failure is None
