"""Whether a cost grows no faster than the work: figures at several sizes, and the slope that they lie on. Pure.

On logarithmic scales a cost that is proportional to the work lies on a line of slope 1, a quadratic one on a line of
slope 2; a fixed part (a start, a round trip) makes the slope smaller where the work is small. So two slopes are looked
at, and the worse one is judged: the line of best fit through all sizes, and the step between the two largest, where
fixed parts hide least.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.samples import NotMeasured, Samples, Series

__all__ = ["LINEAR", "Growth", "GrowthRow", "series_name", "slope"]

LINEAR = 1.1
"""The largest slope that still counts as linear: 1, and what two noisy medians at sizes 5 times apart may add."""


@dataclass(frozen=True, slots=True)
class Growth:
    """One line of the table of growth. The measure gives a series `NAME SIZE` for each size.

    `sizes` rise by at least a factor of 2; `quick_sizes` are those of a quick bench. `unit` is what a size counts.
    """

    figure: str
    unit: str
    measure: str
    name: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    how: str

    def __post_init__(self) -> None:
        for sizes in (self.sizes, self.quick_sizes):
            if len(sizes) < 3 or any(after < 2 * before for before, after in pairwise(sizes)):
                raise ValueError("growth is seen over at least three sizes, each at least twice the one before")


@dataclass(frozen=True, slots=True)
class GrowthRow:
    """What was measured for a growth, by size in rising order; or why it was not."""

    growth: Growth
    found: Mapping[int, Samples] | NotMeasured

    @classmethod
    def of(cls, growth: Growth, sizes: Sequence[int], series: Mapping[str, Series]) -> GrowthRow:
        """The row. Raises KeyError when a size is missing: none is left out silently."""
        found: dict[int, Samples] = {}
        for size in sizes:
            samples = series[series_name(growth.name, size)]
            if isinstance(samples, NotMeasured):
                return cls(growth, samples)
            found[size] = samples
        return cls(growth, found)

    def as_json(self) -> dict[str, Any]:
        """The row as build/bench.json has it; its ratio is the slope that is judged."""
        told = {
            "figure": self.growth.figure,
            "against": f"its own cost with fewer {self.growth.unit}",
            "goal": f"linear or better (slope ≤ {LINEAR:g})",
            "how": self.growth.how,
        }
        if isinstance(self.found, NotMeasured):
            return {**told, "ratio": None, "met": None, "not_measured": self.found.why, "points": []}
        medians = {size: samples.median for size, samples in self.found.items()}
        judged = slope(medians)
        points = [{"size": size, **samples.as_json()} for size, samples in self.found.items()]
        return {**told, "ratio": round(judged, 3), "met": judged <= LINEAR, "unit": self.growth.unit, "points": points}


def series_name(name: str, size: int) -> str:
    """What a measure calls its series for one size."""
    return f"{name} {size}"


def slope(costs: Mapping[int, float]) -> float:
    """The larger of two slopes on logarithmic scales: that of the fit through all sizes, and of the last step."""
    sizes = sorted(costs)
    work, cost = [math.log(size) for size in sizes], [math.log(costs[size]) for size in sizes]
    fit = statistics.linear_regression(work, cost).slope
    return max(fit, (cost[-1] - cost[-2]) / (work[-1] - work[-2]))
