"""On a second, real engine: users of their own, runtimes of other kinds, and a daemon that restarts or hangs."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.engine.docker_engine import DockerEngine
from runner.model.errors import PostureFailed
from tests.support.cases import P0, node, sh
from tests.support.cli import CliRun, call, run_runner
from tests.support.engine_fixtures import second_engine
from tests.support.fault_proxy import After
from tests.support.faults import Step, run_into
from tests.support.inprocess import open_here
from tests.support.private_engine import FIRST_HOST_UID, PrivateEngine
from tests.support.repos import build_r0

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]


@pytest.fixture(scope="module")
def private_engine(docker_engine: DockerEngine) -> Iterator[PrivateEngine]:
    """Made once, for this file alone: its images take longer than most of the tests."""
    with second_engine() as engine:
        yield engine


_HELLO = sh(*node("1"))


def _run(engine: PrivateEngine, folder: Path, calls: Any = (_HELLO,), require: str = "", **keys: Any) -> CliRun:
    environment = {**engine.environment, "RUNNER_REQUIRE_ENGINE": require}
    r0 = build_r0(folder / "r0")
    return run_runner(r0.remote, {**P0, **keys}, calls, folder, ref="agent/x1", environment=environment)


def _seen(checks: list[dict[str, Any]], control: str) -> str:
    (check,) = [check for check in checks if check["control"] == control]
    assert check["active"]
    return str(check["seen"])


def _left(engine: PrivateEngine) -> list[str]:
    client = engine.client()
    try:
        return [str(container.name) for container in client.containers.list(all=True, ignore_removed=True)]
    finally:
        client.close()


def test_on_an_engine_that_remaps_users_a_run_works_and_pushes_and_its_root_is_nobody_of_the_host(
    private_engine: PrivateEngine, tmp_path: Path
) -> None:
    map_of_users = sh(*node("process.stdout.write(require('fs').readFileSync('/proc/self/uid_map'))"))
    change = call("edit", path="src/app.mjs", oldString="1", newString="2")
    calls = (map_of_users, change, call("git_commit", message="x"), call("git_push"))
    ran = _run(private_engine, tmp_path, calls, require="userns")
    assert ran.exit_code == 0, ran.stderr
    assert [answer["ok"] for answer in ran.answers] == [True] * 4
    assert ran.answers[0]["result"]["stdout"].split()[:2] == ["0", str(FIRST_HOST_UID)]
    assert _seen(ran.report["posture"], "user namespace") == "remapped"
    assert [_seen(room["checks"], "user namespace") for room in ran.report["gate"]["rooms"]] == ["the host's"] * 2
    assert _left(private_engine) == []


def test_a_workspace_that_a_remapping_engine_did_not_remap_is_off(
    private_engine: PrivateEngine, asking_for: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking_for["userns_mode"] = "host"
    monkeypatch.setenv("DOCKER_HOST", private_engine.environment["DOCKER_HOST"])
    r0 = build_r0(tmp_path / "r0")
    with pytest.raises(PostureFailed, match="user namespace: expected remapped"), open_here(r0.remote, P0):
        raise AssertionError("calls would have been answered")


def test_a_room_of_the_gate_that_could_raise_its_own_limits_is_off(
    private_engine: PrivateEngine, asking_for: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking_for["ReadonlyPaths"] = []
    monkeypatch.setenv("DOCKER_HOST", private_engine.environment["DOCKER_HOST"])
    r0 = build_r0(tmp_path / "r0")
    with pytest.raises(PostureFailed, match="control groups read-only"), open_here(r0.remote, P0):
        raise AssertionError("calls would have been answered")


@pytest.mark.slow
@pytest.mark.parametrize(("runtime", "kernel"), [("crun", "the host's"), ("runsc", "gVisor's")])
def test_a_runtime_that_the_policy_names_carries_the_run_and_is_proved(
    runtime: str, kernel: str, private_engine: PrivateEngine, tmp_path: Path
) -> None:
    ran = _run(private_engine, tmp_path, runtime=runtime, requireRuntime=True)
    assert ran.exit_code == 0, ran.stderr
    assert ran.answers[0]["ok"] and ran.answers[0]["result"]["limits_hit"] == []
    proofs = [ran.report["posture"], *(room["checks"] for room in ran.report["gate"]["rooms"])]
    assert [(_seen(checks, "runtime"), _seen(checks, "kernel")) for checks in proofs] == [(runtime, kernel)] * 2


@pytest.mark.parametrize("runtime", ["runsc-by-name", "kata-by-name"])
def test_a_runtime_that_is_runc_under_another_name_ends_the_run(
    runtime: str, private_engine: PrivateEngine, tmp_path: Path
) -> None:
    ran = _run(private_engine, tmp_path, runtime=runtime)
    assert (ran.exit_code, ran.answers, ran.report["ended"]["code"]) == (6, [], "posture_failed")
    assert "kernel" in ran.stderr
    assert _left(private_engine) == []


def test_a_runtime_that_the_engine_lacks_starts_nothing(private_engine: PrivateEngine, tmp_path: Path) -> None:
    ran = _run(private_engine, tmp_path, runtime="kata", requireRuntime=True)
    assert (ran.exit_code, ran.report["ended"]["code"]) == (3, "runtime_missing")
    assert not {"workspace.start", "gate.start"} & {line["event"] for line in ran.audit}


def test_a_policy_that_names_another_runtime_than_the_host_requires_starts_nothing(
    private_engine: PrivateEngine, tmp_path: Path
) -> None:
    ran = _run(private_engine, tmp_path, require="runtime:runsc")
    assert (ran.exit_code, ran.report["ended"]["code"]) == (2, "runtime_required")
    assert not {"workspace.start", "gate.start"} & {line["event"] for line in ran.audit}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "step", "exit_code", "ended"),
    [
        (signal.SIGKILL, Step.WORKSPACE_START, 3, "engine_unavailable"),
        (signal.SIGKILL, Step.CALL, 5, "run_ended"),
        (signal.SIGTERM, Step.CALL, 5, "run_ended"),
    ],
)
def test_an_engine_that_really_restarts_ends_the_run_and_nothing_is_left(
    how: signal.Signals,
    step: Step,
    exit_code: int,
    ended: str,
    private_engine: PrivateEngine,
    tmp_path: Path,
) -> None:
    def restart(_controller: subprocess.Popen[str]) -> After:
        private_engine.stop(how)
        private_engine.start()
        return After.GO_ON

    outcome = run_into(step, restart, tmp_path, str(private_engine.socket))
    assert outcome.happened, outcome.stderr
    assert (outcome.exit_code, outcome.ended, outcome.remote) == (exit_code, ended, "as it was"), outcome.stderr
    assert (outcome.leftovers, _left(private_engine)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "exit_code", "ended"),
    [(Step.WORKSPACE_START, 3, "engine_unavailable"), (Step.CALL, 5, "run_ended")],
)
def test_an_engine_that_really_hangs_ends_the_run_and_nothing_is_left_once_it_goes_on(
    step: Step, exit_code: int, ended: str, private_engine: PrivateEngine, tmp_path: Path
) -> None:
    def thaw_after(controller: subprocess.Popen[str]) -> None:
        controller.wait()
        private_engine.thaw()

    def freeze(controller: subprocess.Popen[str]) -> After:
        private_engine.freeze()
        threading.Thread(target=thaw_after, args=(controller,)).start()
        return After.GO_ON

    outcome = run_into(step, freeze, tmp_path, str(private_engine.socket))
    assert outcome.happened, outcome.stderr
    assert (outcome.exit_code, outcome.ended, outcome.torn_down) == (exit_code, ended, False), outcome.stderr
    assert (outcome.leftovers, _left(private_engine)) == ([], [])
