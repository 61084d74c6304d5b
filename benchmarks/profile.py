"""`python -m benchmarks.profile TEXT`: where the time of the figures that contain TEXT goes, to build/profile-*.txt.

py-spy samples the bench while it takes just those figures, waiting included. Where it is not there, or may not trace,
cProfile counts instead: exact in calls, and with a surcharge on each that makes small functions look large.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks.__main__ import main as bench
from benchmarks.report import chosen_figures
from benchmarks.stacks import summary, table
from benchmarks.stage import ROOT

__all__ = ["main"]

_HERTZ = 200
_MOST = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Profiles what was chosen; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description="See where the time goes.")
    parser.add_argument("figure", help="a part of the figures' names")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    chosen = parser.parse_args(arguments)
    if not chosen_figures(chosen.figure).measures:
        parser.error(f"no figure contains {chosen.figure!r}")
    out = ROOT / "build" / f"profile-{_word(chosen.figure)}.txt"
    out.parent.mkdir(exist_ok=True)
    argv = ["--only", chosen.figure, "--out", str(out.with_suffix(".json")), *(["--quick"] if chosen.quick else [])]
    text = _sampled(argv, out.with_suffix(".raw")) or _counted(argv)
    out.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{text}\nin {out}\n")
    return 0


def _word(figure: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", figure.casefold()).strip("-")


def _sampled(argv: Sequence[str], raw: Path) -> str | None:
    """What py-spy saw; None where it cannot look."""
    spy = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
    if spy is None:
        return None
    raw.unlink(missing_ok=True)
    options = ["--idle", f"--rate={_HERTZ}", "--format=raw", f"--output={raw}"]
    subprocess.run([spy, "record", *options, "--", sys.executable, "-m", "benchmarks", *argv], cwd=ROOT, check=False)
    if not raw.exists():
        return None
    with raw.open(encoding="utf-8") as lines:
        seen, spent = summary(lines)
    return table(seen, spent) if seen else None


def _counted(argv: Sequence[str]) -> str:
    """What cProfile counted, in this process."""
    profiler, said = cProfile.Profile(), io.StringIO()
    with redirect_stdout(said):
        profiler.runcall(bench, argv)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("cumulative").print_stats("runner/", _MOST)
    return text.getvalue()


if __name__ == "__main__":
    raise SystemExit(main())
