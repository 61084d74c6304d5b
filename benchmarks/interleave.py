"""Taking samples side by side: A, B, A, B, …, so that a slow moment of the machine is charged to both.

A side is called once in each round. It answers what it measured, by name: one act may be more than one figure (a start
and a removal, say).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from benchmarks.samples import Samples

__all__ = ["LEAST_ROUNDS", "Reading", "Side", "interleave", "timed", "within"]

Reading = Mapping[str, float]
"""Milliseconds by the name of what took them."""

Side = Callable[[], Reading]

LEAST_ROUNDS = 3
"""Of a measure whose time is up: fewer would make a median of one value."""

# Not an argument: each measure would have to hand it on, and one that forgets it would make a quick bench a long one.
_SECONDS: ContextVar[float | None] = ContextVar("seconds", default=None)


def timed(name: str, act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> Side:
    """A side that measures the whole of `act` and calls it `name`. `clock` counts seconds."""

    def side() -> Reading:
        started = clock()
        act()
        return {name: (clock() - started) * 1000}

    return side


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Inside, rounds end early once they have taken so long; None: they don't."""
    token = _SECONDS.set(seconds)
    try:
        yield
    finally:
        _SECONDS.reset(token)


def interleave(
    sides: Sequence[Side], rounds: int, *, warm_up: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Samples]:
    """The samples of `rounds` rounds, by name; `warm_up` rounds before them ran and count nowhere.

    There are fewer rounds when the time of `within` is up, but never fewer than `LEAST_ROUNDS`, or than asked for.

    Raises:
        ValueError: when two sides measure under one name, or one leaves a name out in some round.
    """
    seconds, started = _SECONDS.get(), clock()
    for _ in range(warm_up):
        for side in sides:
            side()
        if _is_over(seconds, clock() - started):
            break
    found: dict[str, list[float]] = {}
    taken = 0
    while taken < rounds and not (taken >= LEAST_ROUNDS and _is_over(seconds, clock() - started)):
        for reading in [side() for side in sides]:
            for name, milliseconds in reading.items():
                found.setdefault(name, []).append(milliseconds)
        taken += 1
    if any(len(values) != taken for values in found.values()):
        raise ValueError("every side must measure under names of its own, and under all of them in every round")
    return {name: Samples(values) for name, values in found.items()}


def _is_over(seconds: float | None, spent: float) -> bool:
    return seconds is not None and spent >= seconds
