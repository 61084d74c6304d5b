"""Name resolution in worker threads, because it blocks and cannot be cancelled.

Connections that want the same name at the same time share one look-up, and for a short time those that come after do
too: an installer opens dozens of connections to one host at once, and resolvers drop such bursts and answer seconds
later. The workers are daemons and are not waited for: a resolver that hangs delays neither the end of the proxy nor of
the process.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from runner.egress.values import IPAddress, Resolver

__all__ = ["Answer", "ResolverPool"]

_WORKERS = 8
_KEEP_SECONDS = 30.0  # the resolver does not tell how long an answer holds; records of moving hosts have 30 s and more
_KEEP_NAMES = 256  # a wildcard entry lets the workspace make names up

_Question = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a look-up gave for a connection; no addresses when it failed."""

    connection: int
    addresses: tuple[IPAddress, ...]


class ResolverPool:
    """Looks names up in the background. `ask` and `answers` belong to one thread."""

    def __init__(self, resolver: Resolver, wake: Callable[[], None], clock: Callable[[], float]) -> None:
        self._resolver = resolver
        self._wake = wake
        self._clock = clock
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[tuple[_Question, tuple[IPAddress, ...]]] = queue.SimpleQueue()
        self._waiting: dict[_Question, list[int]] = {}
        self._kept: dict[_Question, tuple[float, tuple[IPAddress, ...]]] = {}
        self._ready: list[Answer] = []

    def start(self) -> None:
        """The workers run."""
        for number in range(_WORKERS):
            threading.Thread(target=self._work, name=f"egress-resolve-{number}", daemon=True).start()

    def ask(self, connection: int, host: str, port: int) -> None:
        """The answer for `connection` will be among `answers`."""
        question = (host, port)
        until, addresses = self._kept.get(question, (0.0, ()))
        if addresses and self._clock() < until:
            self._ready.append(Answer(connection, addresses))
            self._wake()
        elif question in self._waiting:
            self._waiting[question].append(connection)
        else:
            self._waiting[question] = [connection]
            self._questions.put(question)

    def answers(self) -> list[Answer]:
        """The answers that came since the last call."""
        while not self._found.empty():
            question, addresses = self._found.get()
            if addresses:
                self._keep(question, addresses)
            self._ready += [Answer(connection, addresses) for connection in self._waiting.pop(question)]
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        """Each worker ends after what it is doing."""
        for _ in range(_WORKERS):
            self._questions.put(None)

    def _keep(self, question: _Question, addresses: tuple[IPAddress, ...]) -> None:
        if len(self._kept) >= _KEEP_NAMES:
            self._kept.clear()
        self._kept[question] = (self._clock() + _KEEP_SECONDS, addresses)

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            try:
                addresses = tuple(self._resolver(*question))
            except Exception:  # outermost frame of the thread: no answer is a refusal
                addresses = ()
            self._found.put((question, addresses))
            self._wake()
