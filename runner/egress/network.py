"""The real network: the host's resolver, a connect that is begun, and which addresses are this host's own."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import closing
from ipaddress import ip_address

from runner.egress.values import IPAddress

__all__ = ["begin_connect", "is_own_address", "resolve"]


def resolve(host: str, port: int) -> Sequence[IPAddress]:
    """The addresses that the host's resolver gives, each once, in its order (RFC 6724: reachable ones first).

    Raises:
        OSError: the name has no address, or the resolver failed.
    """
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return tuple(dict.fromkeys(ip_address(answer[4][0]) for answer in answers))


def begin_connect(address: IPAddress, port: int) -> socket.socket:
    """A non-blocking socket that connects to exactly this address; writable when it has, or has failed.

    Raises:
        OSError: the connect could not be begun.
    """
    connection = socket.socket(_family(address), socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection.connect((str(address), port))
        except BlockingIOError:
            pass
    except OSError:
        connection.close()
        raise
    return connection


def is_own_address(address: IPAddress) -> bool:
    """Whether the address belongs to an interface of this host, at this moment.

    The kernel lets a socket be bound to exactly those. This needs no list of interfaces, which would be stale when an
    engine adds a bridge. On a host with `ip_nonlocal_bind` every address counts as its own, and so is refused.
    """
    with closing(socket.socket(_family(address), socket.SOCK_DGRAM)) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
        return True


def _family(address: IPAddress) -> socket.AddressFamily:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6
