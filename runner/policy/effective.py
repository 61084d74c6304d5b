"""A policy as it takes effect: every default filled in, what holds at a boundary, and where two policies differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runner.policy.argv_rules import BUILTIN_RULES, Rule
from runner.policy.document import Policy

__all__ = ["ASKED", "BOUNDARY", "GUARD_RAIL", "KINDS", "differing_keys", "effective", "flat"]

BOUNDARY = "boundary"
GUARD_RAIL = "guard rail"
BOTH = "guard rail, boundary for what leaves"

KINDS: Mapping[str, str] = {
    "writeAllow": BOTH,
    "rewriteAllow": BOTH,
    "writeDeny": BOTH,
    "appendOnly": BOTH,
    "bins": GUARD_RAIL,
    "argv": GUARD_RAIL,
    "commandWrites": GUARD_RAIL,
    "commit": GUARD_RAIL,
    "budget.distinct": GUARD_RAIL,
    "budget.rereads": GUARD_RAIL,
    "budget.denials": BOUNDARY,
    "limits": BOUNDARY,
    "network": BOUNDARY,
    "runtime": BOUNDARY,
    "push": BOUNDARY,
    "bindings": BOUNDARY,
}
"""What holds a key, by the key or the section above it: the host and the kernel, or a refusal that code inside can get
around. Keys that are not here restrain nothing. docs/POLICY.md has the same, and a test compares the two."""

ASKED = ("writeAllow", "rewriteAllow", "writeDeny", "appendOnly", "bins", "argv.preset", "argv.rules", "push.branches")
"""Keys that are settled by asking: of a narrowed policy, what is allowed by it and by each reading of it."""

_NARROW = re.compile(r"narrow\.[0-9]+\.")

_OPEN = ("env",)  # sections whose keys are the operator's own


def effective(policy: Policy) -> dict[str, Any]:
    """The whole document with defaults, and what follows from it: where may be written, and what kind each key is."""
    document = _document(policy)
    within = {f"within narrow.{number}": _writable(reading) for number, reading in policy.narrower}
    never = [deny for _, layer in ((0, policy), *policy.narrower) for deny in layer.write_deny]
    never = list(dict.fromkeys([".git, in any spelling, at any depth", *never]))
    return {
        "policy": document,
        "writable": {**_writable(policy), "never": never, **within},
        "argvRules": [*_own_rules(policy), *_builtin_rules(policy)],
        "kinds": {key: kind for key in flat(document) if (kind := kind_of(key)) is not None},
    }


def _writable(policy: Policy) -> dict[str, Any]:
    return {
        "create": list(dict.fromkeys((*policy.write_allow, *policy.rewritable))),
        "rewriteAndExecute": list(policy.rewritable),
        "onlyAddLines": list(policy.append_only),
    }


def _own_rules(policy: Policy) -> Iterator[dict[str, Any]]:
    above = policy
    yield from (_told(rule, "") for rule in policy.argv.rules)
    for number, reading in policy.narrower:
        more = len(reading.argv.rules) - len(above.argv.rules)  # those of the file stand before what it found
        yield from (_told(rule, f"narrow.{number}.") for rule in reading.argv.rules[:more])
        above = reading


def _told(rule: Rule, by: str) -> dict[str, Any]:
    code = (rule.code or "bin_not_allowlisted") if rule.decision == "deny" else "allow"
    return {"id": f"{by}{rule.rule}", "answer": code, "reason": rule.reason}


def _builtin_rules(policy: Policy) -> Iterator[dict[str, Any]]:
    """Those of `default` hold in `strict` too, after the own ones."""
    strict = any(layer.argv.preset == "strict" for _, layer in ((0, policy), *policy.narrower))
    for rule in BUILTIN_RULES:
        if rule.preset == "default" or strict:
            yield {"id": rule.id, "answer": "allow" if rule.code is None else str(rule.code), "reason": rule.reason}


def kind_of(key: str) -> str | None:
    """Boundary or guard rail; None for a key that restrains nothing. A narrowing's key is of the same kind."""
    key = _NARROW.sub("", key)
    while key:
        if key in KINDS:
            return KINDS[key]
        key = key.rpartition(".")[0]
    return None


def flat(document: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The values by dotted key; a list, and a section that is empty, is a value."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping) and value and name not in _OPEN:
            found |= flat(value, f"{key}.")
        else:
            found[key] = value
    return found


def _document(policy: Policy) -> dict[str, Any]:
    document = _plain(policy)
    if policy.narrower:
        own = flat(document)
        readings = {str(number): flat(_plain(reading)) for number, reading in policy.narrower}
        document["narrow"] = {
            number: {key: reading[key] for key in ASKED if reading[key] != own[key]}
            for number, reading in readings.items()
        }
    return document


def _plain(policy: Policy) -> dict[str, Any]:
    document = policy.model_dump(mode="json", by_alias=True)
    document["rewriteAllow"] = list(policy.rewritable)
    return document


def differing_keys(first: Policy, second: Policy) -> Iterator[tuple[str, Any, Any]]:
    """Every key whose effective values differ, in the document's order, with both values."""
    one, other = (flat(_document(policy)) for policy in (first, second))
    for key in dict.fromkeys((*one, *other)):
        if one.get(key) != other.get(key):
            yield key, one.get(key), other.get(key)
