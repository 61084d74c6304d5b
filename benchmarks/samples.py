"""Figures of one series of measurements. Milliseconds, where a goal names no other unit; no outlier is left out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["NotMeasured", "Samples", "Series"]


@dataclass(frozen=True, slots=True)
class Samples:
    """What was measured, in the order in which it was; at least one value."""

    values: tuple[float, ...]

    def __init__(self, values: Iterable[float]) -> None:
        object.__setattr__(self, "values", tuple(values))
        if not self.values:
            raise ValueError("a series without a single value says nothing")

    @property
    def median(self) -> float:
        """Half of the values are not above it."""
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        """The smallest value that 95% of the values don't exceed (nearest rank): one that was really measured."""
        return sorted(self.values)[math.ceil(0.95 * len(self.values)) - 1]

    def as_json(self) -> dict[str, Any]:
        """Median, 95th percentile and extremes to a thousandth, and how many values they are of."""
        return {
            "median": round(self.median, 3),
            "p95": round(self.p95, 3),
            "min": round(min(self.values), 3),
            "max": round(max(self.values), 3),
            "samples": len(self.values),
        }


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """There are no figures, and why: one line for the reader of the table."""

    why: str


Series = Samples | NotMeasured
"""What a measure gives under each of its names."""
