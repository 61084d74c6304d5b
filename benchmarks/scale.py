"""Many runs side by side, in turn with as many bare containers: how many of them one host gets done in a while.

What a run does beyond the bare container of the comparison is told by its phases, and by the series of two containers:
a run has the gate's beside its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean

from benchmarks.interleave import Reading, interleave
from benchmarks.samples import Samples
from benchmarks.stage import Stage

__all__ = ["AT_ONCE", "RUNS_PER_SAMPLE", "scale"]

AT_ONCE = 4
RUNS_PER_SAMPLE = 20  # ten samples are 200 runs; each ends with an empty host, which is charged to both sides
_WARM_UP = 1


def scale(stage: Stage, rounds: int) -> dict[str, Samples]:
    """Milliseconds for each run and each container, `AT_ONCE` side by side; megabytes of the controller meanwhile.

    Raises:
        BenchFailed: when one of the runs did not complete.
    """

    def runs() -> Reading:
        phases: list[Mapping[str, float]] = []
        resident: list[float] = []

        def run() -> None:
            with stage.open(stage.small) as opened:
                opened.call("workspace.run_command", argv=["git", "--version"])
                resident.append(_resident_mb())
            phases.append(opened.milliseconds)

        each = _side_by_side(run)
        means = {f"phase {name}": fmean(spent[name] for spent in phases) for name in phases[0]}
        return {"run": each, "memory": max(resident), **means}

    def containers(number: int) -> Callable[[], None]:
        def bare() -> None:
            with ExitStack() as stack:
                for _ in range(number):
                    stage.bare.exec(stack.enter_context(stage.bare.container()), ["git", "--version"])

        return bare

    one, two = containers(1), containers(2)
    sides = (
        runs,
        lambda: {"container": _side_by_side(one)},
        lambda: {"two containers": _side_by_side(two)},
    )
    return interleave(sides, rounds, warm_up=_WARM_UP)


def _side_by_side(act: Callable[[], None]) -> float:
    """Milliseconds for each of `RUNS_PER_SAMPLE` acts."""
    started = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for done in [threads.submit(act) for _ in range(RUNS_PER_SAMPLE)]:
            done.result()
    return (time.perf_counter() - started) * 1000 / RUNS_PER_SAMPLE


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000
