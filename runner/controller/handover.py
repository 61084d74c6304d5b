"""A warm container becomes its run's: proved again, and as good as a fresh one, or it is gone and the log says why.

What is asked is what a fresh container would be asked for now. A difference refuses the warm one and not the run: a
cold start can still give all of it, and proves that by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from runner.controller import posture
from runner.controller.aside import Aside
from runner.controller.posture import Check
from runner.controller.posture_mends import mend_of
from runner.controller.warm import Warm, sources_of
from runner.engine.contract import HostPosture, Sandbox, SandboxSpec
from runner.model.errors import EngineUnavailable, SandboxLost

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["hand_over", "prove_sandbox"]

_WHY = {
    "image": "the image has changed since it was started",
    "mounts": "what it sees of this host is not what it would be started with now",
    "posture": "a control that was active is not any more",
    "lost": "it does not answer",
}


def prove_sandbox(sandbox: Sandbox, spec: SandboxSpec) -> tuple[Check, ...]:
    """One check for each control of a container that has just started, or has waited since.

    Raises:
        EngineUnavailable, SandboxLost: it does not answer.
    """
    told: list[HostPosture] = []
    guest = sandbox.guest_posture(lambda: told.append(sandbox.host_posture()))  # both at once: neither is the other's
    return posture.prove(spec.limits, spec.runtime, told[0], guest, posture.Cage(spec.user, spec.mounts))


def hand_over(run: Prepared, warm: Warm, asked: SandboxSpec) -> tuple[Check, ...] | None:
    """The proof of a warm container that is the run's from now on; None: it is removed, verified, a cold one is due.

    Raises:
        AuditUnwritable: it could not be told.
        EngineUnavailable: the refused one cannot be removed.
    """
    reason, checks = _look(warm, asked)
    if reason is None:
        _begin(run, warm.sandbox)
        run.facts["warm"][asked.role] = True
        return tuple(checks)
    told = {"role": asked.role, "reason": reason}
    run.audit.append("warm.refused", {**told, "checks": [asdict(check) for check in checks if not check.active]})
    run.facts["warm"]["refused"].append(told)
    off = "".join(f" ({check.control}: {mend_of(check.control)})" for check in checks if not check.active)
    run.progress(f"WARNING: a warm container ({asked.role}) is not used: {_WHY[reason]}{off}; a fresh one is started")
    warm.sandbox.remove()
    run.containers.remove(warm.sandbox)
    return None


def _look(warm: Warm, asked: SandboxSpec) -> tuple[str | None, Sequence[Check]]:
    same = replace(asked, deadline_unix=warm.spec.deadline_unix, idle_seconds=warm.spec.idle_seconds)
    if same.image != warm.spec.image:
        return "image", ()
    if same != warm.spec or warm.sources != sources_of(asked.mounts):
        return "mounts", ()
    try:
        checks = prove_sandbox(warm.sandbox, warm.spec)
    except (EngineUnavailable, SandboxLost):
        return "lost", ()
    return (None if all(check.active for check in checks) else "posture"), checks


def _begin(run: Prepared, sandbox: Sandbox) -> None:
    """The container is being told that its run begins; the engine takes longer for that than for the whole proof.

    Should it fail, the container's own deadline is later by the time it might have waited; the run's limit is not.
    """

    def tell() -> None:
        with suppress(EngineUnavailable, SandboxLost):
            sandbox.begin_run()

    telling = Aside(tell)
    run.stack.callback(telling.settle)
    telling.begin()
