"""What is looked at while the runs go on: the controller's memory, leftovers, and the engine's health."""

from __future__ import annotations

import gc
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from runner.controller.host import Host
from runner.model.errors import RunnerError

__all__ = ["GROWTH_MIB", "Look", "engine_answers", "grown", "leftovers", "look", "unverified"]

GROWTH_MIB = 64
"""How much more memory the controller may have at the end than once every kind of run had its turn."""
_GROWTH_DESCRIPTORS = 8  # a pool of connections to the engine that happens to be larger
_GROWTH_THREADS = 4


@dataclass(frozen=True, slots=True)
class Look:
    """The controller at one moment."""

    resident_mib: float
    descriptors: int
    threads: int

    def __str__(self) -> str:
        return f"{self.resident_mib:.0f} MiB, {self.descriptors} descriptors, {self.threads} threads"


def look() -> Look:
    """The controller as it is now, what it no longer needs given back."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return Look(resident, len(list(Path("/proc/self/fd").iterdir())), threading.active_count())


def grown(first: Look, last: Look) -> list[str]:
    """What grew beyond its bound between the two looks."""
    bounds = (
        ("memory", last.resident_mib - first.resident_mib, GROWTH_MIB),
        ("descriptors", last.descriptors - first.descriptors, _GROWTH_DESCRIPTORS),
        ("threads", last.threads - first.threads, _GROWTH_THREADS),
    )
    return [f"{name} grew by {by:.0f}" for name, by, bound in bounds if by > bound]


def leftovers(host: Host) -> list[str]:
    """Names of what the engine has of this controller, and of what pushes left in its state folder."""
    own = host.state.controller_id
    found = [f"{one.kind} {one.name}" for one in host.engine.objects() if one.controller_id == own]
    quarantines = (host.state.path / "runs").glob("*/quarantine")  # the folder stays with the record, empty
    return found + [str(path) for path in quarantines if any(path.iterdir())]


def unverified(host: Host) -> list[str]:
    """Runs whose own report does not say that all was gone."""
    reports = ((file.parent.name, json.loads(file.read_text())) for file in host.state.path.glob("runs/*/report.json"))
    return [name for name, report in reports if not report["teardown"]["verified"]]


def engine_answers(host: Host) -> bool:
    """Whether the engine still says who it is."""
    try:
        return bool(host.engine.info().version)
    except RunnerError:
        return False
