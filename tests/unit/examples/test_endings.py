"""The attempts with a run of their own hold only when that run ended as it must and left nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from examples.endings import judge_killed_helper, judge_set_up
from examples.session import Answer

Make = Callable[..., Answer]

GONE = {"verified": True, "leftovers": []}
REFUSED: dict[str, Any] = {"ended": {"code": "bin_not_allowlisted"}, "teardown": GONE}


def test_a_set_up_that_was_refused_for_its_shell_holds() -> None:
    assert judge_set_up(4, REFUSED).held


@pytest.mark.parametrize(
    ("exit_code", "report"),
    [
        (0, {"ended": None, "teardown": GONE}),
        (3, REFUSED),
        (4, {**REFUSED, "ended": {"code": "setup_failed"}}),
        (4, {**REFUSED, "teardown": {"verified": False, "leftovers": ["container x"]}}),
        (None, {}),
    ],
)
def test_a_set_up_that_ended_otherwise_is_an_escape(exit_code: int | None, report: dict[str, Any]) -> None:
    assert not judge_set_up(exit_code, report).held


def test_a_run_that_ended_with_its_helper_and_is_gone_holds(refusal: Make) -> None:
    assert judge_killed_helper(refusal("run_ended"), 5, {"teardown": GONE}).held


def test_a_run_that_went_on_or_left_something_is_an_escape(refusal: Make, command: Make) -> None:
    assert not judge_killed_helper(command(), 0, {"teardown": GONE}).held
    assert not judge_killed_helper(refusal("run_ended"), 5, {"teardown": {"verified": False, "leftovers": []}}).held
    assert not judge_killed_helper(refusal("run_ended"), 1, {"teardown": GONE}).held
