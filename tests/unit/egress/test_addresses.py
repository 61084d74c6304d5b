"""Which addresses may be dialled."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from runner.egress.addresses import AddressJudge, decide_address
from runner.egress.network import is_own_address, resolve
from runner.egress.values import IPAddress
from runner.model.errors import PolicyInvalid


def nothing_is_own(address: IPAddress) -> bool:
    return False


def rule(text: str) -> str:
    return decide_address(ip_address(text), is_own=nothing_is_own).rule


@pytest.mark.parametrize(
    "text",
    [
        "9.255.255.255",
        "11.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "223.255.255.255",
        "192.0.2.1",  # the documentation networks: some sites map their registries there
        "198.51.100.1",
        "203.0.113.80",
        "2001:db8::1",
        "2600::1",
        "fbff::1",
        "64:ff9b::cb00:7101",  # NAT64 of 203.0.113.1
        "2002:cb00:7101::1",  # 6to4 of 203.0.113.1
        "::ffff:203.0.113.1",
    ],
)
def test_a_public_or_documentation_address_is_allowed(text: str) -> None:
    assert rule(text) == "egress.address.public"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"),
        ("::1", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("100.64.0.1", "cgnat"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("192.0.0.192", "protocol"),
        ("198.18.0.1", "benchmark"),
        ("fc00::1", "unique-local"),
        ("fdff::1", "unique-local"),
        ("fec0::1", "site-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("::10.0.0.1", "unspecified"),
        ("255.255.255.255", "reserved"),
        ("240.0.0.1", "reserved"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "link-local"),
        ("2002:0a00:0001::1", "private"),
        ("2002:7f00:0001::1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b::a00:1", "private"),
        ("64:ff9b:1::a00:1", "local-nat64"),
        ("2001:0:a00:1::", "private"),  # Teredo with a private server
        ("2001:0:cb00:7101:0:0:f5ff:fffe", "private"),  # Teredo of client 10.0.0.1, whose bits are inverted
    ],
)
def test_an_address_that_leads_inside_is_refused(text: str, name: str) -> None:
    assert rule(text) == f"egress.address.{name}"


@pytest.mark.parametrize("text", ["203.0.113.5", "::ffff:203.0.113.5", "64:ff9b::cb00:7105"])
def test_the_hosts_own_address_is_refused_in_every_form(text: str) -> None:
    own = ip_address("203.0.113.5")
    verdict = decide_address(ip_address(text), is_own=lambda address: address == own)
    assert (verdict.allowed, verdict.rule) == (False, "egress.address.own")


def test_an_opened_private_network_is_reached_and_its_neighbour_is_not() -> None:
    judge = AddressJudge(nothing_is_own, (ip_network("10.20.0.0/16"),))
    assert judge(ip_address("10.20.255.255")).allowed
    assert not judge(ip_address("10.21.0.0")).allowed
    assert not judge(ip_address("192.168.0.1")).allowed


def test_an_opened_network_does_not_open_the_host_itself() -> None:
    own = ip_address("10.20.0.5")
    judge = AddressJudge(lambda address: address == own, (ip_network("10.20.0.0/16"),))
    assert judge(own).rule == "egress.address.own"


def test_an_opened_network_does_not_open_the_metadata_inside_it() -> None:
    judge = AddressJudge(nothing_is_own, (ip_network("fc00::/7"), ip_network("100.64.0.0/10")))
    assert judge(ip_address("fd12::1")).allowed
    assert judge(ip_address("fd00:ec2::254")).rule == "egress.address.metadata"
    assert judge(ip_address("100.100.100.200")).rule == "egress.address.metadata"


@pytest.mark.parametrize("text", ["127.0.0.0/8", "169.254.0.0/16", "0.0.0.0/0", "10.0.0.0/7", "::/0", "fe80::/10"])
def test_a_network_that_is_not_private_cannot_be_opened(text: str) -> None:
    with pytest.raises(PolicyInvalid):
        AddressJudge(nothing_is_own, (ip_network(text),))


def test_the_kernel_knows_its_own_addresses() -> None:
    assert is_own_address(ip_address("127.0.0.1"))
    assert is_own_address(ip_address("127.9.9.9"))
    assert not is_own_address(ip_address("203.0.113.1"))


def test_the_resolver_names_each_address_once() -> None:
    assert resolve("127.0.0.1", 443) == (ip_address("127.0.0.1"),)  # a numeric name asks no server
