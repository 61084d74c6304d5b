from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from runner.model.errors import PolicyInvalid
from runner.model.tree import TreeChange
from runner.policy.changes import BaseTree, ChangeFacts, judge_changes
from runner.policy.document import Policy
from runner.policy.load import parse_policy, policy_digest
from runner.policy.push import decide_branch, judge_push
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write, must_append
from tests.support.policies import P0, policy

KEYS = st.sampled_from([field.alias or name for name, field in Policy.model_fields.items()])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
RULES = WriteRules.compile(policy(**P0))
ANY_PATH = st.text(alphabet=st.characters() | st.sampled_from("/./.git"), max_size=40)


def check(content: bytes) -> None:
    try:
        loaded = parse_policy(content, source="p.yml")
    except PolicyInvalid as error:
        assert error.message.startswith("p.yml:")
        assert "\n" not in error.message
        return
    assert loaded.digest == policy_digest(loaded.policy)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_invalid(content: bytes) -> None:
    check(content)


@given(st.text(alphabet="a: -[]{}&*!|>'\"%#\n\t,?01~<", max_size=60))
def test_any_yaml_punctuation_is_a_policy_or_invalid(text: str) -> None:
    check(text.encode())


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_values_under_known_keys_are_a_policy_or_invalid(data: dict[str, object]) -> None:
    check(json.dumps(data).encode())


@given(ANY_PATH, ANY_PATH, st.sampled_from(WriteOp), st.booleans(), st.booleans())
def test_any_path_gets_a_decision(asked: str, real: str, op: WriteOp, via_link: bool, existed: bool) -> None:
    facts = PathFacts(real, via_link=via_link, existed_at_start=existed)
    decision = decide_write(RULES, WriteIntent(op, asked), facts)
    must_append(RULES, facts)
    assert decision.rule
    assert decision.allowed or (decision.code and decision.message and decision.hint)


@given(st.lists(st.tuples(ANY_PATH, st.sampled_from([None, 0o100644, 0o120000, 0o160000, 7])), max_size=4), st.text())
def test_any_changes_get_a_verdict(paths: list[tuple[str, int | None]], branch: str) -> None:
    changes = [TreeChange(path, 0o100644, mode, "old", None if mode is None else "new") for path, mode in paths]
    facts = ChangeFacts(BaseTree.of({"src/a": "a", "notes/log.md": "log"}), lambda _: b"a\n")
    assert all(found.rule for found in judge_changes(RULES, changes, facts))
    judge_push(policy().push, changes)
    assert decide_branch(policy(), branch, "main").rule
