"""A run that may come: its record, held, and its containers, started for its id and used by nobody.

The containers carry the run's id as a label, which nobody can change later. So the id is there first, with a record
that is locked as that of any run: what a dead process leaves of it is found and swept as what it leaves of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.controller.aside import remove_all
from runner.controller.demand import Shape
from runner.controller.records import RunRecord
from runner.engine.contract import Mount, Sandbox, SandboxSpec
from runner.model.errors import RunnerError

__all__ = ["Warm", "WarmRun", "sources_of"]


@dataclass(frozen=True, slots=True)
class Warm:
    """A container, what was asked for, and what its mounts led to as it was made."""

    sandbox: Sandbox
    spec: SandboxSpec
    sources: Mapping[str, tuple[int, int]]


class WarmRun:
    """Filled as its containers come up. Whoever takes it owns it whole."""

    def __init__(self, shape: Shape, record: RunRecord) -> None:
        self.shape = shape
        self.record = record
        self.workspace: Warm | None = None
        self.room: Warm | None = None

    @property
    def sandboxes(self) -> list[Sandbox]:
        """Its containers."""
        return [warm.sandbox for warm in (self.workspace, self.room) if warm is not None]

    @property
    def deadline_unix(self) -> int:
        """The earliest of its labels' deadlines."""
        return min((warm.spec.deadline_unix for warm in (self.workspace, self.room) if warm is not None), default=0)

    def discard(self) -> None:
        """Nothing is left of it. What the engine does not give up is the sweep's from here on. Never raises."""
        with suppress(RunnerError):
            remove_all(self.sandboxes)
            self.record.discard()
            return
        self.record.release()


def sources_of(mounts: Iterable[Mount]) -> dict[str, tuple[int, int]]:
    """Which folder or file stands at each mount's path now: another one of the same name is told from it."""
    found = {}
    for mount in mounts:
        with suppress(OSError):
            seen = Path(mount.path).stat()
            found[mount.path] = (seen.st_dev, seen.st_ino)
    return found
