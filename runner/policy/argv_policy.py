"""The argv rules of a policy document over one tree: the same for a live call, an explanation and a replay."""

from __future__ import annotations

from runner.policy.answers import CommandTree
from runner.policy.argv_values import ArgvPolicy
from runner.policy.document import Policy
from runner.policy.writes import WriteRules, executable_scratch

__all__ = ["argv_policy"]


def argv_policy(policy: Policy, rules: WriteRules, tree: CommandTree) -> ArgvPolicy:
    """What `judge_argv` takes; paths are judged by where they really lead."""
    return ArgvPolicy(
        bins=frozenset(policy.bins),
        verify_task=policy.verify_task,
        scratch_allowed=lambda path: executable_scratch(rules, tree.real_path(path)),
        created_files=tree.created_files,
        preset=policy.argv.preset,
        rules=policy.argv.rules,
    )
