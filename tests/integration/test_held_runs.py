"""Runs that outlive their command, in real containers: what signals and kills of the process that holds one leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.controller.records import StateFolder
from runner.doors.holding.wire import held_runs
from runner.engine.docker_engine import DockerEngine
from runner.settings import Settings
from tests.support.cli import run_cli
from tests.support.repos import Commit, bare_repository
from tests.support.waiting import wait_until

pytestmark = pytest.mark.docker


class Open:
    """A run that `runner open` has left open."""

    def __init__(self, repo: Path, engine: DockerEngine) -> None:
        opened = run_cli("open", "--repo", str(repo))
        assert opened.exit_code == 0, opened.stderr
        self.name = opened.stdout.strip()
        self.state = StateFolder(Settings.from_environment().state_dir)
        self._engine = engine

    def holder(self) -> int:
        """The process that holds it: whoever has the run's lock open."""
        lock = self.state.path / "runs" / self.name / "lock"
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if any(fd.samefile(lock) for fd in (process / "fd").iterdir() if fd.exists()):
                    return int(process.name)
            except OSError:
                continue
        raise AssertionError("nobody holds it")

    def objects(self) -> int:
        return sum(found.run_id == self.name for found in self._engine.objects())

    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.state.path / "runs" / self.name / "report.json").read_text())
        return loaded


@pytest.fixture
def opened(docker_engine: DockerEngine, tmp_path: Path) -> Callable[[], Open]:
    repo = bare_repository(tmp_path / "r.git", [Commit({"README.md": b"# R\n"})])
    return lambda: Open(repo, docker_engine)


def test_a_polite_kill_of_the_holder_tears_the_run_down_and_seals_it(opened: Callable[[], Open]) -> None:
    run = opened()
    assert run_cli("call", run.name, "workspace.list_dir").answers[0]["ok"]
    os.kill(run.holder(), signal.SIGTERM)
    wait_until(lambda: not run.state.alive(run.name))
    assert run.report()["status"] == "interrupted" and run.report()["teardown"]["verified"]
    assert run.objects() == 0
    assert run_cli("call", run.name, "workspace.list_dir").answers[0]["error"]["code"] == "run_ended"


def test_what_a_killed_holder_leaves_is_an_orphan_that_gc_removes(opened: Callable[[], Open]) -> None:
    run = opened()
    os.kill(run.holder(), signal.SIGKILL)
    wait_until(lambda: not run.state.alive(run.name))
    assert run_cli("gc").exit_code == 0
    assert run.objects() == 0
    assert run_cli("close", run.name).exit_code == 2 and held_runs(run.state.path) == []


def test_a_run_is_shown_while_it_is_open_and_killed_from_another_process(opened: Callable[[], Open]) -> None:
    run = opened()
    assert run_cli("show", run.name[:6], "-o", "json").answers[0]["state"] == "live"
    assert run_cli("kill", run.name).exit_code == 0
    shown = run_cli("show", run.name, "-o", "json").answers[0]
    assert (shown["state"], shown["status"]) == ("ended", "interrupted")
    assert run.objects() == 0


def test_a_run_whose_opener_is_killed_before_it_could_be_told_of_it_is_torn_down(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    repo = bare_repository(tmp_path / "r.git", [Commit({"README.md": b"# R\n"})])
    state = StateFolder(Settings.from_environment().state_dir)
    command = [sys.executable, "-m", "runner.doors.cli", "open", "--repo", str(repo)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as opener:
        assert opener.stderr is not None
        opener.stderr.readline()  # it has begun
        opener.kill()
    ((name, _),) = state.runs()
    wait_until(lambda: not state.alive(name))
    report = json.loads((state.path / "runs" / name / "report.json").read_text())
    assert (report["status"], report["teardown"]["verified"]) == ("interrupted", True)
    assert [found.name for found in docker_engine.objects() if found.run_id == name] == []
