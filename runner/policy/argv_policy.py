"""The argv rules of a policy document over one tree: the same for a live call, an explanation and a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runner.policy.answers import CommandTree
from runner.policy.argv_values import ArgvPolicy
from runner.policy.document import Policy
from runner.policy.writes import WriteRules, executable_in

__all__ = ["argv_policy", "setup_argv_policy"]


def argv_policy(policy: Policy, rules: WriteRules, tree: CommandTree) -> ArgvPolicy:
    """What `judge_argv` takes; paths are judged by where they really lead. `rules` are the policy's."""
    made = tree.created_files
    first, *others = (_scratch(layer, tree) for _, layer in rules.layers)
    readings = zip(policy.narrower, others, strict=True)
    narrower = tuple((number, _of(reading, scratch, made)) for (number, reading), scratch in readings)
    return _of(policy, first, made, narrower)


def setup_argv_policy(policy: Policy) -> ArgvPolicy:
    """The same for set-up, when nothing was made by a run yet."""
    narrower = tuple((number, _of(reading, _anything, tuple)) for number, reading in policy.narrower)
    return _of(policy, _anything, tuple, narrower)


def _of(
    policy: Policy,
    scratch_allowed: Callable[[str], bool],
    created_files: Callable[[], Iterable[str]],
    narrower: tuple[tuple[int, ArgvPolicy], ...] = (),
) -> ArgvPolicy:
    return ArgvPolicy(
        bins=frozenset(policy.bins),
        verify_task=policy.verify_task,
        scratch_allowed=scratch_allowed,
        created_files=created_files,
        preset=policy.argv.preset,
        rules=policy.argv.rules,
        narrower=narrower,
    )


def _scratch(rules: WriteRules, tree: CommandTree) -> Callable[[str], bool]:
    return lambda path: executable_in(rules, tree.real_path(path))


def _anything(_path: str) -> bool:
    return True
