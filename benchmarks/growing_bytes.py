"""What larger files and larger outputs cost, on one open run, the sizes in turn."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.growth import series_name
from benchmarks.interleave import Side, interleave, timed
from benchmarks.samples import Samples
from benchmarks.stage import OpenRun, Stage

__all__ = ["growing_files", "growing_output", "lines_of_text"]

_WARM_UP = 1
_KEPT_KIB = 2048  # of an output: what is more is counted and dropped, and 64 times as much is a flood
_PRINT = "const b = Buffer.alloc(65536, 'x'); let n = +process.argv[1]; const w = require('fs').writeSync; \
while (n > 0) n -= w(1, b, 0, Math.min(n, b.length));"


def lines_of_text(size: int) -> str:
    """ASCII text of exactly `size` bytes in lines of 64."""
    line = "0123456789abcdef" * 4
    return (f"{line[:-1]}\n" * (size // len(line) + 1))[:size]


def growing_files(stage: Stage, rounds: int, sizes: tuple[int, ...]) -> dict[str, Samples]:
    """For each size in bytes: a file is written by a tool call, and read whole by another."""
    with stage.open(stage.small) as run:
        sides: list[Side] = []
        for size in sizes:
            sides += _file_sides(run, size)
        return interleave(sides, rounds, warm_up=_WARM_UP)


def _file_sides(run: OpenRun, size: int) -> tuple[Side, ...]:
    path, text = f"data/{size}.txt", lines_of_text(size)
    return (
        timed(series_name("write", size), lambda: run.call("workspace.write_file", path=path, content=text)),
        timed(series_name("read", size), lambda: run.call("workspace.read_file", path=path)),
        timed(series_name("hash", size), lambda: run.call("workspace.run_command", argv=["git", "hash-object", path])),
    )


def growing_output(stage: Stage, rounds: int, sizes: tuple[int, ...]) -> dict[str, Samples]:
    """For each size in bytes: a program that prints so much, of which the answer holds the first 2 MiB."""
    limits = stage.policy.policy.limits.model_copy(update={"output_kib": _KEPT_KIB})
    policy = replace(stage.policy, policy=stage.policy.policy.model_copy(update={"limits": limits}))
    with stage.open(stage.small, policy) as run:
        return interleave([_output_side(run, size) for size in sizes], rounds, warm_up=_WARM_UP)


def _output_side(run: OpenRun, size: int) -> Side:
    argv = ["node", "-e", _PRINT, str(size)]
    return timed(series_name("output", size), lambda: run.call("workspace.run_command", argv=argv))
