"""A helper in a real container that was taken over: whatever it sends ends its run, and never the controller."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runner.engine import docker_sandbox
from runner.engine.channel import HelperChannel
from runner.engine.docker_engine import DockerEngine
from runner.engine.docker_sandbox import DockerSandbox
from runner.model.errors import RunnerError, SandboxLost
from tests.conftest import sandbox_spec
from tests.support.cases import P0, sh
from tests.support.cli import call
from tests.support.fault_report import CountFault
from tests.support.inprocess import open_here
from tests.support.lying_helper import LIES, lying_helper, path_of, refusing_helper
from tests.support.repos import build_r0

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]


@pytest.fixture(scope="module")
def box(docker_engine: DockerEngine) -> Iterator[DockerSandbox]:
    sandbox = docker_engine.start(sandbox_spec("lie"))
    assert isinstance(sandbox, DockerSandbox)
    try:
        yield sandbox
    finally:
        sandbox.remove()


def _open(box: DockerSandbox) -> HelperChannel:
    return HelperChannel(box.open_stream((*lying_helper(), "/workspace"), user="agent"))


def test_until_it_lies_it_is_a_helper_like_any_other(box: DockerSandbox) -> None:
    channel = _open(box)
    channel.write("a.txt", b"mine")
    assert channel.read("a.txt", max_bytes=10).data == b"mine"
    channel.close()


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_ends_its_channel_and_nothing_else(lie: str, box: DockerSandbox) -> None:
    channel = _open(box)
    threads = threading.active_count()
    with pytest.raises(SandboxLost):
        channel.read(path_of(lie), max_bytes=8 << 20)
    with pytest.raises(SandboxLost):
        channel.ping()
    assert threading.active_count() == threads
    box.ping()


@pytest.mark.parametrize("lie", ["cut off", "deep JSON", "content without end"])
def test_a_run_whose_helper_lies_has_ended_and_is_torn_down(
    lie: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, docker_engine: DockerEngine, count_fault: CountFault
) -> None:
    monkeypatch.setattr(docker_sandbox, "_HELPER", lying_helper())
    with open_here(build_r0(tmp_path / "r0").remote, P0) as run:
        assert run.call(*call("read_file", path="README.md"))["ok"]
        for path in (path_of(lie), "README.md"):
            answer = run.call(*call("read_file", path=path))
            assert answer["error"]["code"] == "run_ended", answer
    (report,) = (tmp_path / "runner-state" / "runs").glob("*/report.json")
    assert json.loads(report.read_text(encoding="utf-8"))["status"] == "lost"
    mine = (tmp_path / "runner-state" / "controller-id").read_text(encoding="ascii").split()[0]
    left = [found.name for found in docker_engine.objects() if found.controller_id == mine]
    count_fault(True, left)
    assert left == []


@pytest.mark.parametrize(
    ("op", "passing"), [("ping", 0), ("posture", 0), ("spawn", 0), ("spawn", 2), ("scan", 0), ("spawn", 16)]
)
def test_a_run_whose_helper_refuses_what_cannot_be_refused_has_ended_for_no_fault_of_ours(
    op: str, passing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, docker_engine: DockerEngine
) -> None:
    monkeypatch.setattr(docker_sandbox, "_HELPER", refusing_helper(op, passing))
    # A refused set-up is as good an end as a lost one: what matters is that none is told as a bug.
    with suppress(RunnerError), open_here(build_r0(tmp_path / "r0").remote, P0) as run:
        for _ in range(20):
            run.call(*sh("node", "-p", "1"))
        assert run.call(*call("git_commit", message="x"))["error"]["code"] == "run_ended"
    (report,) = (tmp_path / "runner-state" / "runs").glob("*/report.json")
    told = json.loads(report.read_text(encoding="utf-8"))
    assert (told["status"], told["ended"]["code"]) == ("lost", "run_ended")
    mine = (tmp_path / "runner-state" / "controller-id").read_text(encoding="ascii")
    assert [found.name for found in docker_engine.objects() if found.controller_id == mine] == []
