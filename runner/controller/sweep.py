"""What a crash left: found by label, removed when nobody holds the run any more.

Ours (this state folder's) goes when no controller holds its run. Another controller's goes only long after its own
deadline, when that controller has plainly not done it, and only where nothing runs: the wall clock may have jumped, and
what runs ends itself by the kernel's uptime, which cannot. `objects` of neither kind are never touched.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.controller.cache_store import CACHE_DRAFT
from runner.controller.records import WARM, StateFolder
from runner.engine.contract import Engine, SandboxInfo
from runner.gate.folders import remove_tree
from runner.model.errors import RunnerError

__all__ = ["FOREIGN_GRACE_SECONDS", "Swept", "is_orphan", "sweep"]

_RUNNING = "running"
FOREIGN_GRACE_SECONDS = 600
"""How long after its deadline another controller's object is left alone."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What was removed, and what could not be, with the reason."""

    removed: tuple[SandboxInfo, ...]
    failed: tuple[tuple[SandboxInfo, str], ...]


def is_orphan(found: SandboxInfo, state: StateFolder, now_unix: float) -> bool:
    """Whether `found` belongs to nobody any more."""
    if found.controller_id == state.controller_id:
        return not state.alive(found.run_id)
    late = bool(found.deadline_unix) and now_unix > found.deadline_unix + FOREIGN_GRACE_SECONDS
    return late and found.state != _RUNNING


def sweep(engine: Engine, state: StateFolder, now_unix: float) -> Swept:
    """Every orphan is gone, or named with the reason why not.

    Raises:
        EngineUnavailable: when the engine cannot be asked at all.
    """
    removed: list[SandboxInfo] = []
    failed: list[tuple[SandboxInfo, str]] = []
    for found in engine.objects():
        if not is_orphan(found, state, now_unix):
            continue
        try:
            engine.remove(found)
            removed.append(found)
        except RunnerError as error:
            failed.append((found, error.message))
    _drop_drafts(state)
    return Swept(tuple(removed), tuple(failed))


def _drop_drafts(state: StateFolder) -> None:
    """Of runs that ended: scratch repositories of pushes, half-packed caches, and all of a run that never began."""
    for folder in state.unswept():
        if (folder / WARM).exists() and not (folder / "run.json").exists():
            remove_tree(folder)
        remove_tree(folder / "quarantine")
        (folder / CACHE_DRAFT).unlink(missing_ok=True)
        state.swept(folder)
