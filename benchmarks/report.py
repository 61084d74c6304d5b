"""The report: commit, machine and rows, taken measure by measure, and its files.

It is written after each measure, so that one that fails, or an interruption, loses none of the others' rows. What
failed, or was left out, has its rows all the same, with the reason.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.goals import GOALS, Goal
from benchmarks.growth import Growth
from benchmarks.growths import GROWTHS
from benchmarks.interleave import within
from benchmarks.measures import Measure
from benchmarks.page import markdown
from benchmarks.samples import NotMeasured, Series
from benchmarks.stage import Stage
from benchmarks.table import growth_rows, rows

__all__ = ["Chosen", "Report", "chosen_figures", "take", "write"]

_QUICK_SECONDS = 3.0
"""Of one measure in a quick bench, without what it prepares; so that all of them take less than three minutes."""

_QUICK_DEADLINE_SECONDS = 125.0  # no measure of a quick bench begins later, however busy the machine is
_LEFT_OUT = NotMeasured("A quick bench leaves it out.")
_TOO_LATE = NotMeasured("The quick bench's time was up.")
_INTERRUPTED = NotMeasured("The bench ended before.")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The lines of the table that are wanted."""

    goals: tuple[Goal, ...]
    growths: tuple[Growth, ...]

    @property
    def measures(self) -> frozenset[str]:
        """What has to be measured for them, by name."""
        return frozenset(goal.measure for goal in self.goals) | {growth.measure for growth in self.growths}


def chosen_figures(text: str) -> Chosen:
    """The lines whose figure contains the text, in any case of letters; all of them for the empty text."""
    wanted = text.casefold()
    return Chosen(
        tuple(goal for goal in GOALS if wanted in goal.figure.casefold()),
        tuple(growth for growth in GROWTHS if wanted in growth.figure.casefold()),
    )


@dataclass(slots=True)
class Report:
    """What was measured so far. `machine` may grow meanwhile."""

    commit: str
    machine: dict[str, Any]
    chosen: Chosen
    quick: bool
    measured: dict[str, Mapping[str, Series] | NotMeasured] = field(default_factory=dict)
    failed: bool = False

    def as_json(self) -> dict[str, Any]:
        """As build/bench.json has it: exactly these three keys."""
        compared = [row.as_json() for row in rows(self.chosen.goals, self.measured)]
        growing = [row.as_json() for row in growth_rows(self.chosen.growths, self.measured, quick=self.quick)]
        return {"commit": self.commit, "machine": self.machine, "rows": [*compared, *growing]}


def take(
    stage: Stage,
    report: Report,
    measures: Mapping[str, Measure],
    *,
    say: Callable[[str], None],
    keep: Callable[[Report], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """The report has everything that was chosen; `keep` saw it after each measure."""
    wanted = {name: measure for name, measure in measures.items() if name in report.chosen.measures}
    report.measured.update(dict.fromkeys(wanted, _INTERRUPTED))
    started = clock()
    for name, measure in wanted.items():
        spent = clock() - started
        report.measured[name] = _reason(measure, report.quick, spent) or _one(stage, report, name, measure, spent, say)
        keep(report)


def _reason(measure: Measure, quick: bool, spent: float) -> NotMeasured | None:
    """Why a measure is not even begun."""
    if quick and not measure.quick_rounds:
        return _LEFT_OUT
    return _TOO_LATE if quick and spent > _QUICK_DEADLINE_SECONDS else None


def _one(
    stage: Stage, report: Report, name: str, measure: Measure, spent: float, say: Callable[[str], None]
) -> Mapping[str, Series] | NotMeasured:
    say(f"[{spent:5.0f} s] {name}")
    try:
        with within(_QUICK_SECONDS if report.quick else None):
            return measure.samples(stage, quick=report.quick)
    except Exception as error:  # whatever it was: the other rows are measured all the same
        report.failed = True
        say(f"bench: {name} failed: {error}")
        return NotMeasured(f"It failed: {type(error).__name__}: {error}")


def write(out: Path, report: Mapping[str, Any]) -> None:
    """The JSON at `out`, and its table beside it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(markdown(report), encoding="utf-8")
