"""The table of built-in rules against the checkers: every example decides as it says, and no rule is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.model.decision import Decision
from runner.model.errors import ErrorCode, ToolError
from runner.policy.argv import ArgvPolicy, decide_argv
from runner.policy.argv_rules import BUILTIN_RULES, BuiltinRule
from tests.support.argv_trees import BINS, ORIGINAL, FakeTree, full_write

POLICY = Path(__file__).resolve().parents[3] / "runner" / "policy"
_ID = re.compile(r'"((?:argv|git|launcher|npm|package|environment|mise|typecheck|scratch|strict)\.[a-z.-]+)"')
TABLES = {"builtin_rule.py", "builtin_rules.py", "scratch_rules.py", "strict_rules.py"}
_NO_RULES = {"mise.toml", "mise.local.toml", "package.json", "argv.preset", "argv.rules"}  # files and keys
BY_ID = pytest.mark.parametrize("rule", BUILTIN_RULES, ids=lambda rule: rule.id)


def _decide(rule: BuiltinRule, argv: tuple[str, ...]) -> tuple[str | None, ErrorCode | None]:
    """Rule and code of the answer, whether it is a decision or an error."""
    tree = FakeTree({**ORIGINAL, **rule.original}, dict(rule.created), set(rule.changed), dict(rule.aliases))
    policy = ArgvPolicy(BINS, "os:red", full_write, lambda: tuple(tree.created), rule.preset)
    try:
        decision: Decision = decide_argv(argv, policy, tree)
    except ToolError as error:
        return error.rule, error.code
    return decision.rule, decision.code


@BY_ID
def test_the_refused_example_is_refused_by_its_rule_and_the_near_miss_runs(rule: BuiltinRule) -> None:
    if rule.code is None:
        assert _decide(rule, rule.refused)[1] is not None
        assert _decide(rule, rule.allowed) == (rule.id, None)
    else:
        assert _decide(rule, rule.refused) == (rule.id, rule.code)
        assert _decide(rule, rule.allowed)[1] is None


def test_every_rule_that_the_checkers_name_is_in_the_table_once() -> None:
    sources = [path for path in POLICY.glob("*.py") if path.name not in TABLES]
    named = {found for path in sources for found in _ID.findall(path.read_text(encoding="utf-8"))} - _NO_RULES
    listed = [rule.id for rule in BUILTIN_RULES]
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) == named


@BY_ID
def test_every_rule_says_why(rule: BuiltinRule) -> None:
    assert rule.reason.endswith(".")
    assert rule.reason[:1].isupper() or rule.reason.startswith(("git ", "npm "))
