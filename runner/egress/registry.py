"""The operator's own registry, which may stand where no other allowed host may. Pure.

An operator who names a registry (`RUNNER_NPM_REGISTRY`) says that runs may reach this host at this port, so it may have
an address of a private network. What leads to this host itself, to its link or to a cloud's control stays refused,
since a name's owner decides where it leads: that takes the address in so many words (`RUNNER_NPM_REGISTRY_ADDRESS`).
Then the name is not looked up at all, and is at this one address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

from runner.egress.addresses import PRIVATE_NETWORKS, AddressJudge
from runner.egress.rules import DEFAULT_PORT, normalise_host
from runner.egress.values import IPAddress, Judge, Resolver, Verdict
from runner.model.errors import UsageError

__all__ = ["OpenedHost", "Roles", "host_of_registry", "operators_registry", "without_user"]


@dataclass(frozen=True, slots=True)
class OpenedHost:
    """One host at one port. `address` is where it is, None leaves that to the host's resolver."""

    host: str
    port: int
    address: IPAddress | None = None

    def judges(self, is_own: Callable[[IPAddress], bool]) -> dict[tuple[str, int], Judge]:
        """The judge of this host's addresses, and of no other's."""
        judge: Judge = AddressJudge(is_own, PRIVATE_NETWORKS) if self.address is None else self._judge_named
        return {(self.host, self.port): judge}

    def resolver(self, others: Resolver) -> Resolver:
        """`others`, but this host is where the operator says it is."""
        named = self.address
        if named is None:
            return others

        def resolve(host: str, port: int) -> Sequence[IPAddress]:
            return (named,) if (host, port) == (self.host, self.port) else others(host, port)

        return resolve

    def _judge_named(self, address: IPAddress) -> Verdict:
        if address == self.address:
            return Verdict(True, "egress.address.operator")
        return Verdict(False, "egress.address.other", "The operator named another address for this host.")


@dataclass(frozen=True, slots=True)
class Roles:
    """What the policy's network roles stand for: `host[:port]` by role. `registry` is there when the operator named it.

    `registry_url` is what npm and pnpm are told then: a repository that names none would ask the public one.
    """

    hosts: Mapping[str, str] = field(default_factory=dict)
    registry: OpenedHost | None = None
    registry_url: str | None = None


def host_of_registry(address: str) -> str:
    """`host[:port]` of a registry's address, for the policy's role `npm`."""
    return urlsplit(address).netloc.rpartition("@")[2]


def without_user(url: str) -> str:
    """The address with no user name or password in it: what is handed into a workspace holds no secret."""
    return urlunsplit(urlsplit(url)._replace(netloc=host_of_registry(url)))


def operators_registry(url: str | None, address: str | None) -> OpenedHost | None:
    """The registry that the operator's settings name, None when they name none.

    Raises:
        UsageError: a setting cannot be used as it is.
    """
    if url is None:
        if address is not None:
            raise UsageError(
                "RUNNER_NPM_REGISTRY_ADDRESS is set and RUNNER_NPM_REGISTRY is not", hint="Name the registry too."
            )
        return None
    try:
        parts = urlsplit(url)
        if parts.scheme != "https":
            raise ValueError("only https gets through")
        host, port = normalise_host(parts.hostname or ""), parts.port or DEFAULT_PORT
    except ValueError as error:
        hint = "Write https://HOST[:PORT]/ with a host's name; where it is, RUNNER_NPM_REGISTRY_ADDRESS can say."
        raise UsageError(f"RUNNER_NPM_REGISTRY cannot be used: {error}", hint=hint) from None
    return OpenedHost(host, port, None if address is None else _address(address))


def _address(text: str) -> IPAddress:
    try:
        address = ip_address(text)
    except ValueError:
        address = None
    if address is None or address.is_unspecified or address.is_multicast:
        raise UsageError("RUNNER_NPM_REGISTRY_ADDRESS is not the address of a host", hint="Write one IP address.")
    return address
