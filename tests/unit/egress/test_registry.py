"""What an operator opens by naming a registry: that host at that port, and nothing beside it."""

from __future__ import annotations

from contextlib import closing
from ipaddress import ip_address
from pathlib import Path

import pytest

from runner.egress.addresses import AddressJudge
from runner.egress.registry import OpenedHost, operators_registry, without_user
from runner.egress.values import IPAddress, Resolver
from runner.model.errors import UsageError
from tests.unit.egress.harness import Audit, EchoServer, connect_through, echo, make_proxy, real_relay

URL = "https://npm.corp.test:8443/"
TARGET = ("npm.corp.test", 8443)


def opened(address: str | None = None, url: str = URL) -> OpenedHost:
    found = operators_registry(url, address)
    assert found is not None
    return found


def own(address: IPAddress) -> bool:
    return address == ip_address("10.0.0.9")


@pytest.mark.parametrize("text", ["10.1.2.3", "172.17.0.5", "192.168.1.1", "100.64.0.1", "fd12::1", "203.0.113.5"])
def test_a_named_registry_may_be_on_a_private_network(text: str) -> None:
    (judge,) = opened().judges(own).values()
    assert judge(ip_address(text)).allowed


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("169.254.169.254", "link-local"),
        ("100.100.100.200", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("0.0.0.0", "unspecified"),
        ("10.0.0.9", "own"),
    ],
)
def test_a_registrys_name_opens_neither_this_host_nor_a_clouds_control(text: str, rule: str) -> None:
    (judge,) = opened().judges(own).values()
    assert judge(ip_address(text)).rule == f"egress.address.{rule}"


@pytest.mark.parametrize("text", ["127.0.0.1", "10.0.0.9", "169.254.169.254", "172.17.0.1"])
def test_an_address_that_the_operator_wrote_down_is_the_one_that_is_dialled(text: str) -> None:
    found = opened(text)
    (judge,) = found.judges(own).values()
    assert judge(ip_address(text)).allowed
    assert not judge(ip_address("127.0.0.2")).allowed
    asked: list[str] = []

    def others(host: str, port: int) -> tuple[IPAddress, ...]:
        asked.append(host)
        return (ip_address("203.0.113.1"),)

    resolve = found.resolver(others)
    assert resolve(*TARGET) == (ip_address(text),) and asked == []
    assert resolve("npm.corp.test", 443) == (ip_address("203.0.113.1"),)
    assert resolve("other.test", 8443) == (ip_address("203.0.113.1"),)


def test_only_that_host_and_port_are_judged_so() -> None:
    assert set(opened().judges(own)) == {TARGET}
    assert set(opened(url="https://NPM.corp.test./x").judges(own)) == {("npm.corp.test", 443)}


def test_the_proxy_dials_the_named_registry_and_no_other_host_at_its_address(tmp_path: Path) -> None:
    server, audit = EchoServer(tmp_path, "npm.corp.test"), Audit()
    target = f"npm.corp.test:{server.port}"
    found = opened("127.0.0.1", f"https://{target}/")
    names: Resolver = found.resolver(lambda host, port: (ip_address("127.0.0.1"),))
    allow, refuse = [target, f"other.test:{server.port}"], AddressJudge(lambda address: False)
    with (
        closing(server),
        real_relay() as (stream, _),
        make_proxy(stream, audit, allow, resolver=names, judge=refuse, judges=found.judges(own)) as proxy,
    ):
        port = proxy.start()
        status, _, tunnel = connect_through(port, target)
        assert (status, echo(tunnel, server.client_context(), "npm.corp.test", b"here")) == (200, b"here")
        assert audit.next().allowed
        status, _, client = connect_through(port, f"other.test:{server.port}")
        client.close()
        assert (status, audit.next().rule) == (403, "egress.address.loopback")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://npm.corp.test/", None),
        ("npm.corp.test", None),
        ("https://10.0.0.1/", None),
        ("https://[::1]/", None),
        ("https:///x", None),
        ("https://npm.corp.test:99999/", None),
        (URL, "npm.corp.test"),
        (URL, "10.0.0.0/8"),
        (URL, "0.0.0.0"),
        (URL, "ff02::1"),
        (None, "10.0.0.1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told(url: str | None, address: str | None) -> None:
    with pytest.raises(UsageError) as refused:
        operators_registry(url, address)
    assert "RUNNER_NPM_REGISTRY" in refused.value.message and refused.value.hint


def test_no_setting_opens_nothing() -> None:
    assert operators_registry(None, None) is None


def test_what_the_workspace_is_told_holds_no_password() -> None:
    assert without_user("https://u:secret@npm.corp.test:8443/a/") == "https://npm.corp.test:8443/a/"
