"""From stacks that a sampler saw to a list of where the time goes. Pure.

A line is `frame;frame;…;frame COUNT`, outermost first, a frame is `function (file:line)`: what py-spy calls raw.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Spent", "summary", "table"]

_PLACE = re.compile(r"^(?P<function>.*) \((?P<file>.*?)(?::\d+)?\)$")
_OURS = re.compile(r"\((?:.*/)?runner/")
_ROUNDS = "interleave (benchmarks/interleave.py)"
_MOST = 40


@dataclass(frozen=True, slots=True)
class Spent:
    """Samples in which a function was at work: itself, and with all that it called."""

    function: str
    own: int
    total: int


def summary(lines: Iterable[str]) -> tuple[int, list[Spent]]:
    """How many samples of the rounds passed through the product, and what they were spent in; the most total first.

    Imports and what a measure prepares are no part of its rounds. What a round does beside the product (the engine's
    own exec, the host's git) passes through no module of ours. Both are left out. Waiting counts: most of what a call
    takes is waiting for somebody.
    """
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    seen = 0
    for line in lines:
        stack, _, count = line.rstrip("\n").rpartition(" ")
        frames = [_named(frame) for frame in stack.split(";")]
        first = _first_of_ours(frames)
        if first is None or not count.isdigit():
            continue
        seen += int(count)
        own[frames[-1]] += int(count)
        total.update(dict.fromkeys(frames[first:], int(count)))
    spent = [Spent(function, own[function], samples) for function, samples in total.items()]
    return seen, sorted(spent, key=lambda one: (-one.total, -one.own, one.function))


def table(seen: int, spent: list[Spent], most: int = _MOST) -> str:
    """Shares in percent, own and total, the most total first; then the most own."""
    lines = [f"{seen} samples of the rounds passed through the product. Shares in %.", "", "  total    own  function"]
    lines += [_line(one, seen) for one in spent[:most]]
    lines += ["", "    own  function"]
    by_own = sorted(spent, key=lambda one: (-one.own, one.function))
    lines += [f"{100 * one.own / seen:7.1f}  {one.function}" for one in by_own[:most] if one.own]
    return "\n".join(lines) + "\n"


def _line(one: Spent, seen: int) -> str:
    return f"{100 * one.total / seen:7.1f}{100 * one.own / seen:7.1f}  {one.function}"


def _first_of_ours(frames: list[str]) -> int | None:
    """Where the product begins, inside a round; None where it doesn't."""
    if _ROUNDS not in frames:
        return None
    start = frames.index(_ROUNDS)
    return next((place for place in range(start, len(frames)) if _OURS.search(frames[place])), None)


def _named(frame: str) -> str:
    """The frame without its line number: a function is one entry, wherever in it the time went."""
    found = _PLACE.match(frame)
    return frame if found is None else f"{found['function']} ({found['file']})"
