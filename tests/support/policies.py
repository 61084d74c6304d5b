"""The policy that the handed cases share."""

from __future__ import annotations

from runner.policy.document import Policy
from runner.policy.writes import WriteRules

P0 = {
    "writeAllow": ["src/**", "tests/**", "docs/**", "notes/**", "scratch/**", "package.json"],
    "rewriteAllow": ["src/**", "tests/**", "package.json"],
    "writeDeny": ["src/secret/**", "**/*.lock", ".github/**", "**/.env*"],
    "appendOnly": ["notes/log.md", "docs/CHANGELOG.md"],
}


def policy(**keys: object) -> Policy:
    """A policy with these keys, as a file would spell them."""
    return Policy.model_validate(keys)


def p0_rules() -> WriteRules:
    """The write rules of P0."""
    return WriteRules.compile(policy(**P0))
