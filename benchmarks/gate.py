"""Pushes through the gate, in turn with a plain `git push` of the same to a repository of the same kind.

What a plain push leaves out is what the gate is for: an outbox with the repository's hook, a pack taken out into a room
without a network, strict checks of every object, the policy's judgement of every commit, and a push from another room.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.failure import BenchFailed
from benchmarks.interleave import Reading, interleave
from benchmarks.repositories import small_files
from benchmarks.samples import Samples
from benchmarks.stage import GIT, OpenRun, Stage
from runner.controller.environment import command_environment
from runner.engine.contract import SpawnRequest
from runner.policy.document import Binding, GitRemote
from runner.policy.load import LoadedPolicy

__all__ = ["PACK_BYTES", "push_pack", "push_small"]

# Of noise, which no pack makes smaller; in one file, or both sides would spend minutes on looking for likeness.
PACK_BYTES = 200_000_000
_WARM_UP = 1
_BRANCH = "work"
_SECONDS = 300.0
_COMMIT = "git add -A && git commit --quiet --no-verify -m work"
_NOTE = f"printf '%s\\n' \"$1\" >note.txt && {_COMMIT}"
_NOISE = f"head -c {PACK_BYTES} /dev/urandom >noise.bin && {_COMMIT}"


def push_small(stage: Stage, rounds: int) -> dict[str, Samples]:
    """One commit of one line each time: a run's `git_push`, and a push from this host to the same repository."""
    with _repository(stage) as bare, stage.open(bare, _pushing(stage)) as run, _clone(stage, bare) as clone:
        _inside(run, f"git switch --quiet --create {_BRANCH}")
        number = 0

        def gate() -> Reading:
            nonlocal number
            number += 1
            _inside(run, _NOTE, str(number))
            return {"runner": _timed_push(run)}

        def plain() -> Reading:
            _outside(stage, clone, _NOTE, str(number))
            return {"plain": _plain_push(stage, clone)}

        return interleave((gate, plain), rounds, warm_up=_WARM_UP)


def push_pack(stage: Stage, rounds: int) -> dict[str, Samples]:
    """200 MB that the remote does not have. Each time with a fresh repository, so that nothing piles up."""

    def gate() -> Reading:
        with _repository(stage) as bare, stage.open(bare, _pushing(stage)) as run:
            _inside(run, f"git switch --quiet --create {_BRANCH}; {_NOISE}")
            return {"runner": _timed_push(run)}

    def plain() -> Reading:
        with _repository(stage) as bare, _clone(stage, bare) as clone:
            _outside(stage, clone, _NOISE)
            return {"plain": _plain_push(stage, clone)}

    return interleave((gate, plain), rounds, warm_up=_WARM_UP)


def _pushing(stage: Stage) -> LoadedPolicy:
    """The policy of the other measures, which may push to local repositories, with packs of 200 MB too."""
    policy = stage.policy.policy
    changed = {
        "bindings": (Binding(git=GitRemote(host="file")),),
        "push": policy.push.model_copy(update={"max_mib": 256}),
    }
    return replace(stage.policy, policy=policy.model_copy(update=changed))


def _timed_push(run: OpenRun) -> float:
    started = time.perf_counter()
    pushed = run.call("workspace.git_push")["pushed"]
    milliseconds = (time.perf_counter() - started) * 1000
    if not pushed:
        raise BenchFailed("there was nothing to push")
    return milliseconds


def _plain_push(stage: Stage, clone: Path) -> float:
    started = time.perf_counter()
    argv = [GIT, "-C", str(clone), "push", "--quiet", "origin", "HEAD:refs/heads/plain"]
    subprocess.run(argv, env=stage.git_environment, check=True)
    return (time.perf_counter() - started) * 1000


def _inside(run: OpenRun, text: str, *words: str) -> None:
    argv = ("/bin/sh", "-euc", text, "sh", *words)
    result = run.sandbox.spawn(SpawnRequest(argv, command_environment({}), _SECONDS, 1 << 20))
    if result.exit != 0:
        raise BenchFailed(f"{text[:40]}: {result.stderr[-300:].decode('utf-8', 'replace')}")


def _outside(stage: Stage, clone: Path, text: str, *words: str) -> None:
    argv: Sequence[str] = ("/bin/sh", "-euc", text, "sh", *words)
    subprocess.run(argv, cwd=clone, env=stage.git_environment, check=True)


@contextmanager
def _repository(stage: Stage) -> Iterator[Path]:
    """A bare repository of its own beside the others, on the disk that they are on."""
    path = stage.repository("pushed", small_files())
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _clone(stage: Stage, bare: Path) -> Iterator[Path]:
    """A clone in memory, as the workspace is."""
    clone = stage.memory / "pushing"
    subprocess.run([GIT, "clone", "--quiet", "--", str(bare), str(clone)], env=stage.git_environment, check=True)
    try:
        for key, value in (("user.name", "runner"), ("user.email", "runner@localhost")):
            subprocess.run([GIT, "-C", str(clone), "config", key, value], env=stage.git_environment, check=True)
        yield clone
    finally:
        shutil.rmtree(clone, ignore_errors=True)
