"""The gate's git where it runs in a real run: a container of the gate's image, here one for all tests of a process.

It sees the folder of this process's tests, writable, and reaches one address at a time, as in a run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runner.audit.log import AuditLog
from runner.controller.gate_way import GateWay
from runner.engine.contract import Mount, Sandbox, SandboxLimits, SandboxSpec
from runner.engine.docker_engine import DockerEngine
from runner.gate.address import Address
from runner.gate.room_git import RoomGit
from runner.settings import Settings
from tests.support.gate import Gate

__all__ = ["gate", "gate_room", "open_gate"]

_LIMITS = SandboxLimits(
    run_seconds=3600,
    memory_mib=2048,
    cpus=2.0,
    pids=128,
    open_files=1024,
    workspace_mib=64,
    workspace_inodes=1000,
    file_mib=65536,
)


class OneAtATime:
    """The way out of a room that tests share: it leads to the address that was asked for last."""

    def __init__(self, room: Sandbox, log: AuditLog) -> None:
        self._room, self._log = room, log
        self._way = GateWay(room, log)
        self._leads_to: tuple[str, int] | None = None

    def to(self, address: Address) -> int:
        if address.endpoint != self._leads_to:
            self.close()
            self._leads_to = address.endpoint
        return self._way.to(address)

    def refused(self) -> str | None:
        return self._way.refused()

    def close(self) -> None:
        self._way.close()


@pytest.fixture(scope="session")
def gate_room(docker_engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    settings = Settings.from_environment()
    spec = SandboxSpec(
        run_id=f"gatetests{os.getpid()}",
        controller_id="tests",
        image=settings.gate_image,
        limits=_LIMITS,
        deadline_unix=2**31,
        role="gate",
        user=f"{os.geteuid()}:{os.getegid()}",
        mounts=(Mount(str(tmp_path_factory.getbasetemp()), writable=True),),
    )
    room = docker_engine.start(spec)
    yield room
    room.remove()


@pytest.fixture
def open_gate(gate_room: Sandbox, tmp_path: Path) -> Iterator[Callable[..., Gate]]:
    """Makes the gate of one test, with the trust store and known hosts that it asks for."""
    with ExitStack() as stack:

        def make(ca_file: Path | None = None, known_hosts: Path | None = None, name: str = "") -> Gate:
            folder = tmp_path / name
            log = AuditLog(tmp_path / f"audit{name}.jsonl", "tests", lambda: "2026-01-01T00:00:00Z")
            stack.callback(log.close)

            way = OneAtATime(gate_room, log)
            stack.callback(way.close)
            git = RoomGit(gate_room, way, ca_file=ca_file, known_hosts=known_hosts)
            return Gate(git, folder / "mirrors", folder / "scratch")

        yield make


@pytest.fixture
def gate(open_gate: Callable[..., Gate]) -> Gate:
    return open_gate()
