"""What is written when not everything could be measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.failure import BenchFailed
from benchmarks.measures import Measure
from benchmarks.samples import Samples

SERIES = frozenset({"default", "strict"})


def _fails(_stage: object, _rounds: int) -> dict[str, Samples]:
    raise BenchFailed("no")


def _interrupted(_stage: object, _rounds: int) -> dict[str, Samples]:
    raise KeyboardInterrupt


def _works(_stage: object, _rounds: int) -> dict[str, Samples]:
    return {name: Samples([0.5]) for name in SERIES}


def _bench(
    monkeypatch: pytest.MonkeyPatch, **takes: Callable[[object, int], dict[str, Samples]]
) -> Callable[[Path], int]:
    """`main` over these measures in this order, with no engine."""
    measures = {name: Measure(SERIES, take, 2, 1) for name, take in takes.items()}
    monkeypatch.setattr("benchmarks.__main__.MEASURES", measures)
    monkeypatch.setattr("benchmarks.__main__.open_stage", nullcontext)
    monkeypatch.setattr("benchmarks.__main__.machine", lambda _stage: {"cpus": 2})
    monkeypatch.setattr("benchmarks.__main__.commit", lambda: ("c0ffee", False))
    return lambda out: main(["--only", "decide", "--out", str(out)])


def test_a_measure_that_fails_loses_no_rows_of_the_others_and_is_told_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "bench.json"
    assert _bench(monkeypatch, decide_file=_fails, decide_argv=_works)(out) == 1
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["failed"] == {"decide_file": "BenchFailed: no"}
    assert [row["figure"] for row in report["rows"]] == [
        "decide a git argv, preset default",
        "decide a git argv, preset strict",
    ]


def test_an_interruption_keeps_what_was_measured_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    assert _bench(monkeypatch, decide_file=_works, decide_argv=_interrupted)(out) == 130
    assert [row["figure"] for row in json.loads(out.read_text(encoding="utf-8"))["rows"]] == ["decide a file call"]


def test_measures_without_a_chosen_row_are_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    assert _bench(monkeypatch, decide_file=_works, decide_argv=_works, mixed=_fails)(out) == 0
    assert set(json.loads(out.read_text(encoding="utf-8"))["series"]) == {"decide_file", "decide_argv"}


def test_a_text_that_no_figure_contains_is_refused_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("benchmarks.__main__.open_stage")
    with pytest.raises(SystemExit) as ended:
        main(["--only", "no such figure"])
    assert ended.value.code == 2
