"""What came of a soak: counted while it goes on, judged at its end, and put into build/soak.json."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from soak.runs import HOSTILE, Kind
from soak.watch import TOLERANCE, EngineLook, Look, grown

__all__ = ["Ended", "Tally"]


@dataclass(frozen=True, slots=True)
class Ended:
    """One run: its number, its kind, what was wrong with it (empty: nothing), and its phases in milliseconds."""

    number: int
    kind: Kind
    fault: str
    milliseconds: Mapping[str, float]

    @property
    def told(self) -> str:
        """Which run it was, and what was wrong with it."""
        return f"run {self.number} ({self.kind.name}): {self.fault}"


@dataclass
class Tally:
    """Runs in the order of their ends, looks by the moment's name, and what else failed; `places` bounds the runs."""

    runs: list[Ended] = field(default_factory=list)
    looks: dict[str, Look] = field(default_factory=dict)
    engine: dict[str, EngineLook] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    places: int = 0
    most_at_once: int = 0
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def began(self) -> None:
        """One more run has its place."""
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            if self._at_once == self.places + 1:
                self.troubles.append(f"{self._at_once} runs went on at once")

    def gone(self) -> None:
        """A run that had its place is about to give it back."""
        with self._lock:
            self._at_once -= 1

    def ended(self, run: Ended) -> int:
        """How many have ended now."""
        with self._lock:
            self.runs.append(run)
            return len(self.runs)

    @property
    def hostile(self) -> int:
        """How many of the runs were hostile."""
        return sum(run.kind in HOSTILE for run in self.runs)

    @property
    def failed(self) -> list[str]:
        """Each run that did not end as it should, each growth, and each trouble."""
        runs = [run.told for run in self.runs if run.fault]
        return runs + [f"the controller: {growth}" for growth in self.growth] + self.troubles

    @property
    def growth(self) -> list[str]:
        """What grew since every kind of run had its turn; nothing where there were too few runs to tell."""
        return grown(self.looks["settled"], self.looks["end"]) if {"settled", "end"} <= self.looks.keys() else []

    def line(self) -> str:
        """The last line of a soak."""
        counts = f"{self.hostile} hostile, {len(self.failed)} failed, {len(self.left)} leftovers"
        return f"soak: {len(self.runs)} runs, {counts}"

    def facts(self) -> dict[str, Any]:
        """The tally as build/soak.json has it."""
        third = len(self.runs) // 3
        return {
            "line": self.line(),
            "runs": len(self.runs),
            "hostile": self.hostile,
            "failed": self.failed,
            "leftovers": self.left,
            "places": self.places,
            "most_at_once": self.most_at_once,
            "tolerance": dict(TOLERANCE),
            "controller": {moment: asdict(seen) for moment, seen in self.looks.items()},
            "engine": {moment: asdict(seen) for moment, seen in self.engine.items()},
            "median_ms": {
                "all": _medians(self.runs),
                "first third": _medians(self.runs[:third]),
                "last third": _medians(self.runs[len(self.runs) - third :]),
            },
        }


def _medians(runs: Iterable[Ended]) -> dict[str, float]:
    """The median of each phase over well-meant runs that went well: hostile ones wait for their limits."""
    taken: dict[str, list[float]] = {}
    for run in runs:
        if run.kind not in HOSTILE and not run.fault:
            for phase, spent in {**run.milliseconds, "whole run": sum(run.milliseconds.values())}.items():
                taken.setdefault(phase, []).append(spent)
    return {phase: round(statistics.median(values), 1) for phase, values in taken.items()}
