"""A Unix socket in front of the engine's own, at which a fault happens when the controller says a certain thing.

The controller's words are seen as bytes, requests and frames to the helpers alike. At the wanted one the proxy holds
it, lets the fault happen, and goes on as the fault says. So a fault falls into a step and not somewhere near it,
without a clock.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

__all__ = ["ENGINE", "After", "FaultProxy", "Moment"]

_TAIL_BYTES = 200  # more than any moment's words have, so that no cut between two reads hides them
ENGINE = "/var/run/docker.sock"


class After(Enum):
    """How the engine answers once the fault has happened."""

    GO_ON = "as if nothing were"
    RESET = "every connection is cut, new ones are served"
    GONE = "every connection is cut, new ones too"
    HANG = "every connection stays, and nothing comes any more"


@dataclass(frozen=True)
class Moment:
    """When the controller says `words` for the `nth` time."""

    words: bytes
    nth: int = 1


class FaultProxy:
    """Listens at `path`. At the moment it calls `fault`, once, in a thread of its own, and does what that answers."""

    def __init__(self, path: Path, moment: Moment, fault: Callable[[], After], engine: str = ENGINE) -> None:
        self._engine = engine
        self._moment = moment
        self._fault = fault
        self._seen = 0
        self._lock = threading.Lock()
        self._after = After.GO_ON
        self._open: list[socket.socket] = []
        self.happened = threading.Event()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Nothing listens or flows any more."""
        self._cut(self._server, *self._open)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                if self._after is After.GONE:
                    self._cut(client)
                    continue
                engine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                if engine.connect_ex(self._engine):  # it is down
                    self._cut(client, engine)
                    continue
                self._open += [client, engine]
                threading.Thread(target=self._pass, args=(client, engine, True), daemon=True).start()
                threading.Thread(target=self._pass, args=(engine, client, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, from_controller: bool) -> None:
        tail = b""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if from_controller:
                    tail = self._watch(tail, data)
                if self._after is After.HANG:
                    continue  # read and dropped: whoever waits for an answer waits
                target.sendall(data)
            if self._after is not After.HANG:
                target.shutdown(socket.SHUT_WR)

    def _watch(self, tail: bytes, data: bytes) -> bytes:
        """Counts the moment's words; at the wanted time the fault happens before the words go on."""
        heard = tail + data
        words = self._moment.words
        with self._lock:
            before, self._seen = self._seen, self._seen + heard.count(words) - tail.count(words)
            now = before < self._moment.nth <= self._seen
        if now:
            self._after = self._fault()
            if self._after in (After.RESET, After.GONE):
                self._cut(*self._open)
            self.happened.set()
        return heard[-_TAIL_BYTES:]

    def _cut(self, *sockets: socket.socket) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
