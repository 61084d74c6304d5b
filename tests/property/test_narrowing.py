"""Whatever a narrowed policy allows, the policy allows as well; and what narrows it allows it too."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.model.errors import PolicyInvalid, ToolError
from runner.model.tree import TreeChange
from runner.policy.argv import judge_argv
from runner.policy.argv_policy import argv_policy
from runner.policy.changes import BaseTree, ChangeFacts, judge_changes
from runner.policy.document import BINS, Policy
from runner.policy.hosts import is_within
from runner.policy.load import parse_narrowing, parse_policy
from runner.policy.narrowing import NarrowingFile
from runner.policy.patterns import check_pattern
from runner.policy.push import decide_branch, judge_push
from runner.policy.writes import (
    PathFacts,
    WriteIntent,
    WriteOp,
    WriteRules,
    decide_write,
    executable_scratch,
    must_append,
    within_write_globs,
)
from tests.property.test_policy_load import KEYS, VALUES
from tests.support.argv_strategies import GRAMMATICAL, WORDS
from tests.support.narrowed import MadeTree, narrowed
from tests.support.path_strategies import PATHS, PATTERNS


def _can_take_effect(pattern: str) -> bool:
    try:
        check_pattern(pattern)
    except ValueError:
        return False
    return True


GLOBS = st.lists(PATTERNS.filter(_can_take_effect) | st.sampled_from(["**", "a/**", "b/**", "*.b"]), max_size=3)
PATH_KEYS = {"writeAllow": GLOBS, "rewriteAllow": GLOBS | st.none(), "writeDeny": GLOBS, "appendOnly": GLOBS}
FACTS = st.builds(PathFacts, PATHS, st.booleans(), st.booleans())


def _rule(decision: str, words: list[str], number: int) -> dict[str, Any]:
    examples = {"match": [words], "noMatch": [["git", "zz"]]}
    return {"id": f"r{number}", "reason": "R.", "match": words, "decision": decision, "examples": examples}


RULES = st.lists(
    st.builds(
        _rule,
        st.sampled_from(["deny", "deny", "allow"]),
        st.sampled_from([["git", "status"], ["git", "log"], ["node", "src/app.mjs"], ["npm", "run", "hi"]]),
        st.integers(0, 3),
    ),
    max_size=3,
)
ARGV = st.fixed_dictionaries({}, optional={"preset": st.sampled_from(["default", "strict"]), "rules": RULES})
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        **PATH_KEYS,
        "bins": st.lists(st.sampled_from(BINS), unique=True),
        "argv": ARGV,
        "push": st.fixed_dictionaries(
            {},
            optional={
                "branches": GLOBS,
                "forbid": st.lists(st.sampled_from(["symlink", "gitlink", "ci"]), unique=True),
                "maxCommits": st.integers(1, 20),
            },
        ),
        "limits": st.fixed_dictionaries({}, optional={"pids": st.integers(16, 40), "cpus": st.floats(0.1, 2.0)}),
        "budget": st.fixed_dictionaries({}, optional={"denials": st.integers(1, 5) | st.none()}),
        "commandWrites": st.sampled_from(["report", "revert"]),
        "network": st.fixed_dictionaries(
            {"run": st.fixed_dictionaries({"allow": st.lists(st.sampled_from(["npm", "*.a.b", "c.a.b", "a.b:1"]))})}
        ),
    },
)


def pair(base: dict[str, Any], *files: dict[str, Any]) -> tuple[Policy, Policy] | None:
    """The policy, and the policy as it is narrowed; None where one of the files may not be."""
    try:
        return narrowed(base), narrowed(base, *files)
    except PolicyInvalid:
        return None


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries({}, optional=PATH_KEYS),
    st.lists(st.fixed_dictionaries({}, optional=PATH_KEYS), min_size=1, max_size=2),
    FACTS,
    st.sampled_from(WriteOp),
)
def test_no_path_is_opened(base: dict[str, Any], files: list[dict[str, Any]], facts: PathFacts, op: WriteOp) -> None:
    both = pair(base, *files)
    if both is None:
        return
    wide, narrow = (WriteRules.compile(one) for one in both)
    intent = WriteIntent(op, facts.real_path)
    if decide_write(narrow, intent, facts).allowed:
        assert decide_write(wide, intent, facts).allowed
        assert must_append(narrow, facts) >= must_append(wide, facts)
    assert executable_scratch(narrow, facts.real_path) <= executable_scratch(wide, facts.real_path)
    assert within_write_globs(narrow, facts.real_path) <= within_write_globs(wide, facts.real_path)
    change = TreeChange(facts.real_path, 0o100644, None if op is WriteOp.DELETE else 0o100644, "old", "new")
    tree = ChangeFacts(
        BaseTree.of({facts.real_path: "old", "a/b": "old"} if facts.existed_at_start else {"a/b": "old"}),
        lambda blob: b"a\n" if blob == "old" else b"b\n",
    )
    if not judge_changes(narrow, [change], tree):
        assert not judge_changes(wide, [change], tree)


@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({}, optional=PATH_KEYS), st.fixed_dictionaries(PATH_KEYS), FACTS, st.sampled_from(WriteOp))
def test_what_is_written_is_allowed_by_the_narrowing_as_if_it_were_the_policy(
    base: dict[str, Any], file: dict[str, Any], facts: PathFacts, op: WriteOp
) -> None:
    both = pair(base, file)
    intent = WriteIntent(op, facts.real_path)
    if both is not None and decide_write(WriteRules.compile(both[1]), intent, facts).allowed:
        alone = WriteRules.compile(narrowed(file))
        assert decide_write(alone, intent, facts).allowed
        assert must_append(WriteRules.compile(both[1]), facts) >= must_append(alone, facts)


@settings(max_examples=200, deadline=None)
@given(
    POLICIES,
    POLICIES,
    st.one_of(
        GRAMMATICAL,
        st.tuples(st.sampled_from(BINS), WORDS).map(lambda parts: [parts[0], *parts[1]]),
        st.sampled_from([["git", "status"], ["git", "log"], ["node", "src/app.mjs"], ["npm", "run", "hi"]]),
    ),
)
def test_no_command_line_is_opened(base: dict[str, Any], file: dict[str, Any], argv: list[str]) -> None:
    both = pair(base, file)
    if both is None:
        return
    tree = MadeTree(created={"a/x.mjs": "", "b/x.mjs": ""})
    try:
        wide, narrow = (judge_argv(argv, argv_policy(one, WriteRules.compile(one), tree), tree) for one in both)
    except ToolError:
        return  # no argv at all
    if narrow.decision.allowed:
        assert wide.decision.allowed
        again = judge_argv(narrow.argv, argv_policy(both[0], WriteRules.compile(both[0]), tree), tree)
        assert again.decision.allowed or narrow.argv == wide.argv, "what runs is allowed by the policy as it runs"


@settings(max_examples=100, deadline=None)
@given(POLICIES, st.lists(POLICIES, min_size=1, max_size=3), PATHS, st.sampled_from([0o100644, 0o120000, 0o160000]))
def test_nothing_else_is_opened(base: dict[str, Any], files: list[dict[str, Any]], name: str, mode: int) -> None:
    both = pair(base, *files)
    if both is None:
        return
    wide, narrow = both
    assert decide_branch(narrow, name, "main").allowed <= decide_branch(wide, name, "main").allowed
    changes = [TreeChange(name, None, mode, None, "new"), TreeChange(".github/x", None, 0o100644, None, "new")]
    if not judge_push(narrow.push, changes):
        assert not judge_push(wide.push, changes)
    assert narrow.limits.pids <= wide.limits.pids and narrow.limits.cpus <= wide.limits.cpus
    assert narrow.push.max_commits <= wide.push.max_commits
    assert wide.budget.denials is None or (narrow.budget.denials or 99) <= wide.budget.denials
    assert wide.command_writes == "report" or narrow.command_writes == "revert"
    assert all(is_within(entry, wide.network.run.allow) for entry in narrow.network.run.allow)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_values_under_known_keys_narrow_or_are_invalid(data: dict[str, object]) -> None:
    base = parse_policy(b"writeAllow: [src/**]\nenv: {A: b}\n", source="p.yml")
    try:
        found = parse_narrowing(base, json.dumps(data).encode(), source="n.yml")
    except PolicyInvalid as error:
        assert error.message.startswith("n.yml:") and "\n" not in error.message
        return
    assert found.policy.env == base.policy.env


@given(st.binary(max_size=200))
def test_any_bytes_narrow_or_are_invalid(content: bytes) -> None:
    try:
        parse_narrowing(parse_policy(b"version: 1\n", source="p.yml"), content, source="n.yml")
    except PolicyInvalid as error:
        assert error.message.startswith("n.yml:")


def test_a_file_that_narrows_has_the_keys_of_a_policy() -> None:
    assert set(NarrowingFile.model_fields) == set(Policy.model_fields)
