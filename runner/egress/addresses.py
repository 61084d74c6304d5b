"""Which addresses may be dialled, whatever name led to them. Pure.

The networks are listed here with their source, and the standard library's `is_global` and `is_private` are not used:
they also refuse the documentation networks (192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24), which some sites map
their registries to through a NAT, and their answers differ between releases.

An address that carries an IPv4 address inside (mapped, 6to4, NAT64, Teredo) is judged by what it carries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from runner.egress.values import IPAddress, Verdict
from runner.model.errors import PolicyInvalid

__all__ = ["PRIVATE_NETWORKS", "AddressJudge", "Network", "decide_address", "judge_code_host"]

Network = IPv4Network | IPv6Network

# Never opened, not even by the operator: they lead to this host, to its link or to its cloud's control.
_CLOSED: tuple[tuple[str, str, Network], ...] = tuple(
    (name, source, ip_network(text))
    for name, source, text in (
        ("unspecified", "RFC 1122 section 3.2.1.3", "0.0.0.0/8"),
        ("loopback", "RFC 1122 section 3.2.1.3", "127.0.0.0/8"),
        ("link-local", "RFC 3927; instance metadata at 169.254.169.254", "169.254.0.0/16"),
        ("protocol", "RFC 6890; Oracle's metadata at 192.0.0.192", "192.0.0.0/24"),
        ("metadata", "Azure's host channel, a public address that only its guests reach", "168.63.129.16/32"),
        ("metadata", "Alibaba's metadata, inside the CGNAT network", "100.100.100.200/32"),
        ("multicast", "RFC 5771", "224.0.0.0/4"),
        ("reserved", "RFC 1112 section 4, and broadcast, RFC 919", "240.0.0.0/4"),
        ("unspecified", "RFC 4291; the deprecated IPv4-compatible form and ::1 as well", "::/96"),
        ("local-nat64", "RFC 8215: what it carries is not known", "64:ff9b:1::/48"),
        ("link-local", "RFC 4291", "fe80::/10"),
        ("site-local", "RFC 3879, deprecated", "fec0::/10"),
        ("metadata", "AWS's metadata, inside the unique local network", "fd00:ec2::/32"),
        ("metadata", "Google's metadata, inside the unique local network", "fd20:ce::/32"),
        ("multicast", "RFC 4291", "ff00::/8"),
    )
)

# Refused unless the operator opened a network that holds the address.
_PRIVATE: tuple[tuple[str, str, Network], ...] = tuple(
    (name, source, ip_network(text))
    for name, source, text in (
        ("private", "RFC 1918", "10.0.0.0/8"),
        ("private", "RFC 1918", "172.16.0.0/12"),
        ("private", "RFC 1918", "192.168.0.0/16"),
        ("cgnat", "RFC 6598", "100.64.0.0/10"),
        ("benchmark", "RFC 2544", "198.18.0.0/15"),
        ("unique-local", "RFC 4193", "fc00::/7"),
    )
)

PRIVATE_NETWORKS: tuple[Network, ...] = tuple(network for _, _, network in _PRIVATE)
"""All that an operator can open. The closed networks that lie inside stay closed."""

_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052


def decide_address(
    address: IPAddress,
    *,
    is_own: Callable[[IPAddress], bool],
    allow_private: tuple[Network, ...] = (),
) -> Verdict:
    """Whether the address may be dialled.

    Args:
        address: from the resolver.
        is_own: whether an address is one of this host's.
        allow_private: private networks that the operator opened by name.
    """
    for each in _with_carried(address):
        name = _network_name(each, _CLOSED)
        if name is None and not _is_in(each, allow_private):
            name = _network_name(each, _PRIVATE)
        if name is not None:
            return Verdict(False, f"egress.address.{name}", f"The name leads to a {name} address.")
        if is_own(each):
            return Verdict(False, "egress.address.own", "The name leads to the runner's own host.")
    return Verdict(True, "egress.address.public")


class AddressJudge:
    """`decide_address` with this host's addresses and the operator's exceptions."""

    def __init__(self, is_own: Callable[[IPAddress], bool], allow_private: tuple[Network, ...] = ()) -> None:
        """Keep both.

        Raises:
            PolicyInvalid: an exception is not inside one of the private networks, so that it would open more.
        """
        for network in allow_private:
            if not any(_is_within(network, private) for _, _, private in _PRIVATE):
                hint = "Name a network inside 10/8, 172.16/12, 192.168/16, 100.64/10, 198.18/15 or fc00::/7."
                raise PolicyInvalid(f"{network} is not a private network that can be opened", hint=hint)
        self._is_own = is_own
        self._allow_private = allow_private

    def __call__(self, address: IPAddress) -> Verdict:
        """Whether the address may be dialled."""
        return decide_address(address, is_own=self._is_own, allow_private=self._allow_private)


def judge_code_host(address: IPAddress) -> Verdict:
    """Whether the gate may connect to this address for the code host that the operator named.

    Private networks are where companies keep their code, and this host itself may serve it. What answers for a cloud,
    and what is nobody's address, is refused: a name that leads there is a trap.
    """
    for each in _with_carried(address):
        name = _network_name(each, _CLOSED)
        if name not in (None, "loopback"):
            return Verdict(False, f"egress.address.{name}", f"The name leads to a {name} address.")
    return Verdict(True, "egress.address.codeHost")


def _with_carried(address: IPAddress) -> Iterator[IPAddress]:
    """The addresses that one stands for. A scope is dropped: networks are compared without it."""
    if isinstance(address, IPv4Address):
        yield address
        return
    plain = IPv6Address(int(address))
    if plain.ipv4_mapped is not None:
        yield plain.ipv4_mapped
        return
    yield plain
    if plain in _NAT64:
        yield IPv4Address(int(plain) & 0xFFFFFFFF)
    if plain.sixtofour is not None:
        yield plain.sixtofour
    if plain.teredo is not None:
        yield from plain.teredo


def _network_name(address: IPAddress, table: tuple[tuple[str, str, Network], ...]) -> str | None:
    if address == ip_address("::1"):
        return "loopback"
    return next((name for name, _, network in table if address in network), None)


def _is_in(address: IPAddress, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)


def _is_within(inner: Network, outer: Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)
