"""Warm starts, in turn with cold ones: of a container that is proved and asked, and of whole runs; and what one weighs.

The pool is filled between the samples and outside of what is measured, as it is in the background of a server that has
nothing else to do at that moment.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.failure import BenchFailed
from benchmarks.interleave import Reading, interleave
from benchmarks.samples import Samples
from benchmarks.stage import Stage
from runner.controller import posture
from runner.controller.handover import prove_sandbox
from runner.controller.pool import Pool
from runner.controller.prepare import address_of
from runner.controller.spec import RunRequest
from runner.controller.specs import CLEAN_UP_SECONDS, shape_of, workspace_spec
from runner.controller.warm_up import IDLE_SECONDS, warm_up
from runner.engine.contract import Sandbox
from runner.policy.load import LoadedPolicy

__all__ = ["acquire", "idle", "warm_run"]

_WARM_UP = 1
_KIB_PER_MB = 1000 / 1.024


def acquire(stage: Stage, rounds: int) -> dict[str, Samples]:
    """A workspace that answers, its posture proved: from the pool, started, and merely started by the engine."""
    shape = shape_of(stage.host, stage.policy.policy)

    def warm() -> Reading:
        pool.expect(shape, 1)
        _fill(pool)
        started = time.perf_counter()
        taken = pool.take(shape, 1)
        if taken is None or taken.workspace is None:
            raise BenchFailed("nothing waited")
        pool.own(taken)
        posture.require(prove_sandbox(taken.workspace.sandbox, taken.workspace.spec))
        _ask(taken.workspace.sandbox)
        milliseconds = (time.perf_counter() - started) * 1000
        taken.discard()
        return {"warm": milliseconds}

    def cold() -> Reading:
        spec = replace(workspace_spec(stage.host, "", shape, stage.image.id), run_id=f"bench{time.monotonic_ns()}")
        started = time.perf_counter()
        sandbox = stage.host.engine.start(spec)
        try:
            posture.require(prove_sandbox(sandbox, spec))
            _ask(sandbox)
            return {"cold": (time.perf_counter() - started) * 1000}
        finally:
            sandbox.remove()

    def bare() -> Reading:
        started = time.perf_counter()
        container = stage.bare.start()
        milliseconds = (time.perf_counter() - started) * 1000
        stage.bare.remove(container)
        return {"create and start": milliseconds}

    with _pool(stage) as pool:
        return interleave((warm, cold, bare), rounds, warm_up=_WARM_UP)


def warm_run(stage: Stage, rounds: int) -> dict[str, Samples]:
    """Whole runs on the small repository, to the first answer: with workspace and gate warm, and cold."""
    request = RunRequest(str(stage.small), None, stage.policy, frozenset({"git"}), None)
    shape = shape_of(stage.host, stage.policy.policy, address_of(request))
    policy = replace(stage.policy, policy=stage.policy.policy.model_copy(update={"pool": 1}))

    with _pool(stage) as pool:
        pooled = replace(stage, host=replace(stage.host, pool=pool))

        def warm() -> Reading:
            pool.expect(shape, 1)
            _fill(pool)
            return {"warm": _to_first_answer(pooled, policy, warm=True)}

        def cold() -> Reading:
            return {"cold": _to_first_answer(stage, stage.policy, warm=False)}

        return interleave((warm, cold), rounds, warm_up=_WARM_UP)


def idle(stage: Stage, rounds: int) -> dict[str, Samples]:
    """The memory of a warm workspace's processes in MB, shared pages by their share. Two are there, as in a pool."""
    shape = shape_of(stage.host, stage.policy.policy)

    def weigh() -> Reading:
        with stage.sandbox() as other:
            other.guest_posture()
            taken = warm_up(stage.host, shape)
            try:
                if taken.workspace is None:
                    raise BenchFailed("nothing is warm")
                return {"idle": sum(map(_proportional_mb, stage.bare.processes(taken.workspace.sandbox.id)))}
            finally:
                taken.discard()

    return interleave((weigh,), rounds, warm_up=_WARM_UP)


@contextmanager
def _pool(stage: Stage) -> Iterator[Pool]:
    """A pool that is filled by hand, so that no start falls into what is measured."""
    pool = _ByHand(
        partial(warm_up, stage.host),
        most=1,
        at_once=1,
        idle_seconds=IDLE_SECONDS,
        clean_up_seconds=CLEAN_UP_SECONDS,
        clock=time.monotonic,
        unix=time.time,
    )
    try:
        yield pool
    finally:
        pool.close()


class _ByHand(Pool):
    def fill(self) -> None:
        """Nothing by itself."""


def _fill(pool: Pool) -> None:
    if not pool.round():
        raise BenchFailed(f"the pool cannot be filled: {pool.trouble}")


def _to_first_answer(stage: Stage, policy: LoadedPolicy, *, warm: bool) -> float:
    started = time.perf_counter()
    with stage.open(stage.small, policy) as opened:
        opened.call("workspace.list_dir", path=".")
        milliseconds = (time.perf_counter() - started) * 1000
        told = opened.run.prepared.facts.get("warm", {"workspace": False, "gate": False})
        if (told["workspace"], told["gate"]) != (warm, warm):
            raise BenchFailed(f"the run was not what it should be: {told}")
    return milliseconds


def _ask(sandbox: Sandbox) -> None:
    sandbox.list(".", max_entries=10)


def _proportional_mb(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise BenchFailed(f"the memory of process {process} cannot be seen from here: {error.strerror}") from error
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / _KIB_PER_MB
