"""Asking the argv policy of the preset `strict` over a tree in memory."""

from __future__ import annotations

from collections.abc import Sequence

from runner.policy.argv import ArgvPolicy, ArgvVerdict, judge_argv
from runner.policy.argv_rules import Rule
from runner.policy.argv_values import Phase, Preset
from tests.support.argv_trees import BINS, FakeTree, full_write

__all__ = ["judge", "runs"]


def judge(
    argv: Sequence[str],
    tree: FakeTree | None = None,
    *,
    phase: Phase = "run",
    preset: Preset = "strict",
    rules: tuple[Rule, ...] = (),
) -> ArgvVerdict:
    """What the policy says about the argv over the tree."""
    tree = tree or FakeTree()
    policy = ArgvPolicy(BINS, "os:red", full_write, lambda: tuple(tree.created), preset, rules)
    return judge_argv(argv, policy, tree, phase=phase)


def runs(argv: Sequence[str], tree: FakeTree | None = None, *, phase: Phase = "run") -> list[str]:
    """The argv that runs for one that is allowed."""
    verdict = judge(argv, tree, phase=phase)
    assert verdict.decision.allowed, verdict.decision.message
    return list(verdict.argv)
