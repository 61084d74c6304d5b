"""The gate's way out: every connection leads to the one target, whatever the client says."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import pytest

from runner.egress.addresses import judge_code_host
from runner.egress.network import begin_connect
from runner.egress.proxy import EgressProxy
from runner.egress.rules import EgressRules
from runner.egress.values import IPAddress, Pinned
from tests.unit.egress.harness import (
    LOOPBACK,
    WAIT_SECONDS,
    Audit,
    ManualClock,
    RawServer,
    connect_through,
    real_relay,
    send_request,
)


@pytest.fixture
def server() -> Iterator[RawServer]:
    running = RawServer()
    yield running
    running.close()


@contextmanager
def way_to(port: int, *, by_connect: bool, addresses: list[IPAddress] | None = None) -> Iterator[tuple[int, Audit]]:
    audit = Audit()
    leads_to = [LOOPBACK] if addresses is None else addresses
    with (
        real_relay() as (stream, _),
        EgressProxy(
            stream,
            rules=EgressRules(),
            judge=judge_code_host,
            resolver=lambda _host, _port: leads_to,
            dialer=begin_connect,
            audit=audit,
            pinned=Pinned("code.example.com", port, by_connect=by_connect),
            clock=ManualClock(),
        ) as proxy,
    ):
        yield proxy.start(), audit


def test_what_a_client_sends_arrives_at_the_target_as_it_was_sent(server: RawServer) -> None:
    with way_to(server.port, by_connect=False) as (port, audit):
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as client:
            client.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
        assert server.received.get(timeout=WAIT_SECONDS) == b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n"
        event = audit.next()

    assert (event.host, event.allowed, event.rule) == ("code.example.com", True, "egress.pinned")


def test_a_client_that_asks_for_the_target_gets_it(server: RawServer) -> None:
    with way_to(server.port, by_connect=True) as (port, _):
        status, _, client = connect_through(port, f"Code.Example.com:{server.port}")
        with client:
            client.sendall(b"no TLS, and nobody minds")
        assert status == 200
        assert server.received.get(timeout=WAIT_SECONDS) == b"no TLS, and nobody minds"


@pytest.mark.parametrize("asked", ["evil.example:443", "code.example.com:22", "code.example.com", "127.0.0.1:443"])
def test_a_client_that_asks_for_another_target_is_refused(server: RawServer, asked: str) -> None:
    with way_to(server.port, by_connect=True) as (port, audit):
        status, _, client = connect_through(port, asked)
        client.close()

        assert (status, audit.next().rule) == (403, "egress.target")
    assert server.received.empty()


def test_a_client_that_asks_in_another_way_is_refused(server: RawServer) -> None:
    with way_to(server.port, by_connect=True) as (port, audit):
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as client:
            status, _ = send_request(client, b"GET http://code.example.com/ HTTP/1.1\r\n\r\n")

        assert (status, audit.next().rule) == (405, "egress.method")
    assert server.received.empty()


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "100.100.100.200", "0.0.0.0", "224.0.0.1", "::ffff:169.254.169.254", "fe80::1"]
)
def test_a_name_that_leads_to_a_clouds_control_or_to_nobody_is_not_dialled(address: str) -> None:
    with way_to(443, by_connect=True, addresses=[LOOPBACK, ip_address(address)]) as (port, audit):
        status, _, client = connect_through(port, "code.example.com:443")
        client.close()

        assert (status, audit.next().rule.rpartition(".")[0]) == (403, "egress.address")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.5", "192.168.1.2", "fd12::1", "203.0.113.9"])
def test_a_code_host_may_be_this_host_or_in_a_private_network(address: str) -> None:
    assert judge_code_host(ip_address(address)).allowed


def test_an_authority_is_written_as_http_clients_write_it() -> None:
    assert Pinned("::1", 443, by_connect=True).authority == "[::1]:443"
    assert Pinned("a.example", 443, by_connect=True).authority == "a.example:443"
