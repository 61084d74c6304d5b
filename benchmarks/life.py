"""Whole runs: start, clone and teardown, in turn with the engine and the host's git doing the bare part of it.

What a phase of a run takes is read from the run's own stopwatch, the one that its report is made from.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack

from benchmarks.failure import BenchFailed
from benchmarks.interleave import Reading, interleave
from benchmarks.samples import Samples
from benchmarks.stage import GIT, Stage

__all__ = ["clone", "life"]

_WARM_UP = 1  # the first run makes the mirror
_REPOSITORY_PHASES = ("fetch", "clone", "setup", "baseline")
_START_PHASES = ("gate", "start", "posture")


def life(stage: Stage, rounds: int) -> dict[str, Samples]:
    """A run with one call, in turn with a bare container that is started and removed, and with two of them."""

    def run() -> Reading:
        started = time.perf_counter()
        with stage.open(stage.small) as opened:
            opened.call("workspace.list_dir", path=".")
            answered = (time.perf_counter() - started) * 1000
            phases = opened.milliseconds
        repository = sum(phases[name] for name in _REPOSITORY_PHASES)
        cold = {"cold start": answered - repository, "teardown": phases["teardown"]}
        return {**cold, **_phases(phases, _START_PHASES)}

    def bare() -> Reading:
        started = time.perf_counter()
        container = stage.bare.start()
        up = time.perf_counter()
        try:
            # What a run's teardown meets is a container with a process of ours in it, not one that is just starting.
            stage.bare.exec(container, ["true"])
        finally:
            removing = time.perf_counter()
            stage.bare.remove(container)
        return {"create and start": (up - started) * 1000, "rm -f": (time.perf_counter() - removing) * 1000}

    return interleave((run, bare, lambda: _two(stage)), rounds, warm_up=_WARM_UP)


def _two(stage: Stage) -> Reading:
    """As many containers as a run has, by what one writes without thinking of it: one after the other."""
    with ExitStack() as stack:
        started = time.perf_counter()
        containers = []
        for _ in range(2):
            containers.append(stage.bare.start())
            stack.callback(stage.bare.remove, containers[-1])
        up = time.perf_counter()
        for container in containers:
            stage.bare.exec(container, ["true"])
        removing = time.perf_counter()
        stack.close()
        removed = time.perf_counter()
    return {"create and start two": (up - started) * 1000, "rm -f two": (removed - removing) * 1000}


def clone(stage: Stage, rounds: int) -> dict[str, Samples]:
    """A run on the large repository, in turn with a clone on this host that borrows from the same mirror."""

    def run() -> Reading:
        with stage.open(stage.large) as opened:
            phases = opened.milliseconds
            opened.call("workspace.list_dir", path=".")
        ready = sum(phases[name] for name in _REPOSITORY_PHASES)
        return {"ready": ready, **_phases(phases, (*_REPOSITORY_PHASES, *_START_PHASES, "changes", "teardown"))}

    def host() -> Reading:
        target = stage.memory / "clone"
        mirror = _mirror_of_large(stage)
        argv = [GIT, "clone", "--quiet", "--shared", "--branch=main", "--", mirror, str(target)]
        started = time.perf_counter()
        subprocess.run(argv, env=stage.git_environment, check=True)
        milliseconds = (time.perf_counter() - started) * 1000
        shutil.rmtree(target)
        return {"clone --shared": milliseconds}

    return interleave((run, host), rounds, warm_up=_WARM_UP)


def _phases(milliseconds: Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    return {f"phase {name}": milliseconds[name] for name in names}


def _mirror_of_large(stage: Stage) -> str:
    """The mirror that the runs on the large repository keep: by far the largest one."""
    mirrors = list(stage.host.state.mirrors.glob("*/repo.git"))
    if not mirrors:
        raise BenchFailed("no run has made a mirror yet")
    return str(max(mirrors, key=lambda path: sum(pack.stat().st_size for pack in path.glob("objects/pack/*.pack"))))
