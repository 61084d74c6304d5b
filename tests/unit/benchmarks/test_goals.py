"""The goals: each has something to be compared with, and its bound means what it says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.goals import GOALS, TIMES, Bound, Goal
from benchmarks.measures import MEASURES
from benchmarks.report import chosen_figures

AWAITED: set[str] = set()
"""Measures that goals name and nothing takes yet; the table says so."""

MEASURED = [goal for goal in GOALS if goal.measure not in AWAITED]
COMPARED = [name for name, measure in MEASURES.items() if measure.series]


def _goal(bound: Bound, number: float) -> Goal:
    return Goal("figure", "other", bound, number, "measure", "ours", "other", "How.")


def test_every_goal_has_a_measure_or_is_known_to_wait_for_one() -> None:
    assert {goal.measure for goal in GOALS} - set(MEASURES) == AWAITED


@pytest.mark.parametrize("goal", MEASURED, ids=lambda goal: f"{goal.figure} against {goal.against}")
def test_every_goal_compares_series_that_one_measure_takes_in_turn(goal: Goal) -> None:
    series = MEASURES[goal.measure].series
    assert {goal.ours, goal.other} - {None} <= series
    assert goal.ours != goal.other


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: f"{goal.figure} against {goal.against}")
def test_every_goal_says_how_it_is_measured_in_a_sentence(goal: Goal) -> None:
    assert goal.how.endswith(".")
    assert goal.number > 0


def test_no_line_of_the_table_is_there_twice() -> None:
    lines = [(goal.figure, goal.against) for goal in GOALS]
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("name", COMPARED)
def test_everything_that_is_measured_is_held_against_a_goal(name: str) -> None:
    used: set[str | None] = set()
    for goal in GOALS:
        if goal.measure == name:
            used |= {goal.ours, goal.other}
    assert used - {None} == MEASURES[name].series


@pytest.mark.parametrize("name", MEASURES)
def test_a_quick_bench_takes_fewer_samples_of_everything(name: str) -> None:
    measure = MEASURES[name]
    assert measure.quick_rounds < measure.rounds


@pytest.mark.parametrize("goal", MEASURED, ids=lambda goal: f"{goal.figure} against {goal.against}")
def test_every_figure_with_a_goal_has_thirty_samples_in_a_whole_bench(goal: Goal) -> None:
    runs_in_a_sample = {"scale": 20}.get(goal.measure, 1)
    assert MEASURES[goal.measure].rounds * runs_in_a_sample >= 30 or goal.bound is Bound.TOLD


@pytest.mark.parametrize(
    ("bound", "number", "reached", "missed"),
    [
        (Bound.FASTER, 25, (2.0, 50.0), (2.0, 49.9)),
        (Bound.LONGER, 1.3, (13.0, 10.0), (13.1, 10.0)),
        (Bound.ADDED, 0.5, (1.5, 1.0), (1.51, 1.0)),
        (Bound.WITHIN, 50, (50.0, 1.0), (50.1, 1000.0)),
    ],
)
def test_the_bound_itself_is_within_the_goal(
    bound: Bound, number: float, reached: Sequence[float], missed: Sequence[float]
) -> None:
    goal = _goal(bound, number)
    assert goal.met(reached[0], reached[1])
    assert not goal.met(missed[0], missed[1])


def test_a_figure_without_a_goal_is_told_as_a_ratio_and_never_missed() -> None:
    told = _goal(Bound.TOLD, 1)
    assert told.met(1000.0, 1.0) and told.ratio(30.0, 10.0) == 3
    assert told.words == "none"


def test_a_ratio_has_the_direction_of_its_goal() -> None:
    assert _goal(Bound.FASTER, 25).ratio(2.0, 50.0) == 25
    assert _goal(Bound.LONGER, 2).ratio(50.0, 25.0) == 2


def test_a_goal_is_worded_with_its_direction_and_unit() -> None:
    assert _goal(Bound.FASTER, 25).words == f"≥ 25{TIMES} faster"
    assert _goal(Bound.LONGER, 1.3).words == f"≤ 1.3{TIMES}"
    assert _goal(Bound.ADDED, 0.5).words == "≤ 0.5 ms more"
    assert _goal(Bound.WITHIN, 0.1).words == "≤ 0.1 ms"


def test_an_absolute_goal_needs_no_other_series_and_is_held_against_its_own_number() -> None:
    goal = Goal("figure", "the goal itself", Bound.WITHIN, 4, "measure", "ours", None, "How.")
    assert goal.met(4.0, None)
    assert not goal.met(4.1, None)
    assert goal.ratio(2.0, None) == 0.5


@pytest.mark.parametrize("bound", [Bound.FASTER, Bound.LONGER, Bound.ADDED])
def test_a_goal_that_bounds_a_comparison_has_something_to_be_compared_with(bound: Bound) -> None:
    with pytest.raises(ValueError):
        Goal("figure", "other", bound, 1, "measure", "ours", None, "How.")


def test_a_goal_in_another_unit_says_so() -> None:
    goal = Goal("memory", "the goal itself", Bound.WITHIN, 10, "measure", "ours", None, "How.", unit="MB")
    assert goal.words == "≤ 10 MB"


def test_rows_are_chosen_by_a_part_of_their_figure_in_any_case_of_letters() -> None:
    assert chosen_figures("DECIDE").measures == {"decide_file", "decide_argv"}
    assert chosen_figures("audit log").measures == {"growing_audit"}
    assert chosen_figures("").goals == GOALS
    assert not chosen_figures("no such figure").measures
