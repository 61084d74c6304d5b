from __future__ import annotations

import pytest

from runner.model.errors import ErrorCode
from runner.policy.budget import BudgetState, Denied, Explored, Ground, Wrote, apply, decide
from runner.policy.document import Budget

EXCEEDED = ErrorCode.EXPLORATION_BUDGET_EXCEEDED
APP = Ground.of_file("src/app.mjs", None, None)


def budget(**keys: object) -> Budget:
    return Budget.model_validate(keys)


def look(state: BudgetState, limits: Budget, ground: Ground) -> tuple[BudgetState, ErrorCode | None]:
    decision = decide(state, limits, ground)
    return (apply(state, Explored(ground)), None) if decision.allowed else (state, decision.code)


def look_often(limits: Budget, ground: Ground, times: int, state: BudgetState | None = None) -> list[ErrorCode | None]:
    state = state or BudgetState()
    answers = []
    for _ in range(times):
        state, answer = look(state, limits, ground)
        answers.append(answer)
    return answers


def test_x01_with_four_rereads_the_sixth_read_of_a_file_is_refused() -> None:
    assert look_often(budget(rereads=4), APP, 6) == [None] * 5 + [EXCEEDED]


def test_x03_of_twenty_reads_one_after_the_other_exactly_five_are_answered() -> None:
    assert look_often(budget(rereads=4), APP, 20).count(None) == 5


def test_rereads_of_different_grounds_share_one_count() -> None:
    state, limits = BudgetState(), budget(rereads=1)
    folder = Ground.of_folder("src")
    for ground in (APP, folder, APP):
        state, answer = look(state, limits, ground)
        assert answer is None
    assert look(state, limits, folder)[1] is EXCEEDED


def test_a_write_gives_the_rereads_back_and_the_next_look_is_a_first_one() -> None:
    state, limits = BudgetState(), budget(rereads=1)
    for event in (Explored(APP), Explored(APP)):
        state = apply(state, event)
    assert not decide(state, limits, APP).allowed
    assert look_often(limits, APP, 3, apply(state, Wrote())) == [None, None, EXCEEDED]


def test_a_write_does_not_give_distinct_grounds_back() -> None:
    limits = budget(distinct=2)
    state = apply(apply(apply(BudgetState(), Explored(APP)), Explored(Ground.of_folder("."))), Wrote())
    assert decide(state, limits, Ground.of_folder("src")).code is EXCEEDED
    assert decide(state, limits, APP).allowed


def test_a_refused_call_costs_nothing() -> None:
    state = apply(BudgetState(), Explored(APP))
    assert apply(state, Denied()).covered == state.covered
    assert apply(state, Denied()).rereads == 0


def test_windows_folders_and_searches_are_grounds_of_their_own() -> None:
    grounds = {
        APP,
        Ground.of_file("src/app.mjs", 1, 200),
        Ground.of_file("src/app.mjs", 201, 200),
        Ground.of_folder("src/app.mjs"),
        Ground.of_search({"pattern": "a", "globs": []}),
        Ground.of_search({"pattern": "a", "globs": ["x"]}),
    }
    assert len(grounds) == 6
    assert Ground.of_search({"globs": [], "pattern": "a"}) in grounds


def test_without_bounds_everything_may_be_looked_at() -> None:
    limits = budget(distinct=None, rereads=None)
    assert set(look_often(limits, APP, 500)) == {None}


def test_no_rereads_at_all_is_a_policy() -> None:
    assert look_often(budget(rereads=0), APP, 2) == [None, EXCEEDED]


def test_enough_denials_end_the_run() -> None:
    limits = budget(denials=2)
    state = apply(BudgetState(), Denied())
    assert decide(state, limits, APP).allowed
    state = apply(state, Denied())
    assert state.ended(limits)
    assert decide(state, limits, APP).code is ErrorCode.RUN_ENDED
    assert not state.ended(Budget())


@pytest.mark.parametrize("limits", [{"distinct": 1}, {"distinct": 1, "rereads": 0}])
def test_a_refusal_says_what_was_used_up_and_what_to_do(limits: dict[str, int]) -> None:
    state = apply(BudgetState(), Explored(APP))
    decision = decide(state, budget(**limits), Ground.of_folder("other"))
    assert decision.code is EXCEEDED
    assert decision.message
    assert decision.hint
