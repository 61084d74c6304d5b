"""The Markdown of a report, from its JSON alone, so that the page in docs can be made anew from a file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.goals import TIMES

__all__ = ["markdown", "missed"]

_HEAD = "| # | figure | ours (p95) | against | theirs (p95) | goal | measured | met | samples |"
_GROWTH_HEAD = "| # | figure | by size, ms | slope | linear or better | samples |"
_NOTE = """Medians of samples taken in turn (A, B, A, B, …) in one run, in ms where no unit is named; nothing is left
out but the first rounds. In turn with a `docker exec`, a call meets processes that have slept for 50 ms, as an agent's
calls do; in a burst of calls it is faster."""
_GROWTH_NOTE = """The slope is that of the cost over the work on logarithmic scales: 1 is proportional, less is better.
It is the larger of the slope of the best fit and that of the last step; up to 1.1 counts as linear."""
_BYTES = ((10**6, "MB"), (10**3, "KB"), (1, "B"))


def markdown(report: Mapping[str, Any]) -> str:
    """Where it was made, the table of goals, the table of growth, and what each line compares."""
    numbered = list(enumerate(report["rows"], start=1))
    growing = [(number, row) for number, row in numbered if "points" in row]
    compared = [(number, row) for number, row in numbered if "points" not in row]
    facts = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    lines = [f"Commit {report['commit']}. {facts}.", ""]
    if compared:
        lines += [_HEAD, _ruler(_HEAD), *(_line(number, row) for number, row in compared), "", _NOTE, ""]
    if growing:
        lines += [_GROWTH_HEAD, _ruler(_GROWTH_HEAD), *(_growth_line(number, row) for number, row in growing)]
        lines += ["", _GROWTH_NOTE, ""]
    lines += [*_left_out(numbered), *(f"{number}. {row['how']}" for number, row in numbered)]
    return "\n".join(lines) + "\n"


def missed(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows whose goal is not reached; those without a figure are not among them."""
    return [row for row in report["rows"] if row["met"] is False]


def _line(number: int, row: Mapping[str, Any]) -> str:
    cells = (
        str(number),
        row["figure"],
        _series(row["ours"], row["unit"]),
        row["against"],
        _series(row["other"], row["unit"]),
        row["goal"],
        _measured(row),
        _met(row),
        "-" if row["ours"] is None else str(row["ours"]["samples"]),
    )
    return f"| {' | '.join(cells)} |"


def _growth_line(number: int, row: Mapping[str, Any]) -> str:
    points: Sequence[Mapping[str, Any]] = row["points"]
    by_size = ", ".join(f"{_size(point['size'], row['unit'])}: {_short(point['median'])}" for point in points)
    samples = ", ".join(str(point["samples"]) for point in points)
    slope = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
    return f"| {number} | {row['figure']} | {by_size or '-'} | {slope} | {_met(row)} | {samples or '-'} |"


def _size(size: int, unit: str) -> str:
    """A size as people say it: 1k files, 50 MB."""
    if unit == "bytes":
        return next(f"{size // step} {name}" for step, name in _BYTES if size >= step)
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else str(size)


def _met(row: Mapping[str, Any]) -> str:
    if "not_measured" in row:
        return "not measured"
    return {None: "-", True: "yes", False: "**no**"}[row["met"]]


def _left_out(numbered: Iterable[tuple[int, Mapping[str, Any]]]) -> list[str]:
    """Each reason once, with the numbers of the lines that it holds for."""
    reasons: dict[str, list[str]] = {}
    for number, row in numbered:
        if "not_measured" in row:
            reasons.setdefault(row["not_measured"], []).append(str(number))
    return [f"Not measured: {', '.join(lines)}. {why}\n" for why, lines in reasons.items()]


def _series(series: Mapping[str, Any] | None, unit: str) -> str:
    if series is None:
        return "-"
    return f"{_short(series['median'])} ({_short(series['p95'])})" + ("" if unit == "ms" else f" {unit}")


def _measured(row: Mapping[str, Any]) -> str:
    if row["ratio"] is None:
        return "-"
    if row["goal"].endswith("more"):
        return f"{row['difference']:+.2f} {row['unit']}"
    return f"{_short(row['ratio'])}{TIMES}"


def _ruler(head: str) -> str:
    return "|" + "---|" * (head.count("|") - 1)


def _short(value: float) -> str:
    """About three digits: more would pretend to a precision that no shared machine has."""
    return (
        f"{value:.0f}"
        if value >= 100
        else f"{value:.1f}"
        if value >= 10
        else f"{value:.2f}"
        if value >= 0.1
        else f"{value:.2g}"
    )
