"""The gate over one test's own folders: fixtures that unit and integration tests of the gate share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from runner.gate.address import Address, resolve_address
from runner.gate.delivery import collect_step, delivery_steps
from runner.gate.fetch import Fetched, fetch
from runner.gate.git import Git
from runner.gate.host_git import HostGit
from runner.gate.outgoing import Quarantine, receive
from runner.gate.remote_now import remote_now
from runner.gate.shipment import shipment
from tests.support.repos import git, git_environment


def address_of(path: Path | str) -> Address:
    return resolve_address(str(path), cwd=PurePosixPath("/"))


@dataclass
class Gate:
    """The gate over folders of one test."""

    git: Git
    mirrors: Path
    scratch: Path

    def kept(self) -> list[str]:
        """What fetches left in the folders of repositories, by name: of a whole mirror, `repo.git`."""
        return sorted(path.name for path in self.mirrors.glob("*/*"))

    def fetch(self, where: Path | str, ref: str | None = None) -> Fetched:
        return fetch(self.git, address_of(where), ref, self.mirrors)

    def take(
        self,
        fetched: Fetched,
        clone: Path,
        commit: str | None = None,
        max_bytes: int = 1 << 20,
        given: Fetched | None = None,
    ) -> Quarantine:
        """What the workspace at `clone`, which was given `given`, would send for `commit`, received."""
        commit = commit or git(clone, "rev-parse", "HEAD")
        step = collect_step(given or fetched, commit, outbox=str(clone / ".git"))
        packed = subprocess.run(
            step.argv, input=step.stdin, env=git_environment(clone), capture_output=True, check=True
        )
        now = remote_now(self.git, fetched)
        return receive(self.git, fetched, [packed.stdout], commit, now=now, max_bytes=max_bytes, scratch=self.scratch)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(HostGit(tmp_path / "state"), tmp_path / "mirrors", tmp_path / "scratch")


@pytest.fixture
def clone_of(gate: Gate, tmp_path: Path) -> Callable[..., Path]:
    """A workspace as the delivery plan makes it, carried out here instead of in a sandbox."""

    def make(fetched: Fetched, depth: int | None = None) -> Path:
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        with shipment(gate.git, fetched, depth=depth) as shipped:
            steps = delivery_steps(
                fetched,
                shipped.name,
                outbox=str(tmp_path / "outbox.git"),
                name="runner",
                email="runner@localhost",
                workspace_objects=str(workspace / ".git" / "objects"),
                shallow=shipped.shallow,
            )
            for step in steps:
                done = subprocess.run(
                    step.argv,
                    cwd=workspace,
                    input=b"".join(step.input(shipped)),
                    env=git_environment(tmp_path),
                    capture_output=True,
                    check=False,
                )
                assert (done.returncode, done.stdout) == (0, b""), (step, done.stderr)
        return workspace

    return make
