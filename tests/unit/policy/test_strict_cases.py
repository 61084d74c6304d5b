"""The conformance cases that argv alone decides, under `strict`: what is honest runs, what is refused stays so."""

from __future__ import annotations

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import FakeTree
from tests.support.strict import judge
from tests.unit.policy.test_argv_cases import CASES

CLOSED = {  # run by default, and outside the closed world
    ("B15", "strict.node.option"),
    ("S07", "strict.node.option"),
    ("B17", "strict.node.file"),
    ("editor", "strict.git.option"),
}


@pytest.mark.parametrize(("name", "argv", "code"), CASES)
def test_case_is_decided_as_by_default_unless_strict_closes_it(
    name: str, argv: list[str], code: ErrorCode | None
) -> None:
    made = {"scratch/a.mjs": "", "scratch/c.mjs": "", "scratch/package.json": '{"scripts":{"t":"echo x"}}'}
    decision = judge(argv, FakeTree(created=made)).decision
    if code is None and not decision.allowed:
        assert (name, decision.rule) in CLOSED
    else:
        assert decision.code is code
