"""`python -m benchmarks.publish`: docs/PERFORMANCE.md has the table of build/bench.json, and where missed time goes.

What stands between the page's two marks is made anew; the rest is written by hand. A goal that is missed must be named
in the part by hand, with what was tried: the exit code is 1, and the figure is named, until it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.page import markdown, missed
from benchmarks.stage import ROOT

__all__ = ["BEGIN", "END", "main", "published", "unexplained"]

BEGIN = "<!-- measured: made by python -m benchmarks.publish -->"
END = "<!-- end of measured -->"
_PAGE = ROOT / "docs" / "PERFORMANCE.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the page; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.publish", description="Put the last table into docs.")
    parser.add_argument("--report", type=Path, default=ROOT / "build" / "bench.json")
    parser.add_argument("--page", type=Path, default=_PAGE)
    chosen = parser.parse_args(arguments)
    report = json.loads(chosen.report.read_text(encoding="utf-8"))
    page = published(chosen.page.read_text(encoding="utf-8"), report)
    chosen.page.write_text(page, encoding="utf-8")
    left = unexplained(page, report)
    for figure in left:
        sys.stderr.write(f"missed, and the page does not say what was tried: {figure}\n")
    return 1 if left else 0


def published(page: str, report: Mapping[str, Any]) -> str:
    """The page with this report between its marks.

    Raises:
        ValueError: when the page has not exactly one place for it.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page must have {BEGIN!r} and after it {END!r}, each once")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{markdown(report)}\n{''.join(_missed(report))}{END}{after}"


def unexplained(page: str, report: Mapping[str, Any]) -> list[str]:
    """The figures of missed goals that the part by hand does not name."""
    before, _, rest = page.partition(BEGIN)
    by_hand = before + rest.partition(END)[2]
    return sorted({row["figure"] for row in missed(report) if f"**{row['figure']}**" not in by_hand})


def _missed(report: Mapping[str, Any]) -> Iterator[str]:
    found = missed(report)
    yield "### Goals that are not met\n\n"
    if not found:
        yield "None of those that were measured.\n\n"
        return
    for row in found:
        yield f"- {row['figure']}, against {row['against']}: {row['ratio']:g}, goal {row['goal']}.{_parts(row)}\n"
    yield "\n"


def _parts(row: Mapping[str, Any]) -> str:
    """Where the time goes, the largest part first."""
    parts = sorted(row.get("parts", {}).items(), key=lambda part: -part[1])
    if not parts:
        return ""
    return f" Of it, in ms: {', '.join(f'{name} {median:.3g}' for name, median in parts)}."


if __name__ == "__main__":
    raise SystemExit(main())
