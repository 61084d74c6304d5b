"""The decisions that are measured are those that an agent's calls meet: allowed ones and denied ones."""

from __future__ import annotations

import pytest

from benchmarks.decisions import ARGV_CASES, FILE_CASES, AliasTree
from benchmarks.ledger import FILES, file_name
from runner.policy.argv import decide_argv
from runner.policy.argv_policy import argv_policy
from runner.policy.load import load_policy
from runner.policy.writes import WriteRules, decide_write


def test_the_file_calls_meet_allowing_and_denying_rules_of_the_default_preset() -> None:
    rules = WriteRules.compile(load_policy("default").policy)
    decisions = {name: decide_write(rules, *case).allowed for name, case in FILE_CASES.items()}
    assert [name for name, allowed in decisions.items() if not allowed] == [
        "write a denied file",
        "write through a link",
    ]


@pytest.mark.parametrize("preset", ["default", "strict"])
def test_the_preset_judges_commands_by_its_own_rules_and_follows_the_alias(preset: str) -> None:
    document, tree = load_policy(preset).policy, AliasTree()
    policy = argv_policy(document, WriteRules.compile(document), tree)
    assert document.argv.preset == preset
    assert all(decide_argv(ARGV_CASES[name], policy, tree).allowed for name in ("git status", "a git alias"))
    assert decide_argv(ARGV_CASES["git rebase -i"], policy, tree).allowed == (preset == "default")


def test_every_file_of_the_large_tree_has_a_name_of_its_own() -> None:
    assert len({file_name(number) for number in range(FILES)}) == FILES
