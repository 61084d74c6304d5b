"""A refusal counts only when every call was refused for the right reason and the host saw nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from examples.session import Answer
from examples.verdict import Scene, Verdict, judge, refused, refused_without_trace

Make = Callable[..., Answer]
MakeScene = Callable[..., Scene]

NO_TRACE = {"ran": False, "others": []}


def always_held(_scene: Scene) -> Verdict:
    return Verdict(True, "contained", "test", "")


def test_refused_names_each_rule_and_code(refusal: Make, scene: MakeScene) -> None:
    verdict = refused("a", "b")(scene(refusal("a", "rule.one"), refusal("b", "rule.two")))
    assert verdict == Verdict(True, "refused", "rule.one, rule.two", "a, b")


def test_one_call_that_went_through_is_an_escape(refusal: Make, command: Make, scene: MakeScene) -> None:
    assert not refused("a")(scene(refusal("a"), command())).held


def test_a_refusal_for_another_reason_is_an_escape(refusal: Make, scene: MakeScene) -> None:
    assert not refused("a")(scene(refusal("run_ended"))).held


def test_no_answer_at_all_is_an_escape(scene: MakeScene) -> None:
    assert not refused("a")(scene()).held


def test_refused_without_trace_holds_when_the_look_found_nothing(
    refusal: Make, command: Make, scene: MakeScene
) -> None:
    assert refused_without_trace("a")(scene(refusal("a"), command(NO_TRACE))).held


@pytest.mark.parametrize("facts", [{"ran": True, "others": []}, {"ran": False, "others": ["/tmp/x"]}, None])
def test_a_refused_write_that_left_a_trace_is_an_escape(
    refusal: Make, command: Make, scene: MakeScene, facts: Any
) -> None:
    assert not refused_without_trace("a")(scene(refusal("a"), command(facts))).held


@pytest.mark.parametrize(
    "seen",
    [
        {"moved_refs": frozenset({"refs/heads/main"})},
        {"moved_refs": frozenset({"refs/heads/main", "refs/heads/a"}), "allowed_refs": frozenset({"refs/heads/a"})},
        {"host_contacts": 1},
        {"host_trap_sprung": True},
    ],
    ids=["a ref moved", "another ref moved too", "the host was reached", "the trap was sprung"],
)
def test_what_the_host_saw_overrules_the_answers(scene: MakeScene, command: Make, seen: dict[str, Any]) -> None:
    assert not judge(scene(command(), **seen), always_held).held


def test_a_secret_in_any_answer_overrules_the_judge(scene: MakeScene, command: Make) -> None:
    quiet = scene(command({"found": "nothing"}))
    assert judge(quiet, always_held).held
    assert not judge(scene(command(), command({"found": quiet.canary})), always_held).held


def test_a_ref_that_the_attempt_may_move_is_no_escape(scene: MakeScene, command: Make) -> None:
    allowed = frozenset({"refs/heads/a"})
    assert judge(scene(command(), moved_refs=allowed, allowed_refs=allowed), always_held).held
