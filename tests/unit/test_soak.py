"""The soak's own rules: who is hostile, what counts as held, what counts as growth, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest

from runner.policy.load import parse_policy
from runner.tools.base import parse_arguments
from runner.tools.registry import TOOLS
from soak.runs import HOSTILE, NORMAL, POLICY, Kind, kind_of
from soak.watch import Look, grown


def test_every_third_run_is_hostile_and_every_kind_has_its_turn() -> None:
    kinds = [kind_of(number) for number in range(3 * len(HOSTILE))]
    assert [number for number, kind in enumerate(kinds) if kind in HOSTILE] == list(range(2, 3 * len(HOSTILE), 3))
    assert {kind.name for kind in kinds} == {kind.name for kind in (*NORMAL, *HOSTILE)}


@pytest.mark.parametrize("kind", [*NORMAL, *HOSTILE], ids=lambda kind: kind.name)
def test_what_a_run_calls_are_calls_of_tools_that_there_are(kind: Kind) -> None:
    for tool, arguments in kind.calls(7):
        parse_arguments(TOOLS[tool], arguments)


@pytest.mark.parametrize("kind", [*NORMAL, *HOSTILE], ids=lambda kind: kind.name)
def test_no_kind_holds_when_all_is_answered_in_the_wrong_way(kind: Kind) -> None:
    wrong: dict[str, Any] = {"ok": False, "error": {"code": "internal_error"}}
    fine: dict[str, Any] = {"ok": True, "result": {"stdout": "42\n", "limits_hit": []}}
    count = len(kind.calls(0))
    assert not kind.held([wrong] * count)
    assert kind in NORMAL or not kind.held([fine] * count)


def test_the_policy_of_the_runs_loads() -> None:
    assert parse_policy(POLICY.encode(), source="soak").policy.limits.command_seconds == 4


def test_growth_within_its_bound_is_none_and_beyond_it_is_named() -> None:
    first = Look(100.0, 20, 5)
    assert grown(first, Look(160.0, 28, 9)) == []
    assert grown(first, Look(165.0, 29, 10)) == ["memory grew by 65", "descriptors grew by 9", "threads grew by 5"]
