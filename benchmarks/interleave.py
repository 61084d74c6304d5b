"""Taking samples side by side: A, B, A, B, …, so that a slow moment of the machine is charged to both.

A side is called once in each round. It answers what it measured, by name: one act may be more than one figure (a start
and a removal, say).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.samples import Samples

__all__ = ["Reading", "Side", "interleave", "timed"]

Reading = Mapping[str, float]
"""Milliseconds by the name of what took them."""

Side = Callable[[], Reading]


def timed(name: str, act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> Side:
    """A side that measures the whole of `act` and calls it `name`. `clock` counts seconds."""

    def side() -> Reading:
        started = clock()
        act()
        return {name: (clock() - started) * 1000}

    return side


def interleave(sides: Sequence[Side], rounds: int, *, warm_up: int) -> dict[str, Samples]:
    """The samples of `rounds` rounds, by name; `warm_up` rounds before them ran and count nowhere.

    Raises:
        ValueError: when two sides measure under one name, or one leaves a name out in some round.
    """
    found: dict[str, list[float]] = {}
    for number in range(warm_up + rounds):
        readings = [side() for side in sides]
        if number < warm_up:
            continue
        for reading in readings:
            for name, milliseconds in reading.items():
                found.setdefault(name, []).append(milliseconds)
    if any(len(values) != rounds for values in found.values()):
        raise ValueError("every side must measure under names of its own, and under all of them in every round")
    return {name: Samples(values) for name, values in found.items()}
