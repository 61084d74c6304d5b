"""The pool: runs that may come, ready for the ones that do. Each is handed over once, and never comes back.

A process that lives long has one (`runner.app`), a single command has none. A thread fills it in the background, with
a bound on how many starts go on at once; a run never waits for it. What is too old is renewed, so that the container's
own deadline covers the run that gets it. `close` takes everything down; what it is kept from is the sweep's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from runner.controller.aside import Aside
from runner.controller.demand import Demand, Shape
from runner.controller.warm import WarmRun
from runner.model.errors import RunnerError

__all__ = ["DEFAULT_MOST", "Pool"]

DEFAULT_MOST = 8
"""How many runs a process keeps warm at most, where the operator says nothing."""


_RETRY_SECONDS = 60.0  # after a start that failed; a run that begins makes it try at once
_RENEW_SECONDS = 30.0  # before it could not be handed over any more


@dataclass(frozen=True, slots=True)
class _Held:
    warm: WarmRun
    until: float  # by the pool's clock; not handed over later


class Pool:
    """What waits, and who fills it.

    `warm_up` makes one; `idle_seconds` is how long one may wait; `at_once` bounds the starts that go on together.
    `clock` goes on while the machine sleeps, as the containers' deadlines do; `unix` is the clock of their labels.
    """

    def __init__(
        self,
        warm_up: Callable[[Shape], WarmRun],
        *,
        most: int,
        at_once: int,
        idle_seconds: float,
        clean_up_seconds: float,
        clock: Callable[[], float],
        unix: Callable[[], float],
    ) -> None:
        self._warm_up = warm_up
        self._demand = Demand(most)
        self._at_once = at_once
        self._idle_seconds = idle_seconds
        self._clean_up_seconds = clean_up_seconds
        self._clock = clock
        self._unix = unix
        self._lock = threading.Lock()
        self._rounds = threading.Lock()  # one at a time: what is being started is not missing
        self._held: list[_Held] = []
        self._handed: list[_Held] = []
        self._closing = False
        self._filling: Aside[None] | None = None
        self._wake = threading.Event()
        self.trouble = ""

    def expect(self, shape: Shape, size: int) -> None:
        """Runs of this shape will come: `size` are wanted from the next `fill` or `round` on, as if two had come."""
        with self._lock:
            for _ in range(2):
                self._demand.ask(shape, size)

    def take(self, shape: Shape, size: int) -> WarmRun | None:
        """One that fits, best with the room that it needs; None when there is none. The taker has to `own` it."""
        with self._lock:
            self._demand.ask(shape, size)
            now, unix = self._clock(), self._unix()
            for fitting in (shape, shape.anywhere):
                for held in self._held:
                    if held.warm.shape == fitting and self._covers(held, now, unix):
                        self._handed.append(held)  # first: an interrupt may come at any moment
                        self._held.remove(held)
                        return held.warm
        return None

    def reserved(self, run_id: str) -> WarmRun | None:
        """The one of that name that was taken and is not owned yet; None: there is none, or it was too old and went."""
        with self._lock:
            held = next((held for held in self._handed if held.warm.record.run_id == run_id), None)
            if held is None or self._covers(held, self._clock(), self._unix()):
                return None if held is None else held.warm
            self._handed.remove(held)
        held.warm.discard()
        return None

    def unreserve(self, run_id: str) -> None:
        """The one of that name, if it was taken and is not owned, waits for another run again."""
        with self._lock:
            given_back = [held for held in self._handed if held.warm.record.run_id == run_id]
            self._handed = [held for held in self._handed if held not in given_back]
            if not self._closing:
                self._held += given_back
                given_back = []
        self._discard([held.warm for held in given_back])

    def own(self, warm: WarmRun) -> None:
        """The run sees to it from here on."""
        with self._lock:
            self._handed = [held for held in self._handed if held.warm is not warm]

    def fill(self) -> None:
        """What is wanted is being started, in the background. Not while a run starts, which it would slow down."""
        with self._lock:
            if self._closing:
                return
            if self._filling is None:
                self._filling = Aside(self._keep_filled)
                self._filling.begin()
        self._wake.set()

    def round(self) -> bool:
        """What is wanted is there, and nothing else is; False when a start failed. For the pool's own thread."""
        with self._rounds:
            self._discard(self._unwanted())
            while missing := self._missing()[: self._at_once]:
                makings = [Aside(partial(self._make, shape)) for shape in missing]
                for making in makings:
                    making.begin()
                for making in makings:
                    making.settle()
                if not all(making.answer() for making in makings):
                    return False
        return True

    def close(self) -> None:
        """Nothing waits any more, and no thread is left. What the engine does not give up now, the sweep takes."""
        with self._lock:
            self._closing = True
        self._wake.set()
        if self._filling is not None:
            self._filling.settle()
        with self._lock:
            left = [held.warm for held in (*self._held, *self._handed)]
            self._held, self._handed = [], []
        self._discard(left)

    def _keep_filled(self) -> None:
        while not self._closing:
            wait = self._next_seconds() if self.round() else _RETRY_SECONDS
            self._wake.wait(wait)
            self._wake.clear()

    def _next_seconds(self) -> float | None:
        """Until the first one has to be renewed."""
        with self._lock:
            if not self._held:
                return None
            return max(1.0, min(held.until for held in self._held) - _RENEW_SECONDS - self._clock())

    def _covers(self, held: _Held, now: float, unix: float) -> bool:
        """Whether its deadlines, the container's own and the labels', are late enough for a run that begins now."""
        latest = held.warm.deadline_unix - held.warm.shape.limits.run_seconds - self._clean_up_seconds
        return now <= held.until and unix <= latest

    def _unwanted(self) -> list[WarmRun]:
        """What is too old, no longer asked for, or set aside and never claimed; it is out of the pool."""
        with self._lock:
            wanted, now, unix = self._demand.wanted(), self._clock() + _RENEW_SECONDS, self._unix() + _RENEW_SECONDS
            kept: list[_Held] = []
            for held in self._held:
                if wanted[held.warm.shape] > 0 and self._covers(held, now, unix):
                    wanted[held.warm.shape] -= 1
                    kept.append(held)
            set_aside = [held for held in self._handed if self._covers(held, self._clock(), self._unix())]
            gone = [held.warm for held in (*self._held, *self._handed) if held not in kept and held not in set_aside]
            self._held, self._handed = kept, set_aside
        return gone

    def _missing(self) -> list[Shape]:
        with self._lock:
            if self._closing:
                return []
            wanted = self._demand.wanted()
            wanted.subtract(held.warm.shape for held in self._held)
        return list(wanted.elements())

    def _make(self, shape: Shape) -> bool:
        """One more waits, unless the pool is closing; False when it could not be started, and `trouble` says why."""
        until = self._clock() + self._idle_seconds
        try:
            warm = self._warm_up(shape)
        except Exception as error:  # the outermost frame of the pool's thread: it must live on, and runs start cold
            self.trouble = error.message if isinstance(error, RunnerError) else f"{type(error).__name__}: {error}"
            return False
        self.trouble = ""
        with self._lock:
            if not self._closing:
                self._held.append(_Held(warm, until))
                return True
        warm.discard()
        return True

    def _discard(self, gone: Sequence[WarmRun]) -> None:
        discards = [Aside(warm.discard) for warm in gone]
        for discard in discards:
            discard.begin()
        for discard in discards:
            discard.settle()
