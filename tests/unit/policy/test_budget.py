from __future__ import annotations

import pytest

from runner.model.decision import Decision
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
    refused = decide(state, limits, Ground.of_folder("src"))
    assert (refused.code, refused.rule) == (EXCEEDED, "budget.distinct")
    assert decide(state, limits, APP) == Decision.allow("budget.distinct")
    assert decide(apply(state, Explored(APP)), limits, APP) == Decision.allow("budget.reread")


def test_a_refused_call_costs_nothing() -> None:
    state = apply(BudgetState(), Explored(APP))
    assert apply(state, Denied()).covered == state.covered
    assert apply(state, Denied()).rereads == 0
    assert apply(apply(state, Denied()), Denied()).denials == 2


def test_what_a_write_makes_new_again_is_counted_as_looked_at_once() -> None:
    state = apply(apply(BudgetState(), Explored(APP)), Wrote())
    state = apply(state, Explored(APP))
    assert (state.covered, state.since_write, state.rereads) == (frozenset({APP}), frozenset({APP}), 0)
    state = apply(apply(state, Explored(APP)), Explored(APP))
    assert state.rereads == 2


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
    assert Ground.of_search({"globs": [], "pattern": "a"}).subject == "a"
    assert Ground.of_search({}) == Ground("search", "", "{}")
    assert APP == Ground("file", "src/app.mjs", "")
    assert Ground.of_folder("src") == Ground("folder", "src")


@pytest.mark.parametrize(
    ("start", "limit", "window"),
    [(None, None, ""), (1, None, "1+"), (None, 5, "1+5"), (7, 5, "7+5"), (7, None, "7+")],
)
def test_a_window_is_told_by_its_first_line_and_its_length(start: int | None, limit: int | None, window: str) -> None:
    assert Ground.of_file("a", start, limit) == Ground("file", "a", window)


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
    ended = decide(state, limits, APP)
    assert (ended.code, ended.rule) == (ErrorCode.RUN_ENDED, "budget.denials")
    assert ended.hint
    assert apply(state, Denied()).ended(limits)
    assert not state.ended(Budget())


@pytest.mark.parametrize("limits", [{"distinct": 1}, {"distinct": 1, "rereads": 0}])
def test_a_refusal_says_what_was_used_up_and_what_to_do(limits: dict[str, int]) -> None:
    state = apply(BudgetState(), Explored(APP))
    decision = decide(state, budget(**limits), Ground.of_folder("other"))
    assert (decision.code, decision.rule) == (EXCEEDED, "budget.distinct")
    assert decision.message
    assert decision.hint


@pytest.mark.parametrize(
    ("distinct", "left"), [(1, "0 new files"), (3, "2 new files"), (None, "any number of new files")]
)
def test_a_refused_reread_says_how_much_is_left_to_look_at(distinct: int | None, left: str) -> None:
    decision = decide(apply(BudgetState(), Explored(APP)), budget(distinct=distinct, rereads=0), APP)
    assert (decision.code, decision.rule) == (EXCEEDED, "budget.rereads")
    assert left in decision.hint
    assert "file `src/app.mjs`" in decision.message


def test_more_grounds_than_a_smaller_budget_leave_nothing() -> None:
    state = apply(apply(BudgetState(), Explored(APP)), Explored(Ground.of_folder(".")))
    assert "; 0 new files" in decide(state, budget(distinct=1, rereads=0), APP).hint
