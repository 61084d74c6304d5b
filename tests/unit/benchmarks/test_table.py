"""From series to the table."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.goals import TIMES, Bound, Goal
from benchmarks.samples import Samples
from benchmarks.table import Row, markdown, rows

FASTER = Goal("a call", "an exec", Bound.FASTER, 10, "calls", "ours", "exec", "A call; an exec.")
ADDED = Goal("overhead", "the bare call", Bound.ADDED, 0.5, "calls", "ours", "bare", "A call; a bare call.")
MEASURED = {"calls": {"ours": Samples([2.0] * 3), "exec": Samples([50.0, 51.0, 52.0]), "bare": Samples([1.0] * 3)}}
REPORT: dict[str, Any] = {"commit": "c0ffee", "modified": False, "machine": {"cpus": 2, "kernel": "6.1"}}


def test_there_is_a_row_for_each_goal_in_their_order() -> None:
    found = rows([FASTER, ADDED], MEASURED)
    assert [row.goal for row in found] == [FASTER, ADDED]
    assert [row.met for row in found] == [True, False]


def test_a_goal_that_nothing_was_measured_for_is_not_left_out_silently() -> None:
    with pytest.raises(KeyError):
        rows([FASTER], {"calls": {"ours": MEASURED["calls"]["ours"]}})


def test_a_row_tells_both_sides_whole() -> None:
    assert rows([FASTER], MEASURED)[0].as_json() == {
        "figure": "a call",
        "against": "an exec",
        "goal": f"≥ 10{TIMES} faster",
        "ratio": 25.5,
        "difference_ms": -49.0,
        "met": True,
        "ours": {"median_ms": 2.0, "p95_ms": 2.0, "min_ms": 2.0, "max_ms": 2.0, "samples": 3},
        "other": {"median_ms": 51.0, "p95_ms": 52.0, "min_ms": 50.0, "max_ms": 52.0, "samples": 3},
        "how": "A call; an exec.",
    }


def test_the_table_has_a_line_for_each_row_and_says_plainly_what_is_missed() -> None:
    lines = markdown(REPORT, rows([FASTER, ADDED], MEASURED)).splitlines()
    assert f"| 1 | a call | 2.00 (2.00) | an exec | 51.0 (52.0) | ≥ 10{TIMES} faster | 25.5{TIMES} | yes | 3 |" in lines
    assert (
        "| 2 | overhead | 2.00 (2.00) | the bare call | 1.00 (1.00) | ≤ 0.5 ms more | +1.00 ms | **no** | 3 |" in lines
    )


def test_the_table_names_commit_and_machine_and_how_each_line_was_measured() -> None:
    text = markdown(REPORT, rows([FASTER], MEASURED))
    assert text.startswith("Commit c0ffee. cpus 2, kernel 6.1.\n")
    assert "\n1. A call; an exec.\n" in text


def test_a_tree_that_is_not_what_was_committed_is_said_to_be_so() -> None:
    text = markdown({**REPORT, "modified": True}, [Row(FASTER, MEASURED["calls"]["ours"], MEASURED["calls"]["exec"])])
    assert "not committed" in text.splitlines()[0]


def test_a_row_of_an_absolute_goal_has_no_other_side() -> None:
    goal = Goal("a decision", "the goal itself", Bound.WITHIN, 4, "calls", "ours", None, "A decision.")
    row = rows([goal], MEASURED)[0]
    told = row.as_json()
    assert (told["ratio"], told["met"], told["other"], told["difference_ms"]) == (0.5, True, None, None)
    line = f"| 1 | a decision | 2.00 (2.00) | the goal itself | - | ≤ 4 ms | 0.50{TIMES} | yes | 3 |"
    assert line in markdown(REPORT, [row]).splitlines()


def test_a_measure_that_failed_is_named_in_the_table() -> None:
    assert "Not measured: mixed. BenchFailed: no" in markdown({**REPORT, "failed": {"mixed": "BenchFailed: no"}}, [])
