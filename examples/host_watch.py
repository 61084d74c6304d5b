"""The host's side of the attempts to reach it: an open port that counts who comes, and the host's own addresses."""

from __future__ import annotations

import fcntl
import socket
import struct
import threading
from types import TracebackType

__all__ = ["HostWatch", "host_addresses"]

_SIOCGIFADDR = 0x8915  # linux/sockios.h: an interface's IPv4 address
_POLL_SECONDS = 0.1


def host_addresses() -> tuple[str, ...]:
    """The IPv4 addresses of this host's interfaces, loopback left out; the engine's bridge is one of them."""
    found: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                said = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # an interface without an IPv4 address
            address = socket.inet_ntoa(said[20:24])
            if not address.startswith("127."):
                found.append(address)
    return tuple(found)


class HostWatch:
    """A port on all of the host's addresses, open while the block runs. `contacts` is how many connections came."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("0.0.0.0", 0))  # noqa: S104 - what a neighbour in the network would see
        self._socket.settimeout(_POLL_SECONDS)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._count, name="host-watch", daemon=True)
        self._seen = threading.Semaphore(0)
        self.port: int = self._socket.getsockname()[1]
        self.contacts = 0

    def __enter__(self) -> HostWatch:
        self._thread.start()
        self._prove()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def wait_for_contact(self, *, seconds: float) -> bool:
        """Whether one more connection was counted within that time."""
        return self._seen.acquire(timeout=seconds)

    def _prove(self) -> None:
        """A watch that would not notice anybody proves nothing: one connection of our own is seen, then forgotten."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5):
            if not self.wait_for_contact(seconds=5):
                raise RuntimeError("the host's own watch sees nothing")
        self.contacts = 0

    def _count(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                continue
            connection.close()
            self.contacts += 1
            self._seen.release()
