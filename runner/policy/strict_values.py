"""What the judges of `argv.preset: strict` share: how they refuse, and which known word was most likely meant.

The strict judges answer the argv that will be run, in one canonical spelling, or raise `NotAllowed`. They come after
the rules that always hold, and can only refuse more.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from runner.model.decision import Decision
from runner.model.errors import ErrorCode

__all__ = ["NotAllowed", "closed", "did_you_mean", "outside"]

_OPEN_IT = "Or ask whoever wrote the policy for an own rule."
_LONGEST_SHOWN = 80


class NotAllowed(Exception):
    """The argv is outside the closed world; `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message)
        self.decision = decision


def closed(rule: str, what: str, hint: str) -> NotAllowed:
    """The refusal of a word that the strict grammar does not have."""
    message = f"Refused by {rule}: {what}; the policy's preset `strict` runs only what it knows."
    return NotAllowed(Decision.deny(ErrorCode.BIN_NOT_ALLOWLISTED, rule, message, f"{hint} {_OPEN_IT}"))


def outside(rule: str, path: str) -> NotAllowed:
    """The refusal of a path that leads out of the workspace."""
    return NotAllowed(
        Decision.deny(
            ErrorCode.PATH_OUTSIDE_WORKSPACE,
            rule,
            f"Refused by {rule}: {path[:_LONGEST_SHOWN]!r} leads out of the workspace.",
            "Name a path of the workspace, relative to its root.",
        )
    )


def did_you_mean(word: str, known: Iterable[str], *, dashes: str = "") -> str:
    """A sentence that names the nearest of the known words, or else all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(word[:_LONGEST_SHOWN], names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean `{dashes}{near[0]}`?"
    return f"Known here: {', '.join(dashes + name for name in names) or 'none'}."
