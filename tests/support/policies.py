"""The policy that the handed cases share."""

from __future__ import annotations

from runner.model.errors import PolicyInvalid
from runner.policy.document import Policy
from runner.policy.load import parse_policy
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


def faults_of(content: bytes, *, source: str) -> list[str]:
    """Every fault that keeps the document from taking effect; empty when there is none."""
    try:
        parse_policy(content, source=source)
    except PolicyInvalid as error:
        return list(error.faults)
    return []


def p0_rules() -> WriteRules:
    """The write rules of P0."""
    return WriteRules.compile(policy(**P0))
