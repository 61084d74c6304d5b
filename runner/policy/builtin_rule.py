"""One rule for command lines that ships, as data: what it refuses and why, with an example and a near miss."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from runner.model.errors import ErrorCode

__all__ = ["BuiltinRule", "rule"]


@dataclass(frozen=True, slots=True)
class BuiltinRule:
    """One rule. `refused` is decided by it, `allowed` is a near miss that runs, over the files that the example needs.

    `code` is the usual one, None for a rule that allows (then the two examples are each other's near miss).
    """

    id: str
    reason: str
    code: ErrorCode | None
    refused: tuple[str, ...]
    allowed: tuple[str, ...]
    original: Mapping[str, str] = field(default_factory=dict)
    created: Mapping[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def preset(self) -> Literal["default", "strict"]:
        """The preset that has the rule; those of `default` hold in `strict` too."""
        return "strict" if self.id.startswith("strict.") or self.id == "argv.strict" else "default"


def rule(
    identity: str,
    code: ErrorCode | None,
    reason: str,
    refused: str | tuple[str, ...],
    allowed: str,
    *,
    scripts: Mapping[str, str] | None = None,
    created: tuple[str, ...] = (),
    changed: str = "",
    aliases: Mapping[str, str] | None = None,
) -> BuiltinRule:
    """The rule; an example is a line split at blanks and quotes. `scripts` are those of package.json."""
    return BuiltinRule(
        identity,
        reason,
        code,
        refused if isinstance(refused, tuple) else tuple(shlex.split(refused)),
        tuple(shlex.split(allowed)),
        {"package.json": json.dumps({"scripts": dict(scripts)})} if scripts else {},
        dict.fromkeys(created, ""),
        frozenset({changed}) if changed else frozenset(),
        aliases or {},
    )
