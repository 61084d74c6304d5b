"""The order in which samples are taken, and what counts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from benchmarks.interleave import LEAST_ROUNDS, Reading, interleave, timed, within


def _logging(log: list[str], name: str) -> Callable[[], Reading]:
    def side() -> Reading:
        log.append(name)
        return {name: float(len(log))}

    return side


def test_sides_take_turns() -> None:
    log: list[str] = []
    interleave([_logging(log, "a"), _logging(log, "b"), _logging(log, "c")], 3, warm_up=0)
    assert log == ["a", "b", "c"] * 3


def test_the_first_rounds_run_in_turn_and_count_nowhere() -> None:
    log: list[str] = []
    taken = interleave([_logging(log, "a"), _logging(log, "b")], 2, warm_up=1)
    assert log == ["a", "b"] * 3
    assert taken["a"].values == (3.0, 5.0)
    assert taken["b"].values == (4.0, 6.0)


def test_one_side_may_measure_several_things() -> None:
    taken = interleave([lambda: {"start": 2.0, "end": 3.0}], 2, warm_up=0)
    assert {name: samples.values for name, samples in taken.items()} == {"start": (2.0, 2.0), "end": (3.0, 3.0)}


def test_two_sides_under_one_name_are_refused() -> None:
    with pytest.raises(ValueError):
        interleave([lambda: {"same": 1.0}, lambda: {"same": 2.0}], 2, warm_up=0)


def test_a_series_with_a_gap_is_refused() -> None:
    readings = iter([{"a": 1.0}, {"a": 1.0, "b": 1.0}])
    with pytest.raises(ValueError):
        interleave([lambda: next(readings)], 2, warm_up=0)


def test_the_whole_act_is_measured_in_milliseconds() -> None:
    now = [10.0]

    def act() -> None:
        now[0] += 0.5

    assert timed("act", act, clock=lambda: now[0])() == {"act": 500.0}


def test_what_an_act_raises_ends_the_measure() -> None:
    def act() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        interleave([timed("act", act)], 1, warm_up=0)


def test_rounds_end_early_when_their_time_is_up() -> None:
    with within(10):
        taken = interleave([lambda: {"a": 1.0}], 100, warm_up=0, clock=count(step=2).__next__)
    assert LEAST_ROUNDS <= len(taken["a"].values) < 10


def test_a_median_has_some_values_even_when_the_time_is_up_at_once() -> None:
    log: list[str] = []
    with within(0):
        taken = interleave([_logging(log, "a")], 100, warm_up=20)
    assert len(taken["a"].values) == LEAST_ROUNDS
    assert len(log) == LEAST_ROUNDS + 1  # and one round to warm up


def test_no_more_rounds_are_taken_than_asked_for_however_much_time_there_is() -> None:
    with within(1000):
        assert len(interleave([lambda: {"a": 1.0}], 2, warm_up=0)["a"].values) == 2


def test_time_bounds_nothing_outside_its_block() -> None:
    with within(0):
        pass
    assert len(interleave([lambda: {"a": 1.0}], 9, warm_up=0)["a"].values) == 9
