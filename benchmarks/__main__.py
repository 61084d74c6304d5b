"""`python -m benchmarks`: measure, and write the table to standard output and to build/. Progress on standard error.

A goal that is missed is a finding and not a failure of the bench: the exit code is 0 once everything was measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.failure import BenchFailed
from benchmarks.goals import GOALS
from benchmarks.machine import commit, load, machine
from benchmarks.measures import MEASURES
from benchmarks.samples import Samples
from benchmarks.stage import ROOT, Stage, open_stage
from benchmarks.table import markdown, rows
from runner.model.errors import ExitCode, RunnerError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures everything; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what the parts cost.")
    parser.add_argument("--quick", action="store_true", help="fewer samples, in less than three minutes")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json", help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    try:
        with open_stage() as stage:
            report, table = _measure(stage, quick=chosen.quick)
    except RunnerError as error:
        _say(f"bench: {error.message}. {error.hint}")
        return int(error.exit_code)
    except BenchFailed as error:
        _say(f"bench: {error}")
        return 1
    except KeyboardInterrupt:
        _say("bench: interrupted; nothing is left")
        return int(ExitCode.INTERRUPTED)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    chosen.out.with_suffix(".md").write_text(table, encoding="utf-8")
    sys.stdout.write(table)
    return 0


def _measure(stage: Stage, *, quick: bool) -> tuple[dict[str, Any], str]:
    name, modified = commit()
    report: dict[str, Any] = {
        "commit": name,
        "modified": modified,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "machine": {**machine(stage), "load before": load()},
    }
    measured: dict[str, dict[str, Samples]] = {}
    started = time.monotonic()
    for measure_name, measure in MEASURES.items():
        rounds = measure.quick_rounds if quick else measure.rounds
        _say(f"[{time.monotonic() - started:5.0f} s] {measure_name}: {rounds} samples")
        measured[measure_name] = measure.take(stage, rounds)
    report["machine"]["load after"] = load()
    report["seconds"] = round(time.monotonic() - started)
    found = rows(GOALS, measured)
    report["rows"] = [row.as_json() for row in found]
    report["series"] = {
        measure_name: {series: samples.as_json() for series, samples in taken.items()}
        for measure_name, taken in measured.items()
    }
    return report, markdown(report, found)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
