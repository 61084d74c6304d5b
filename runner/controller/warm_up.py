"""Making a warm run, in the order of any run: the intent is on disk and locked before anything has to be cleaned up."""

from __future__ import annotations

from dataclasses import replace

from runner.controller import posture
from runner.controller.demand import Shape
from runner.controller.gate_rooms import TRANSFER, transfer_mounts
from runner.controller.handover import prove_sandbox
from runner.controller.host import Host
from runner.controller.records import WARM
from runner.controller.specs import room_spec, workspace_spec
from runner.controller.stopwatch import utc
from runner.controller.warm import Warm, WarmRun, sources_of
from runner.engine.contract import SandboxSpec
from runner.engine.runtimes import DEFAULT_RUNTIME, choose_runtime

__all__ = ["IDLE_SECONDS", "warm_up"]

IDLE_SECONDS = 900
"""How long a container waits for its run at most: it is renewed then, so that none lives much longer than a run."""


def warm_up(host: Host, shape: Shape) -> WarmRun:
    """A run that may come, its containers started and proved.

    Raises:
        RunnerError: of whichever step failed; nothing of it is left then.
    """
    warm = WarmRun(shape, host.state.begin())
    try:
        warm.record.note(WARM, _intent(host, warm))
        image = host.engine.image(shape.image)
        run_id, asked = warm.record.run_id, _effective(host, shape)
        warm.workspace = _started(host, workspace_spec(host, run_id, asked, image.id, IDLE_SECONDS))
        if shape.place is not None:
            mounts = transfer_mounts(host, warm.record, shape.place)
            warm.room = _started(host, room_spec(host, run_id, asked, TRANSFER, mounts, IDLE_SECONDS))
        for each in (warm.workspace, warm.room):
            if each is not None:
                posture.require(prove_sandbox(each.sandbox, each.spec))
    except BaseException:
        warm.discard()
        raise
    return warm


def _effective(host: Host, shape: Shape) -> Shape:
    """With the runtime that the engine has for the one that the policy names, as a run would choose it."""
    if shape.runtime == DEFAULT_RUNTIME:
        return shape
    return replace(shape, runtime=choose_runtime(shape.runtime, host.engine.info().runtimes, exactly=False))


def _intent(host: Host, warm: WarmRun) -> dict[str, object]:
    place = warm.shape.place
    return {
        "run": warm.record.run_id,
        "since": utc(host.unix()),
        "image": warm.shape.image,
        "repository": None if place is None else place.address.url,
    }


def _started(host: Host, spec: SandboxSpec) -> Warm:
    sources = sources_of(spec.mounts)  # before: what is put in their place meanwhile is another one
    return Warm(host.engine.start(spec), spec, sources)
