"""The run's own container: a warm one that is proved again, or a fresh one that starts beside the gate's work.

Nothing of the repository is in either, and nothing is asked of either before its posture is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from runner.controller import posture
from runner.controller.aside import Starting
from runner.controller.handover import hand_over, prove_sandbox
from runner.controller.posture import Check
from runner.controller.specs import workspace_spec
from runner.engine.contract import ImageInfo, Sandbox, SandboxSpec

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["WorkspaceStart"]


class WorkspaceStart:
    """Begun before the gate's work, finished after it; whatever happens, the run's teardown removes the container."""

    def __init__(self, run: Prepared, image: ImageInfo) -> None:
        self._run = run
        self._spec = workspace_spec(run.host, run.record.run_id, run.shape, image.id)
        self._ready: Sandbox | None = None
        self._starting = Starting(run.host.engine, self._spec)

    def begin(self) -> None:
        """A warm one is handed over, or a fresh one is on its way."""
        run = self._run
        if run.host.pool is not None:
            run.facts["warm"] = {"workspace": False, "gate": False, "refused": []}
        warm = None if run.warm is None else run.warm.workspace
        if warm is not None:
            run.watch.start("posture")
            self._tell(warm.spec, warm=True)
            checks = hand_over(run, warm, self._spec)
            if checks is not None:
                run.progress("a warm workspace is taken")
                self._note(checks)
                self._ready = warm.sandbox
                return
        run.progress("starting a fresh workspace")
        self._tell(self._spec, warm=False)
        run.workspace = self._starting
        run.containers.append(self._starting)  # before it begins: an interrupt may come at any moment
        self._starting.begin()

    def finish(self) -> Sandbox:
        """It is up, and its every control was seen active.

        Raises:
            EngineUnavailable, SandboxLost: it could not be started.
            PostureFailed: a control is not active.
        """
        run = self._run
        run.watch.start("start")
        sandbox = self._ready or self._starting.sandbox()
        self._say_doubts()
        run.watch.start("posture")
        if self._ready is not None:
            return sandbox  # proved as it was handed over
        checks = prove_sandbox(sandbox, self._spec)
        self._note(checks)
        posture.require(checks)
        return sandbox

    def _say_doubts(self) -> None:
        """What the engine may let out is no reason to refuse a run, and one that its reader must know."""
        unclear = self._run.host.engine.doubts()
        if unclear:
            self._run.facts["engine"] = {"unclear": list(unclear)}
            self._run.progress(f"WARNING: the engine may let containers out: {'; '.join(unclear)}; see `runner doctor`")

    def _tell(self, spec: SandboxSpec, *, warm: bool) -> None:
        told = {"image": spec.image, "deadline_unix": spec.deadline_unix, "warm": warm}
        self._run.audit.append("workspace.start", told)

    def _note(self, checks: Sequence[Check]) -> None:
        run = self._run
        run.facts["posture"] = [asdict(check) for check in checks]
        run.audit.append("posture", {"checks": run.facts["posture"]})
