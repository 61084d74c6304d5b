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


class _Stage:
    quick = False

    def versions(self) -> dict[str, str]:
        return {"a peer": "1.0"}


def _bench(
    monkeypatch: pytest.MonkeyPatch, **takes: Callable[[object, int], dict[str, Samples]]
) -> Callable[[Path], int]:
    """`main` over these measures in this order, with no engine."""
    measures = {name: Measure(SERIES, take, 2, 1) for name, take in takes.items()}
    monkeypatch.setattr("benchmarks.__main__.MEASURES", measures)
    monkeypatch.setattr("benchmarks.__main__.open_stage", lambda quick: nullcontext(_Stage()))
    monkeypatch.setattr("benchmarks.__main__.machine", lambda _stage: {"cpus": 2})
    monkeypatch.setattr("benchmarks.__main__.commit", lambda: ("c0ffee", False))
    return lambda out: main(["--only", "decide", "--out", str(out)])


def _met(out: Path) -> dict[str, bool | None]:
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    return {row["figure"].removeprefix("decide a "): row["met"] for row in rows}


def test_the_file_has_exactly_commit_machine_and_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    assert _bench(monkeypatch, decide_file=_works, decide_argv=_works)(out) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert list(report) == ["commit", "machine", "rows"]
    assert report["commit"] == "c0ffee"
    assert report["machine"]["a peer"] == "1.0"
    for row in report["rows"]:
        assert list(row)[:5] == ["figure", "against", "goal", "ratio", "met"]


def test_a_measure_that_fails_loses_no_rows_and_is_told_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "bench.json"
    assert _bench(monkeypatch, decide_file=_fails, decide_argv=_works)(out) == 1
    assert _met(out) == {"file call": None, "git argv, preset default": True, "git argv, preset strict": True}
    failed = json.loads(out.read_text(encoding="utf-8"))["rows"][0]
    assert failed["ratio"] is None
    assert failed["not_measured"].endswith("BenchFailed: no")


def test_an_interruption_keeps_what_was_measured_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    assert _bench(monkeypatch, decide_file=_works, decide_argv=_interrupted)(out) == 130
    assert _met(out) == {"file call": False, "git argv, preset default": None, "git argv, preset strict": None}


def test_measures_without_a_chosen_row_are_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    assert _bench(monkeypatch, decide_file=_works, decide_argv=_works, mixed=_fails)(out) == 0


def test_a_text_that_no_figure_contains_is_refused_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("benchmarks.__main__.open_stage")
    with pytest.raises(SystemExit) as ended:
        main(["--only", "no such figure"])
    assert ended.value.code == 2
