"""Two things at once: what is slow is done in a thread of its own while the run goes on with something else.

Starting and removing a container is waiting for the engine. A run has two containers, so it waits for both together.
Ctrl-C reaches only the run's own thread, at any moment, more than once. What was begun aside is therefore never left
to itself: a container that nobody waits for any more is removed by the thread that started it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from runner.engine.contract import Engine, Sandbox, SandboxSpec
from runner.model.errors import RunnerError

__all__ = ["Aside", "Leaving", "Removable", "Starting", "remove_all"]

_LOOK_SECONDS = 1.0  # how often a wait looks whether the thread lives at all; its end is told at once
_T = TypeVar("_T")


class Removable(Protocol):
    """What can be taken away, also more than once."""

    def remove(self) -> None:
        """It is gone. Raises EngineUnavailable when that cannot be proved."""
        ...


class Aside(Generic[_T]):
    """`act` in a thread of its own, from `begin` on."""

    def __init__(self, act: Callable[[], _T]) -> None:
        self._act = act
        self._answers: list[_T] = []
        self._failure: Exception | None = None
        # Not the thread's `join`: interrupted once, that says of a living thread that it has ended (Python 3.11).
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="aside")

    def begin(self) -> None:
        """It is being done."""
        self._thread.start()

    def settle(self) -> None:
        """It is no longer being done, or never was."""
        while self._thread.is_alive() and not self._over.wait(_LOOK_SECONDS):
            pass

    def answer(self) -> _T:
        """What it gave, waited for; what it raised is raised."""
        self.settle()
        if self._failure is not None:
            raise self._failure
        return self._answers[0]

    def _run(self) -> None:
        try:
            self._answers.append(self._act())
        except Exception as error:  # of whatever kind, it is raised where it is waited for
            self._failure = error
        finally:
            self._over.set()


class Starting:
    """A sandbox on its way."""

    def __init__(self, engine: Engine, spec: SandboxSpec) -> None:
        self._engine = engine
        self._spec = spec
        self._given_up = False
        self._started: Sandbox | None = None
        self._aside = Aside(self._start)

    def begin(self) -> None:
        """It is being started."""
        self._aside.begin()

    def sandbox(self) -> Sandbox:
        """It, once it is up.

        Raises:
            EngineUnavailable, SandboxLost: as `Engine.start` does.
        """
        return self._aside.answer()

    def remove(self) -> None:
        """It is gone, verified, or was never there. Idempotent, and may be interrupted and asked for again.

        Raises:
            EngineUnavailable: when that cannot be proved.
        """
        self._given_up = True
        self._aside.settle()
        if self._started is not None:
            self._started.remove()

    def _start(self) -> Sandbox:
        self._started = started = self._engine.start(self._spec)
        if self._given_up:  # and perhaps nobody waits for this thread any more
            with suppress(RunnerError):
                started.remove()
        return started


class Leaving:
    """Things on their way out, from `begin` on."""

    def __init__(self, things: Sequence[Removable]) -> None:
        self._things = things
        self._aside = Aside(self._try)
        self._gone = False
        self._failure: RunnerError | None = None

    def begin(self) -> None:
        """They are being removed."""
        self._aside.begin()

    def remove(self) -> None:
        """They are gone, verified. Idempotent, and may be interrupted and asked for again.

        Raises:
            EngineUnavailable: when that cannot be proved of one.
        """
        self._aside.settle()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if not self._gone:  # it has failed before, or an interrupt came before it began
            remove_all(self._things)
            self._gone = True

    def _try(self) -> None:
        try:
            remove_all(self._things)
            self._gone = True
        except RunnerError as error:
            self._failure = error


def remove_all(things: Sequence[Removable]) -> None:
    """All of them are gone, verified, removed side by side.

    Raises:
        EngineUnavailable: when that cannot be proved of one; it was tried with each.
    """
    removals = [Aside(thing.remove) for thing in things]
    for removal in removals:
        removal.begin()
    for removal in removals:
        removal.settle()
    for removal in removals:
        removal.answer()
