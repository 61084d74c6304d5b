"""Single calls on an open workspace, whole path through the pipeline, in turn with what one would use instead."""

from __future__ import annotations

import subprocess

from benchmarks.floor import socket_echo, spawn_and_wait
from benchmarks.interleave import Side, interleave, timed
from benchmarks.pipe import pipe_copy
from benchmarks.repositories import FOUR_KIB, NEEDLE
from benchmarks.samples import Samples, Series
from benchmarks.stage import GIT, OpenRun, Stage
from runner.controller.environment import command_environment
from runner.engine.contract import SpawnRequest

__all__ = ["added", "command", "command_large", "copy_1m", "peers_command", "peers_read", "read_4k", "search"]

_WARM_UP = 3  # rounds: the engine's and our own first times
_MIB = 1024 * 1024
_FOUR_KIB_BYTES = 4096
_SEARCH = ("rg", "--no-config", "--no-ignore", "--hidden", "--line-number", "--with-filename", "--no-heading")
_VERSION = ["git", "--version"]


def command(stage: Stage, rounds: int) -> dict[str, Samples]:
    """`git --version` in a small tree: through the pipeline, as docker exec, and on the host."""
    with stage.open(stage.small) as run:
        floor = timed("posix_spawn", lambda: spawn_and_wait([GIT, "--version"]))
        return interleave((*_command_sides(stage, run), floor), rounds, warm_up=_WARM_UP)


def command_large(stage: Stage, rounds: int) -> dict[str, Samples]:
    """The same in a tree of 5,000 files."""
    with stage.open(stage.large) as run:
        return interleave(_command_sides(stage, run), rounds, warm_up=_WARM_UP)


def _command_sides(stage: Stage, run: OpenRun) -> tuple[Side, ...]:
    return (
        timed("runner", lambda: run.call("workspace.run_command", argv=_VERSION)),
        timed("exec", lambda: stage.bare.exec(run.sandbox.id, _VERSION)),
        timed("host", lambda: subprocess.run([GIT, "--version"], capture_output=True, check=True)),
    )


def read_4k(stage: Stage, rounds: int) -> dict[str, Samples]:
    """A file of 4 KiB: through the pipeline, as docker exec, and from a socket."""
    with stage.open(stage.small) as run, socket_echo(_FOUR_KIB_BYTES) as echo:
        sides = (
            timed("runner", lambda: run.call("workspace.read_file", path=FOUR_KIB)),
            timed("exec", lambda: stage.bare.exec(run.sandbox.id, ["cat", FOUR_KIB])),
            timed("socket", echo.ask),
        )
        return interleave(sides, rounds, warm_up=_WARM_UP)


def peers_command(stage: Stage, rounds: int) -> dict[str, Series]:
    """`git --version` in a small tree: through the pipeline, and by the peers."""
    with stage.open(stage.small) as run:
        ours = timed("runner", lambda: run.call("workspace.run_command", argv=_VERSION))
        sides = (ours, *stage.peers.sides(lambda peer: peer.run(_VERSION)))
        return {**interleave(sides, rounds, warm_up=_WARM_UP), **stage.peers.missing}


def peers_read(stage: Stage, rounds: int) -> dict[str, Series]:
    """A file of 4 KiB: through the pipeline, and by the peers."""
    with stage.open(stage.small) as run:
        ours = timed("runner", lambda: run.call("workspace.read_file", path=FOUR_KIB))
        sides = (ours, *stage.peers.sides(lambda peer: peer.read(FOUR_KIB, _FOUR_KIB_BYTES)))
        return {**interleave(sides, rounds, warm_up=_WARM_UP), **stage.peers.missing}


def copy_1m(stage: Stage, rounds: int) -> dict[str, Samples]:
    """1 MiB of text each way: through the pipeline, and through a pipe on this host."""
    line = "0123456789abcdef" * 4
    content = (f"{line[:-1]}\n" * (_MIB // len(line)))[:_MIB]
    with stage.open(stage.small) as run, pipe_copy(_MIB) as pipe:
        run.call("workspace.write_file", path="data/one-mib.txt", content=content)
        sides = (
            timed("runner read", lambda: run.call("workspace.read_file", path="data/one-mib.txt")),
            timed("pipe read", pipe.read),
            timed("runner write", lambda: run.call("workspace.write_file", path="data/other.txt", content=content)),
            timed("pipe write", pipe.write),
        )
        return interleave(sides, rounds, warm_up=_WARM_UP)


def search(stage: Stage, rounds: int) -> dict[str, Samples]:
    """20 matches in 5,000 files: through the pipeline, and by the search program itself."""
    program = SpawnRequest((*_SEARCH, "--fixed-strings", "--", NEEDLE, "."), command_environment({}), 60, _MIB)
    with stage.open(stage.large) as run:
        sides = (
            timed("runner", lambda: run.call("workspace.search", pattern=NEEDLE)),
            timed("rg", lambda: run.sandbox.spawn(program)),
        )
        return interleave(sides, rounds, warm_up=_WARM_UP)


def added(stage: Stage, rounds: int) -> dict[str, Samples]:
    """Three tools through the pipeline, each in turn with the one sandbox operation that does its work."""
    content = "x" * 4095 + "\n"
    raw = content.encode()
    program = SpawnRequest(tuple(_VERSION), command_environment({}), 60, _MIB, kill_at_bytes=64 * 1024 * 1024)
    with stage.open(stage.small) as run:
        sides = (
            timed("read_file", lambda: run.call("workspace.read_file", path=FOUR_KIB)),
            timed("sandbox read", lambda: run.sandbox.read(FOUR_KIB, max_bytes=_MIB)),
            timed("write_file", lambda: run.call("workspace.write_file", path="data/new.txt", content=content)),
            timed("sandbox write", lambda: run.sandbox.write("data/new.txt", raw)),
            timed("run_command", lambda: run.call("workspace.run_command", argv=_VERSION)),
            timed("sandbox spawn", lambda: run.sandbox.spawn(program)),
        )
        return interleave(sides, rounds, warm_up=_WARM_UP)
