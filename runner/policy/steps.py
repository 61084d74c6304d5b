"""An explanation as a value: numbered findings, and the decision that they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runner.model.decision import Decision

__all__ = ["ALLOW", "Explanation", "Step"]

ALLOW = "allow"
"""The outcome of an allowed call; every other outcome is an error's code."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was looked at, and what was found."""

    name: str
    found: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps in order; the last one is what `decision` follows from."""

    steps: tuple[Step, ...]
    decision: Decision

    @property
    def outcome(self) -> str:
        """`allow`, or the code of the refusal."""
        return ALLOW if self.decision.allowed else str(self.decision.code)

    def as_json(self) -> dict[str, Any]:
        """The explanation for a program."""
        decision = self.decision
        return {
            "steps": [{"step": number, "name": s.name, "found": s.found} for number, s in enumerate(self.steps, 1)],
            "allowed": decision.allowed,
            "code": None if decision.code is None else str(decision.code),
            "rule": decision.rule,
            "reason": decision.message,
            "hint": decision.hint,
        }
