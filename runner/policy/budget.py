"""The exploration budget: a state machine over a run's calls, without clock or IO.

- Each different thing looked at (a window of a file, a folder, a search with its arguments) is one ground. A run has
  `distinct` of them.
- Looking again at a ground with no successful write, edit, delete or commit in between is a re-read. A run has
  `rereads` of them, and any such success gives them all back. The distinct count stays.
- A refused call costs nothing. What commands read does not count.
- After `denials` refusals the run ends. A bound that is None does not hold.

`decide` before the call, then `apply` what happened. Callers serialise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.document import Budget
from runner.policy.paths import shown

__all__ = ["BudgetState", "Denied", "Explored", "Ground", "Wrote", "apply", "decide"]


@dataclass(frozen=True, slots=True)
class Ground:
    """One thing that can be looked at: what kind of look, at what, and through which window or with which arguments."""

    kind: str
    subject: str
    detail: str = ""

    @classmethod
    def of_file(cls, path: str, start_line: int | None, limit: int | None) -> Ground:
        """A file, whole or through a window. Two windows are two grounds."""
        return cls("file", path, "" if start_line is None and limit is None else f"{start_line or 1}+{limit or ''}")

    @classmethod
    def of_folder(cls, path: str) -> Ground:
        """A folder's listing."""
        return cls("folder", path)

    @classmethod
    def of_search(cls, arguments: Mapping[str, object]) -> Ground:
        """A search. The arguments count as they are after defaults, in any order; they must be JSON values."""
        return cls("search", str(arguments.get("pattern", "")), json.dumps(arguments, sort_keys=True))


@dataclass(frozen=True, slots=True)
class Explored:
    """A look that was answered."""

    ground: Ground


@dataclass(frozen=True, slots=True)
class Wrote:
    """A write, edit, delete or commit that succeeded."""


@dataclass(frozen=True, slots=True)
class Denied:
    """A call that was refused, by this budget or by any other rule."""


Event = Explored | Wrote | Denied


@dataclass(frozen=True, slots=True)
class BudgetState:
    """What a run has used. A new run has used nothing."""

    covered: frozenset[Ground] = frozenset()
    since_write: frozenset[Ground] = frozenset()
    rereads: int = 0
    denials: int = 0

    def ended(self, budget: Budget) -> bool:
        """Whether the run is over because too many of its calls were refused."""
        return budget.denials is not None and self.denials >= budget.denials


def decide(state: BudgetState, budget: Budget, ground: Ground) -> Decision:
    """Whether the run may look at `ground` now."""
    if state.ended(budget):
        return Decision.deny(
            ErrorCode.RUN_ENDED,
            "budget.denials",
            f"The run ended after {state.denials} refused calls.",
            "Start another run.",
        )
    if ground in state.since_write:
        if budget.rereads is not None and state.rereads >= budget.rereads:
            return _refuse_reread(state, budget, ground)
        return Decision.allow("budget.reread")
    if ground not in state.covered and budget.distinct is not None and len(state.covered) >= budget.distinct:
        return Decision.deny(
            ErrorCode.EXPLORATION_BUDGET_EXCEEDED,
            "budget.distinct",
            f"This run has looked at {len(state.covered)} different files, folders and searches, which is all it has.",
            "Work with what has been read; those grounds may be read again.",
        )
    return Decision.allow("budget.distinct")


def apply(state: BudgetState, event: Event) -> BudgetState:
    """The state after the event."""
    if isinstance(event, Denied):
        return replace(state, denials=state.denials + 1)
    if isinstance(event, Wrote):
        return replace(state, since_write=frozenset(), rereads=0)
    ground = event.ground
    if ground in state.since_write:
        return replace(state, rereads=state.rereads + 1)
    covered = state.covered if ground in state.covered else state.covered | {ground}
    return replace(state, covered=covered, since_write=state.since_write | {ground})


def _refuse_reread(state: BudgetState, budget: Budget, ground: Ground) -> Decision:
    left = "any number of" if budget.distinct is None else str(max(0, budget.distinct - len(state.covered)))
    return Decision.deny(
        ErrorCode.EXPLORATION_BUDGET_EXCEEDED,
        "budget.rereads",
        f"The {ground.kind} {shown(ground.subject)} was looked at before, nothing was written since, and all "
        f"{budget.rereads} re-reads are used.",
        f"Write, edit, delete or commit something to get them back; {left} new files, folders or searches are left.",
    )
