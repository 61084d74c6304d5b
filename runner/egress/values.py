"""The values and ports of the egress proxy: addresses, verdicts, limits, audit events, and what is injected."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

__all__ = [
    "AuditSink",
    "Dialer",
    "EgressDialled",
    "EgressEvent",
    "EgressLimits",
    "EgressOpened",
    "EgressTold",
    "IPAddress",
    "Judge",
    "Pinned",
    "Resolver",
    "Verdict",
]

IPAddress = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Verdict:
    """Allowed or refused, by which rule; `reason` is one line in our words that never repeats the client's."""

    allowed: bool
    rule: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pinned:
    """The one target of a relay that is no forward proxy: every connection goes there, whatever the client says.

    With `by_connect` the client is an HTTP one that asks for the target first, and for nothing else. What is carried is
    not looked into: the target is the operator's, and the client is ours.
    """

    host: str
    port: int
    by_connect: bool

    @property
    def authority(self) -> str:
        """As an HTTP client writes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class EgressLimits:
    """Bounds of one run's traffic. All bytes count both directions together, without TLS taken off."""

    connections: int = 64  # at a time; the relay holds the same number, so more of them is a relay that lies
    connections_total: int = 20_000  # per run; some installs fetch thousands of packages, one connection each
    connection_bytes: int = 2 * 1024**3
    run_bytes: int = 8 * 1024**3
    handshake_seconds: float = 20.0  # from the connection's start to a judged ClientHello: DNS and dial included
    idle_seconds: float = 60.0
    connection_seconds: float = 1800.0


@dataclass(frozen=True, slots=True)
class EgressOpened:
    """An allowed connection is about to be made: told before its name is looked up, which is the first that leaves."""

    connection: int
    host: str
    port: int
    rule: str


@dataclass(frozen=True, slots=True)
class EgressDialled:
    """The address that its name led to was judged, and is about to be connected to."""

    connection: int
    address: str


@dataclass(frozen=True, slots=True)
class EgressEvent:
    """One connection, told once: when it was refused, which is before the client hears of it, or when it ended.

    `host` and `port` are what the client asked for and `host` is untrusted text, escaped to printable ASCII and cut at
    255 characters; it is empty when no request was read. `address` is the one that was dialled, or empty. `rule` is
    the rule that allowed or refused; `ended_by` says what ended an allowed connection: `closed`, or the id of the rule
    or limit that cut it.
    """

    connection: int
    host: str
    port: int
    address: str
    allowed: bool
    rule: str
    ended_by: str
    bytes_up: int
    bytes_down: int
    milliseconds: float


EgressTold = EgressOpened | EgressDialled | EgressEvent

AuditSink = Callable[[EgressTold], None]
"""Called from the proxy's thread. When it raises, the proxy ends: no audit, no network."""

Resolver = Callable[[str, int], Sequence[IPAddress]]
"""The addresses of a host name, best first. May block; runs in a worker thread. Raises OSError when there are none."""

Dialer = Callable[[IPAddress, int], socket.socket]
"""A non-blocking socket on which the connect was begun. Raises OSError when that is not possible."""

Judge = Callable[[IPAddress], Verdict]
"""Whether an address may be dialled."""
