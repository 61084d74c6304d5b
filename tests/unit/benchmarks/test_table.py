"""From series to rows, and from rows to the page."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.goals import TIMES, Bound, Goal
from benchmarks.growth import Growth
from benchmarks.page import markdown, missed
from benchmarks.samples import NotMeasured, Samples, Series
from benchmarks.table import growth_rows, rows

FASTER = Goal("a call", "an exec", Bound.FASTER, 10, "calls", "ours", "exec", "A call; an exec.")
ADDED = Goal("overhead", "the bare call", Bound.ADDED, 0.5, "calls", "ours", "bare", "A call; a bare call.")
PEER = Goal("a call", "a peer", Bound.FASTER, 3, "calls", "ours", "peer", "A call; a peer's.")
MEASURED: dict[str, dict[str, Series]] = {
    "calls": {
        "ours": Samples([2.0] * 3),
        "exec": Samples([50.0, 51.0, 52.0]),
        "bare": Samples([1.0] * 3),
        "peer": NotMeasured("No network."),
        "phase start": Samples([0.5]),
        "ours: first": Samples([0.25]),
    }
}
GROWTH = Growth("a search, by files", "files", "growing", "search", (10, 100, 1000), (10, 20, 40), "A search.")
GROWING: dict[str, dict[str, Series]] = {
    "growing": {"search 10": Samples([1.0]), "search 100": Samples([10.0]), "search 1000": Samples([100.0])}
}


def _report(*found: dict[str, Any]) -> dict[str, Any]:
    return {"commit": "c0ffee", "machine": {"cpus": 2, "kernel": "6.1"}, "rows": list(found)}


def _json(*goals: Goal) -> dict[str, Any]:
    return _report(*(row.as_json() for row in rows(goals, MEASURED)))


def test_there_is_a_row_for_each_goal_in_their_order() -> None:
    found = rows([FASTER, ADDED], MEASURED)
    assert [row.goal for row in found] == [FASTER, ADDED]
    assert [row.as_json()["met"] for row in found] == [True, False]


def test_a_goal_that_nothing_was_measured_for_is_not_left_out_silently() -> None:
    with pytest.raises(KeyError):
        rows([FASTER], {"calls": {"ours": MEASURED["calls"]["ours"]}})


def test_a_row_tells_both_sides_whole() -> None:
    assert rows([FASTER], MEASURED)[0].as_json() == {
        "figure": "a call",
        "against": "an exec",
        "goal": f"≥ 10{TIMES} faster",
        "ratio": 25.5,
        "met": True,
        "difference": -49.0,
        "unit": "ms",
        "ours": {"median": 2.0, "p95": 2.0, "min": 2.0, "max": 2.0, "samples": 3},
        "other": {"median": 51.0, "p95": 52.0, "min": 50.0, "max": 52.0, "samples": 3},
        "how": "A call; an exec.",
        "parts": {"start": 0.5, "first": 0.25},
    }


def test_a_peer_that_cannot_be_had_has_its_row_with_the_reason() -> None:
    told = rows([PEER], MEASURED)[0].as_json()
    assert (told["ratio"], told["met"], told["not_measured"]) == (None, None, "No network.")
    assert told["ours"]["median"] == 2.0
    text = markdown(_report(told))
    assert "| 1 | a call | 2.00 (2.00) | a peer | - | ≥ 3× faster | - | not measured | 3 |" in text  # noqa: RUF001
    assert "\nNot measured: 1. No network.\n" in text


@pytest.mark.parametrize("measured", [{}, {"calls": NotMeasured("It failed.")}])
def test_a_measure_that_is_missing_or_failed_has_all_its_rows(measured: dict[str, NotMeasured]) -> None:
    found = [row.as_json() for row in rows([FASTER, ADDED], measured)]
    assert [row["ratio"] for row in found] == [None, None]
    assert all(row["not_measured"] for row in found)


def test_the_page_has_a_line_for_each_row_and_says_plainly_what_is_missed() -> None:
    lines = markdown(_json(FASTER, ADDED)).splitlines()
    assert f"| 1 | a call | 2.00 (2.00) | an exec | 51.0 (52.0) | ≥ 10{TIMES} faster | 25.5{TIMES} | yes | 3 |" in lines
    assert (
        "| 2 | overhead | 2.00 (2.00) | the bare call | 1.00 (1.00) | ≤ 0.5 ms more | +1.00 ms | **no** | 3 |" in lines
    )


def test_only_goals_that_were_measured_and_not_reached_are_missed() -> None:
    assert [row["figure"] for row in missed(_json(FASTER, ADDED, PEER))] == ["overhead"]


def test_the_page_names_commit_and_machine_and_how_each_line_was_measured() -> None:
    text = markdown(_json(FASTER))
    assert text.startswith("Commit c0ffee. cpus 2, kernel 6.1.\n")
    assert "\n1. A call; an exec.\n" in text


def test_a_row_of_an_absolute_goal_has_no_other_side() -> None:
    goal = Goal("memory", "the goal itself", Bound.WITHIN, 4, "calls", "ours", None, "Memory.", unit="MB")
    told = rows([goal], MEASURED)[0].as_json()
    assert (told["ratio"], told["met"], told["other"], told["difference"]) == (0.5, True, None, None)
    line = f"| 1 | memory | 2.00 (2.00) MB | the goal itself | - | ≤ 4 MB | 0.50{TIMES} | yes | 3 |"
    assert line in markdown(_report(told)).splitlines()


def test_growth_has_a_table_of_its_own_with_each_size() -> None:
    told = growth_rows([GROWTH], GROWING, quick=False)[0].as_json()
    line = "| 2 | a search, by files | 10: 1.00, 100: 10.0, 1k: 100 | 1.00 | yes | 1, 1, 1 |"
    assert line in markdown(_report(rows([FASTER], MEASURED)[0].as_json(), told)).splitlines()


def test_sizes_in_bytes_are_told_in_units_that_people_read() -> None:
    growth = Growth("a read", "bytes", "growing", "search", (10, 1_000, 50_000_000), (10, 20, 40), "A read.")
    series: dict[str, dict[str, Series]] = {"growing": {f"search {size}": Samples([1.0]) for size in growth.sizes}}
    text = markdown(_report(growth_rows([growth], series, quick=False)[0].as_json()))
    assert "10 B: 1.00, 1 KB: 1.00, 50 MB: 1.00" in text
