"""`python -m benchmarks`: measure, and write the table to standard output and to build/. Progress on standard error.

A goal that is missed is a finding and not a failure of the bench: the exit code is 0 once everything was measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.failure import BenchFailed
from benchmarks.machine import commit, load, machine
from benchmarks.measures import MEASURES
from benchmarks.report import Chosen, Report, chosen_figures, take, write
from benchmarks.stage import ROOT, Stage, open_stage
from runner.model.errors import ExitCode, RunnerError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures everything, or what was chosen; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what the parts cost.")
    parser.add_argument("--quick", action="store_true", help="fewer samples and smaller trees, in three minutes")
    parser.add_argument("--only", metavar="TEXT", default="", help="just the rows whose figure contains TEXT")
    parser.add_argument("--out", type=Path, help="where the JSON goes; build/bench.json, with --only bench-only.json")
    arguments_ = parser.parse_args(arguments)
    chosen = chosen_figures(arguments_.only)
    if not chosen.measures:
        parser.error(f"no figure contains {arguments_.only!r}")
    out: Path = arguments_.out or ROOT / "build" / ("bench-only.json" if arguments_.only else "bench.json")
    try:
        with open_stage(quick=arguments_.quick) as stage:
            failed = _measure(stage, chosen, out)
    except RunnerError as error:
        _say(f"bench: {error.message}. {error.hint}")
        return int(error.exit_code)
    except BenchFailed as error:
        _say(f"bench: {error}")
        return 1
    except KeyboardInterrupt:
        _say("bench: interrupted; no container and no image is left, and what was measured is written")
        return int(ExitCode.INTERRUPTED)
    sys.stdout.write(out.with_suffix(".md").read_text(encoding="utf-8"))
    return 1 if failed else 0


def _measure(stage: Stage, chosen: Chosen, out: Path) -> bool:
    """Whether a measure failed; all that could be measured is in the files."""
    name, modified = commit()
    facts = {
        **machine(stage),
        "tree": "with changes that are not committed" if modified else "as committed",
        "bench": "quick" if stage.quick else "full",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "load before": load(),
    }
    report, started = Report(name, facts, chosen, stage.quick), time.monotonic()

    def keep(report: Report) -> None:
        report.machine.update(stage.versions(), **{"load after": load(), "seconds": round(time.monotonic() - started)})
        write(out, report.as_json())

    take(stage, report, MEASURES, say=_say, keep=keep)
    return report.failed


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
