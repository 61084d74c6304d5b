"""What is looked at between the runs: what the controller holds, what the engine holds, and what was left."""

from __future__ import annotations

import ctypes
import gc
import json
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import docker

from runner.controller.records import StateFolder
from runner.engine.contract import Engine

__all__ = ["TOLERANCE", "EngineLook", "Look", "engine_look", "grown", "leftovers", "look", "unverified"]

TOLERANCE: Mapping[str, float] = {"own_mib": 16, "descriptors": 8, "threads": 4}
"""How much more the controller may hold at the end than once every kind of run had its turn.

Memory of its own: of 500 runs, a leak of 35 KiB by each would show. Descriptors and threads: a pool of connections to
the engine that happens to be larger.
"""


@dataclass(frozen=True, slots=True)
class Look:
    """The controller at one moment: memory that is no file's, and all that is resident, in MiB."""

    own_mib: float
    resident_mib: float
    descriptors: int
    threads: int

    def __str__(self) -> str:
        memory = f"{self.own_mib:.0f} MiB of its own ({self.resident_mib:.0f} resident)"
        return f"{memory}, {self.descriptors} descriptors, {self.threads} threads"


@dataclass(frozen=True, slots=True)
class EngineLook:
    """The engine at one moment; what others have in it counts too, so it is told and not judged."""

    goroutines: int
    descriptors: int
    containers: int
    mounts: int


def look() -> Look:
    """The controller as it is now, what it no longer needs given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what the C library keeps of freed memory, thread by thread, is no leak
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return Look(_mib("RssAnon"), _mib("VmRSS"), descriptors, threading.active_count())


def _mib(name: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return round(int(status.partition(f"\n{name}:")[2].split()[0]) / 1024, 1)


def engine_look(environment: Mapping[str, str]) -> EngineLook:
    """What the engine says of itself. Raises DockerException when it does not answer."""
    with closing(docker.from_env(environment=dict(environment))) as client:
        facts = client.api.info()
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").count("\n")
    return EngineLook(int(facts["NGoroutines"]), int(facts["NFd"]), int(facts["Containers"]), mounts)


def grown(first: Look, last: Look) -> list[str]:
    """What grew beyond its tolerance between the two looks."""
    by = {name: getattr(last, name) - getattr(first, name) for name in TOLERANCE}
    return [
        f"{name} grew by {by[name]:g}, tolerated are {TOLERANCE[name]:g}" for name in by if by[name] > TOLERANCE[name]
    ]


def leftovers(engine: Engine, state: StateFolder) -> list[str]:
    """Names of what the engine has of this controller, and of what runs left in its state folder."""
    found = [f"{one.kind} {one.name}" for one in engine.objects() if one.controller_id == state.controller_id]
    quarantines = (state.path / "runs").glob("*/quarantine")  # the folder stays with the record, empty
    waiting = [path for path in state.path.glob("places/*") if path.name != "lock"]
    return found + [str(path) for path in (*(path for path in quarantines if any(path.iterdir())), *waiting)]


def unverified(state: StateFolder) -> list[str]:
    """Runs whose own report does not say that all was gone."""
    reports = ((file.parent.name, json.loads(file.read_text())) for file in state.path.glob("runs/*/report.json"))
    return [name for name, report in reports if not report["teardown"]["verified"]]
