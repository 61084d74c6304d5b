"""`python -m benchmarks`: measure, and write the table to standard output and to build/. Progress on standard error.

A goal that is missed is a finding and not a failure of the bench: the exit code is 0 once everything was measured. What
was measured is written after each measure, so that one that fails, or an interruption, loses none of the others' rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.failure import BenchFailed
from benchmarks.goals import GOALS, Goal
from benchmarks.machine import commit, load, machine
from benchmarks.measures import MEASURES
from benchmarks.samples import Samples
from benchmarks.stage import ROOT, Stage, open_stage
from benchmarks.table import markdown, rows
from runner.model.errors import ExitCode, RunnerError

__all__ = ["chosen_goals", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures everything, or what was chosen; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what the parts cost.")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--only", metavar="TEXT", default="", help="just the rows whose figure contains TEXT")
    parser.add_argument("--out", type=Path, help="where the JSON goes; build/bench.json, with --only bench-only.json")
    chosen = parser.parse_args(arguments)
    goals = chosen_goals(chosen.only)
    if not goals:
        parser.error(f"no figure contains {chosen.only!r}")
    out: Path = chosen.out or ROOT / "build" / ("bench-only.json" if chosen.only else "bench.json")
    try:
        with open_stage() as stage:
            report = _measure(stage, goals, quick=chosen.quick, keep=partial(_write, out))
    except RunnerError as error:
        _say(f"bench: {error.message}. {error.hint}")
        return int(error.exit_code)
    except BenchFailed as error:
        _say(f"bench: {error}")
        return 1
    except KeyboardInterrupt:
        _say("bench: interrupted; no container is left, and what was measured is written")
        return int(ExitCode.INTERRUPTED)
    sys.stdout.write(out.with_suffix(".md").read_text(encoding="utf-8"))
    return 1 if report["failed"] else 0


def chosen_goals(text: str) -> tuple[Goal, ...]:
    """The goals whose figure contains the text, in any case of letters; all of them for the empty text."""
    return tuple(goal for goal in GOALS if text.casefold() in goal.figure.casefold())


def _measure(
    stage: Stage, goals: Sequence[Goal], *, quick: bool, keep: Callable[[dict[str, Any], str], None]
) -> dict[str, Any]:
    """The report; `keep` was given it and its table after each measure."""
    name, modified = commit()
    report: dict[str, Any] = {
        "commit": name,
        "modified": modified,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "machine": {**machine(stage), "load before": load()},
        "failed": {},
    }
    measured: dict[str, dict[str, Samples]] = {}
    started = time.monotonic()
    wanted = {goal.measure for goal in goals}
    for measure_name, measure in MEASURES.items():
        if measure_name not in wanted:
            continue
        rounds = measure.quick_rounds if quick else measure.rounds
        _say(f"[{time.monotonic() - started:5.0f} s] {measure_name}: {rounds} samples")
        try:
            measured[measure_name] = measure.take(stage, rounds)
        except Exception as error:  # whatever it was: the other rows are measured all the same
            report["failed"][measure_name] = f"{type(error).__name__}: {error}"
            _say(f"bench: {measure_name} failed: {error}")
        report["machine"]["load after"] = load()
        report["seconds"] = round(time.monotonic() - started)
        keep(report, _tell(report, goals, measured))
    return report


def _tell(report: dict[str, Any], goals: Sequence[Goal], measured: dict[str, dict[str, Samples]]) -> str:
    """The report has the rows of what was measured so far; their table."""
    found = rows([goal for goal in goals if goal.measure in measured], measured)
    report["rows"] = [row.as_json() for row in found]
    report["series"] = {
        measure_name: {series: samples.as_json() for series, samples in taken.items()}
        for measure_name, taken in measured.items()
    }
    return markdown(report, found)


def _write(out: Path, report: dict[str, Any], table: str) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(table, encoding="utf-8")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
