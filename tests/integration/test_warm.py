"""Warm runs on a real engine: taken, listed, drained, swept; and how often a run asks the engine for anything."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from runner.app import compose
from runner.controller.handover import prove_sandbox
from runner.controller.host import Host
from runner.controller.run import Run, keep_ready, open_run
from runner.controller.spec import RunRequest
from runner.controller.sweep import sweep
from runner.engine import docker_engine as adapter
from runner.engine.docker_engine import DockerEngine
from runner.policy.load import LoadedPolicy, parse_policy
from runner.settings import Settings
from runner.tools.registry import TOOLS
from tests.conftest import TEST_LIMITS, sandbox_spec
from tests.support.cases import P0
from tests.support.cli import run_cli
from tests.support.recording_proxy import RecordingProxy
from tests.support.repos import R0, build_r0

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

POLICY = {**P0, "setup": "off", "pool": 1}

START = {
    "POST /containers/create": 1,
    "POST /containers/ID/start": 1,
    "POST /containers/ID/exec": 1,
    "POST /exec/ID/start": 1,
    "GET /containers/ID/json": 1,  # the posture, as the engine has it
}
"""What one container costs until it is proved: one create, one start, and the helper."""
END = {"DELETE /containers/ID": 1, "GET /containers/ID/json": 1}  # the second one sees that it is gone
LIST = {"GET /containers/json": 1, "GET /volumes": 1, "GET /networks": 1}
ONCE = {"GET /version": 2, "GET /info": 1}  # of a process: the version that is spoken, and whether it is sound
AGAIN = {"POST /containers/ID/kill": 1, "GET /containers/ID/json": 1}  # the run begins, and the posture anew


def _sum(*parts: Mapping[str, int]) -> dict[str, int]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0) for part in parts) for name in names}


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "r0")


@pytest.fixture
def engine_log(tmp_path: Path) -> Iterator[RecordingProxy]:
    proxy = RecordingProxy(tmp_path / "e.sock")
    yield proxy
    proxy.close()


def _loaded() -> LoadedPolicy:
    return parse_policy(yaml.safe_dump(POLICY).encode(), source="test")


def _request(r0: R0) -> RunRequest:
    return RunRequest(str(r0.remote), "agent/x1", _loaded(), frozenset(TOOLS), None)


@contextmanager
def _host(tmp_path: Path, *, pool: bool = True) -> Iterator[Host]:
    settings = Settings.from_environment()
    with compose(replace(settings, docker={"DOCKER_HOST": f"unix://{tmp_path}/e.sock"}), pool=pool) as host:
        yield host


def _filled(host: Host, r0: R0) -> None:
    assert host.pool is not None
    host.pool.fill = lambda: None  # type: ignore[method-assign]  # what is started anew is not the run's
    keep_ready(host, _request(r0))
    assert host.pool.round(), host.pool.trouble


@contextmanager
def _run(host: Host, r0: R0) -> Iterator[Run]:
    with open_run(host, _request(r0), lambda _line: None) as run:
        assert run.call("workspace.read_file", {"path": "README.md"})["ok"]
        yield run
        run.completed()


def test_a_cold_run_asks_the_engine_for_one_create_and_one_start_per_container(
    r0: R0, tmp_path: Path, engine_log: RecordingProxy
) -> None:
    with _host(tmp_path, pool=False) as host:
        with _run(host, r0) as run:
            pass
        assert run.status == "completed"
    images = {"GET /images/ID/json": 2}  # the workspace's, and the gate's
    assert dict(engine_log.asked) == _sum(ONCE, images, LIST, START, START, END, END, LIST)


def test_a_warm_run_asks_the_engine_for_no_start(r0: R0, tmp_path: Path, engine_log: RecordingProxy) -> None:
    with _host(tmp_path) as host:
        _filled(host, r0)
        engine_log.asked.clear()
        with _run(host, r0) as run:
            facts = run.prepared.facts
            started = dict(engine_log.asked)
        assert facts["warm"] == {"workspace": True, "gate": True, "refused": []}
        assert all(check["active"] for check in facts["posture"])
    images = {"GET /images/ID/json": 2}
    assert started == _sum(LIST, images, AGAIN, AGAIN)
    assert dict(engine_log.asked) == _sum(started, END, END, LIST)


def test_a_warm_workspace_whose_limits_were_changed_is_not_used(
    r0: R0, tmp_path: Path, engine_log: RecordingProxy
) -> None:
    with contextlib.closing(docker.from_env()) as client, _host(tmp_path) as host:
        _filled(host, r0)
        (warm,) = [
            found for found in host.engine.objects() if host.state.warm(found.run_id) and "-gate" not in found.name
        ]
        client.containers.get(warm.id).update(cpu_shares=512, mem_limit="6g", memswap_limit="6g")
        with _run(host, r0) as run:
            assert run.prepared.sandbox.id != warm.id
            assert run.prepared.facts["warm"]["refused"] == [{"role": "workspace", "reason": "posture"}]
        assert warm.id not in {found.id for found in host.engine.objects()}


def test_a_container_whose_run_has_begun_lives_no_longer_for_having_waited(
    docker_engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "KEEPER_GRACE_SECONDS", 0)
    spec = replace(sandbox_spec("idle", replace(TEST_LIMITS, run_seconds=1)), idle_seconds=3600)
    sandbox = docker_engine.start(spec)
    with contextlib.closing(docker.from_env()) as client, contextlib.suppress(docker.errors.NotFound):
        assert all(check.active for check in prove_sandbox(sandbox, spec))
        sandbox.begin_run()
        client.containers.get(sandbox.id).wait(condition="removed", timeout=60)
    assert sandbox.id not in {found.id for found in docker_engine.objects()}
    sandbox.remove()


@contextmanager
def _keeping(r0: R0, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which keeps one run warm."""
    policy = tmp_path / "policy.yml"
    policy.write_text(yaml.safe_dump(POLICY), encoding="utf-8")
    argv = [sys.executable, "-m", "tests.support.pool_process", str(r0.remote), str(policy)]
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        cwd=Path(__file__).parents[2],
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "full\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def _listed() -> list[dict[str, Any]]:
    """What `runner ps` says of this test's own state folder."""
    mine = [path.name for path in (Path(os.environ["RUNNER_STATE_DIR"]) / "runs").iterdir()]
    return [row for row in run_cli("ps", "-o", "jsonl").answers if row["run"] in mine]


def test_what_a_killed_process_kept_warm_is_listed_and_then_swept(r0: R0, tmp_path: Path) -> None:
    with _keeping(r0, tmp_path) as process:
        before = _listed()
        assert [(row["state"], row["orphan"]) for row in before] == [("warm", False)] * 2
        assert {row["repository"] for row in before} == {f"file://{r0.remote}"}
        with compose(Settings.from_environment()) as other:
            assert not sweep(other.engine, other.state, other.unix()).removed
        process.kill()
        process.wait(60)
    assert [row["orphan"] for row in _listed()] == [True] * 2
    assert run_cli("gc").exit_code == 0
    assert _listed() == [] and list((Path(os.environ["RUNNER_STATE_DIR"]) / "runs").iterdir()) == []


def test_a_process_that_is_told_to_end_takes_down_what_it_kept_warm(
    r0: R0, tmp_path: Path, docker_engine: DockerEngine
) -> None:
    with _keeping(r0, tmp_path) as process:
        kept = {row["run"] for row in _listed()}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert len(kept) == 1 and not kept & {found.run_id for found in docker_engine.objects()}
    assert list((Path(os.environ["RUNNER_STATE_DIR"]) / "runs").iterdir()) == []
