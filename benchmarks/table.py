"""From measured series to rows, and from rows to JSON and Markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.goals import TIMES, Bound, Goal
from benchmarks.samples import Samples

__all__ = ["Measured", "Row", "markdown", "rows"]

Measured = Mapping[str, Mapping[str, Samples]]
"""Series by the name of the measure and their own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One goal and what was measured for it."""

    goal: Goal
    ours: Samples
    other: Samples | None

    @property
    def met(self) -> bool:
        """Whether the medians reach the goal."""
        return self.goal.met(self.ours.median, self._other_ms)

    @property
    def ratio(self) -> float:
        """Of the medians, in the goal's own direction."""
        return self.goal.ratio(self.ours.median, self._other_ms)

    @property
    def difference_ms(self) -> float | None:
        """How much longer ours takes; None where nothing else was measured."""
        return None if self.other is None else self.ours.median - self.other.median

    @property
    def _other_ms(self) -> float | None:
        return None if self.other is None else self.other.median

    def as_json(self) -> dict[str, Any]:
        """The row as build/bench.json has it."""
        return {
            "figure": self.goal.figure,
            "against": self.goal.against,
            "goal": self.goal.words,
            "ratio": round(self.ratio, 3),
            "difference_ms": None if self.difference_ms is None else round(self.difference_ms, 3),
            "met": None if self.goal.bound is Bound.TOLD else self.met,
            "ours": self.ours.as_json(),
            "other": None if self.other is None else self.other.as_json(),
            "how": self.goal.how,
        }


def rows(goals: Sequence[Goal], measured: Measured) -> list[Row]:
    """A row for each goal, in their order. Raises KeyError when a series is missing: no goal is left out silently."""
    found: list[Row] = []
    for goal in goals:
        series = measured[goal.measure]
        found.append(Row(goal, series[goal.ours], None if goal.other is None else series[goal.other]))
    return found


def markdown(report: Mapping[str, Any], found: Sequence[Row]) -> str:
    """The table, where it was made, and what each line compares."""
    facts = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    changed = " with changes that are not committed" if report["modified"] else ""
    lines = [
        f"Commit {report['commit']}{changed}. {facts}.",
        "",
        "| # | figure | ours, ms (p95) | against | theirs, ms (p95) | goal | measured | met | samples |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_line(number, row) for number, row in enumerate(found, start=1)),
        "",
        "Medians of samples taken in turn (A, B, A, B, …) in one run; nothing is left out but the first rounds.",
        "In turn with a `docker exec`, a call meets processes that have slept for 50 ms, as an agent's calls do; in a",
        "burst of calls it is faster.",
        "",
        *(f"Not measured: {name}. {why}" for name, why in report.get("failed", {}).items()),
        *(f"{number}. {row.goal.how}" for number, row in enumerate(found, start=1)),
    ]
    return "\n".join(lines) + "\n"


def _line(number: int, row: Row) -> str:
    cells = (
        str(number),
        row.goal.figure,
        _series(row.ours),
        row.goal.against,
        _series(row.other),
        row.goal.words,
        _measured(row),
        "-" if row.goal.bound is Bound.TOLD else "yes" if row.met else "**no**",
        str(len(row.ours.values)),
    )
    return f"| {' | '.join(cells)} |"


def _series(samples: Samples | None) -> str:
    if samples is None:
        return "-"
    return f"{_short(samples.median)} ({_short(samples.p95)})"


def _measured(row: Row) -> str:
    if row.goal.bound is Bound.ADDED and row.difference_ms is not None:
        return f"{row.difference_ms:+.2f} ms"
    return f"{_short(row.ratio)}{TIMES}"


def _short(value: float) -> str:
    """About three digits: more would pretend to a precision that no shared machine has."""
    return (
        f"{value:.0f}"
        if value >= 100
        else f"{value:.1f}"
        if value >= 10
        else f"{value:.2f}"
        if value >= 0.1
        else f"{value:.2g}"
    )
