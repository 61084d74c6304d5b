"""Figures of one series of measurements. Milliseconds everywhere; nothing is left out as an outlier."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Samples"]


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
        """Median, 95th percentile and extremes to the microsecond, and how many values they are of."""
        return {
            "median_ms": round(self.median, 3),
            "p95_ms": round(self.p95, 3),
            "min_ms": round(min(self.values), 3),
            "max_ms": round(max(self.values), 3),
            "samples": len(self.values),
        }
