"""From measured series to rows, in the shape of build/bench.json. Pure; `benchmarks.page` makes Markdown of them.

A row always has figure, against, goal, ratio and met. Ratio and met are null where nothing could be measured, and
`not_measured` says why; met is null as well where a figure is told without a goal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.goals import Bound, Goal
from benchmarks.growth import Growth, GrowthRow
from benchmarks.samples import NotMeasured, Samples, Series

__all__ = ["Measured", "Row", "growth_rows", "rows"]

Measured = Mapping[str, Mapping[str, Series] | NotMeasured]
"""Series by the name of the measure and their own; or why a whole measure has none."""

_ABSENT = NotMeasured("Nothing in this tree measures it yet.")
_PART = "phase "
"""How a series is called that is a part of what its measure measures: a phase of a run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One goal and what was measured for it. `parts` are medians of what ours consists of."""

    goal: Goal
    ours: Series
    other: Series | None
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def why_not(self) -> str | None:
        """Why there is no ratio; None: there is one."""
        for series in (self.ours, self.other):
            if isinstance(series, NotMeasured):
                return series.why
        return None

    def as_json(self) -> dict[str, Any]:
        """The row as build/bench.json has it."""
        told = {"figure": self.goal.figure, "against": self.goal.against, "goal": self.goal.words}
        sides = {"unit": self.goal.unit, "ours": _json(self.ours), "other": _json(self.other), "how": self.goal.how}
        if self.parts:
            sides["parts"] = {name: round(median, 3) for name, median in self.parts.items()}
        if isinstance(self.ours, Samples) and not isinstance(self.other, NotMeasured):
            return {
                **told,
                **self._compared(self.ours.median, None if self.other is None else self.other.median),
                **sides,
            }
        return {**told, "ratio": None, "met": None, "not_measured": self.why_not, **sides}

    def _compared(self, ours: float, other: float | None) -> dict[str, Any]:
        return {
            "ratio": round(self.goal.ratio(ours, other), 3),
            "met": None if self.goal.bound is Bound.TOLD else self.goal.met(ours, other),
            "difference": None if other is None else round(ours - other, 3),
        }


def rows(goals: Sequence[Goal], measured: Measured) -> list[Row]:
    """A row for each goal, in their order. Raises KeyError when a series is missing: no goal is left out silently."""
    return [_row(goal, measured.get(goal.measure, _ABSENT)) for goal in goals]


def _row(goal: Goal, series: Mapping[str, Series] | NotMeasured) -> Row:
    if isinstance(series, NotMeasured):
        return Row(goal, series, None if goal.other is None else series)
    other = None if goal.other is None else series[goal.other]
    return Row(goal, series[goal.ours], other, _parts(goal, series))


def _parts(goal: Goal, series: Mapping[str, Series]) -> dict[str, float]:
    """The phases of a measure, and the cases that ours is the mean of."""
    found = {}
    for name, samples in series.items():
        if isinstance(samples, Samples) and name.startswith((_PART, f"{goal.ours}: ")):
            found[name.removeprefix(_PART).removeprefix(f"{goal.ours}: ")] = samples.median
    return found


def growth_rows(growths: Sequence[Growth], measured: Measured, *, quick: bool) -> list[GrowthRow]:
    """A row for each growth, in their order. Raises KeyError when a size is missing."""
    found = []
    for growth in growths:
        series = measured.get(growth.measure, _ABSENT)
        sizes = growth.quick_sizes if quick else growth.sizes
        if isinstance(series, NotMeasured):
            found.append(GrowthRow(growth, series))
        else:
            found.append(GrowthRow.of(growth, sizes, series))
    return found


def _json(series: Series | None) -> dict[str, Any] | None:
    return series.as_json() if isinstance(series, Samples) else None
