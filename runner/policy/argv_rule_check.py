"""Own rules that could never take effect, found when the policy loads."""

from __future__ import annotations

from collections.abc import Sequence

from runner.model.errors import ToolError
from runner.policy.argv import decide_argv
from runner.policy.argv_rules import ObligingTree, Rule
from runner.policy.argv_values import ArgvPolicy, Preset

__all__ = ["require_effect", "require_effect_together"]

_BINS = frozenset({"git", "pnpm", "npm", "node", "mise"})


def require_effect(rule: Rule) -> Rule:
    """The rule, when none of the examples that it matches is refused by the contract.

    Raises:
        ValueError: it allows what is refused before it is asked.
    """
    if rule.decision == "deny":
        return rule
    policy = ArgvPolicy(_BINS, "verify", lambda _path: True)
    for argv in rule.examples.match:
        try:
            decision = decide_argv(argv, policy, ObligingTree())
        except ToolError as error:
            raise ValueError(f"has an example that is no argv: {error.message}") from error
        if not decision.allowed:
            raise ValueError(f"allows what {decision.rule} refuses in any case, so it would never take effect")
    return rule


def require_effect_together(rules: Sequence[Rule], preset: Preset) -> None:
    """Nothing happens when ids are unique and, in the preset `default`, a rule that allows has one behind it to bend.

    Raises:
        ValueError: two rules have one id, or a rule would never take effect.
    """
    seen: set[str] = set()
    for number, rule in enumerate(rules):
        if rule.id in seen:
            raise ValueError(f"has two rules with the id {rule.id}; decisions name rules by it")
        seen.add(rule.id)
        denies = any(other.decision == "deny" for other in rules[number + 1 :])
        if rule.decision == "allow" and preset == "default" and not denies:
            raise ValueError(
                f"has the rule {rule.id}, which allows what `default` allows by itself and no rule behind it denies, "
                "so it would never take effect"
            )
