"""A run ends well however it ends: signals, a killed controller, a killed container, limits, a failing set-up."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.controller.records import StateFolder
from runner.controller.sweep import is_orphan
from runner.engine.docker_engine import DockerEngine
from runner.engine.docker_spec import LABEL_CONTROLLER, LABEL_ROLE
from tests.support.cases import P0, node, sh
from tests.support.cli import Invocation, call, run_cli, run_runner
from tests.support.fault_report import CountFault
from tests.support.live import LiveRun
from tests.support.repos import R0, build_r0, executable, git, tree_digest

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

Survived = Callable[[], None]
_READY = "set-up: git config"
_FOREVER = sh(*node("console.log('up');setInterval(()=>{},1e3)"))


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "r0")


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    opened = docker.from_env()
    yield opened
    opened.close()


def _ours(engine: DockerEngine) -> list[str]:
    """Objects of this test's own state folder."""
    file = Path(os.environ["RUNNER_STATE_DIR"]) / "controller-id"
    mine = file.read_text(encoding="ascii").split()[0] if file.exists() else "none"
    return [found.name for found in engine.objects() if found.controller_id == mine]


@pytest.fixture
def survived(docker_engine: DockerEngine, count_fault: CountFault) -> Survived:
    """Says that the fault happened, and holds when nothing is left after it."""

    def check() -> None:
        left = _ours(docker_engine)
        count_fault(True, left)
        assert left == []

    return check


def _container(client: docker.DockerClient, role: str = "workspace") -> Any:
    mine = (Path(os.environ["RUNNER_STATE_DIR"]) / "controller-id").read_text(encoding="ascii").split()[0]
    (found,) = client.containers.list(
        ignore_removed=True, filters={"label": [f"{LABEL_CONTROLLER}={mine}", f"{LABEL_ROLE}={role}"]}
    )
    return found


def _wait_until_removed(container: Any) -> None:
    with contextlib.suppress(docker.errors.NotFound):  # it was quicker
        container.wait(condition="removed", timeout=90)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT])
def test_an_interrupt_during_a_command_tears_the_run_down(
    number: signal.Signals, r0: R0, tmp_path: Path, survived: Survived
) -> None:
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("edit", path="src/app.mjs", oldString="1", newString="2"))["ok"]
        live.send(_FOREVER)
        live.signal(number)
        assert live.process.wait(60) == 130
        assert live.report["status"] == "interrupted"
        assert live.report["changes"]["files"] == ["src/app.mjs"]
        assert b"+export const a = 2;" in (live.out / "changes.patch").read_bytes()
        assert live.report["teardown"] == {"verified": True, "leftovers": []}
    survived()


def test_a_second_interrupt_does_not_leave_the_container(r0: R0, tmp_path: Path, survived: Survived) -> None:
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("read_file", path="README.md"))["ok"]
        for _ in range(3):
            live.signal(signal.SIGINT)
        assert live.process.wait(60) == 130
    survived()


@pytest.mark.parametrize(
    "moment", ["starting the gate", "reading", "starting a fresh workspace", "making the clone", _READY]
)
def test_what_a_killed_controller_left_is_swept(moment: str, r0: R0, tmp_path: Path, survived: Survived) -> None:
    with LiveRun(r0.remote, P0, tmp_path) as live:
        live.wait_for_progress(moment)
        live.signal(signal.SIGKILL)
        live.process.wait(60)
        swept = run_cli("gc", "-o", "json")
    assert swept.exit_code == 0, swept.stderr
    survived()


@pytest.mark.slow
def test_a_workspace_whose_controller_is_gone_ends_and_removes_itself(
    r0: R0, tmp_path: Path, survived: Survived, client: docker.DockerClient
) -> None:
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("read_file", path="README.md"))["ok"]
        containers = [_container(client, role) for role in ("workspace", "gate")]
        live.signal(signal.SIGKILL)
        live.process.wait(60)
        for container in containers:
            _wait_until_removed(container)
    survived()


def test_the_sweep_leaves_a_run_alone_whose_controller_lives(
    r0: R0, tmp_path: Path, docker_engine: DockerEngine
) -> None:
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("read_file", path="README.md"))["ok"]
        assert run_cli("gc").exit_code == 0
        assert len(_ours(docker_engine)) == 2  # the workspace, and the gate that waits for a push
        assert live.call(call("read_file", path="README.md"))["ok"]
        assert live.end() == 0


def test_controllers_on_one_host_leave_each_others_runs_alone_whatever_the_clock_says(
    r0: R0, tmp_path: Path, docker_engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = [tmp_path / "one", tmp_path / "two"]
    with contextlib.ExitStack() as stack:
        runs = []
        for number, state in enumerate([states[0], states[1], states[1]]):  # the last two share a state folder
            monkeypatch.setenv("RUNNER_STATE_DIR", str(state))
            (tmp_path / str(number)).mkdir()
            live = stack.enter_context(LiveRun(r0.remote, P0, tmp_path / str(number)))
            assert live.call(call("read_file", path="README.md"))["ok"]
            runs.append(live)
        ours = [(state / "controller-id").read_text(encoding="ascii").split()[0] for state in states]
        for state in states:
            assert run_cli("gc", environment={"RUNNER_STATE_DIR": str(state)}).exit_code == 0
            for jump in (-(10**9), 10**9):
                held = StateFolder(state)
                seen = [found for found in docker_engine.objects() if found.controller_id in ours]
                assert len(seen) == 6  # each has a workspace and a gate
                assert [found.name for found in seen if is_orphan(found, held, time.time() + jump)] == []
        for live in runs:
            assert live.call(call("read_file", path="README.md"))["ok"]
            assert live.end() == 0
    assert [found.name for found in docker_engine.objects() if found.controller_id in ours] == []


def test_a_container_killed_under_a_command_ends_the_run_as_lost(
    r0: R0, tmp_path: Path, client: docker.DockerClient, survived: Survived
) -> None:
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("read_file", path="README.md"))["ok"]
        container = _container(client)
        live.send(sh(*node("setTimeout(()=>{},3e4)")))
        container.kill()
        answer = live.answer()
        assert answer["error"]["code"] == "run_ended"
        assert answer["duration_ms"] < 5000
        assert live.call(call("read_file", path="README.md"))["error"]["code"] == "run_ended"
        assert live.end() == 5
        assert live.report["status"] == "lost"
    survived()


@pytest.mark.parametrize("running", [sh(*node("setTimeout(()=>{},3e5)")), call("read_file", path="README.md")])
def test_a_paused_container_ends_the_run_as_lost_within_ten_seconds(
    running: Invocation, r0: R0, tmp_path: Path, client: docker.DockerClient, survived: Survived
) -> None:
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("read_file", path="README.md"))["ok"]
        _container(client).pause()
        _is_lost(live, live.call(running))
    survived()


def test_a_program_that_stops_its_own_helper_ends_the_run_within_ten_seconds(
    r0: R0, tmp_path: Path, survived: Survived
) -> None:
    stop = "process.kill(process.ppid,'SIGSTOP');setTimeout(()=>{},3e5)"
    with LiveRun(r0.remote, P0, tmp_path) as live:
        _is_lost(live, live.call(sh(*node(stop))))
    survived()


def _is_lost(live: LiveRun, answer: dict[str, Any]) -> None:
    """The answer says so, before the limit of any command; so does the report."""
    assert answer["error"]["code"] == "run_ended", answer
    assert answer["duration_ms"] < 10_000
    assert "the workspace is lost" in answer["error"]["message"]
    assert live.end() == 5
    assert live.report["status"] == "lost"
    assert live.report["teardown"] == {"verified": True, "leftovers": []}


def test_a_gate_that_is_paused_ends_a_push_within_ten_seconds_and_is_named(
    r0: R0, tmp_path: Path, client: docker.DockerClient, survived: Survived
) -> None:
    before = git(r0.remote, "for-each-ref")
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("edit", path="src/app.mjs", oldString="1", newString="2"))["ok"]
        assert live.call(call("git_commit", message="two"))["ok"]
        _container(client, "gate").pause()
        answer = live.call(call("git_push"))
        assert answer["error"]["code"] == "run_ended", answer
        assert "the gate's container (gate) is lost" in answer["error"]["message"]
        live.end()
    assert git(r0.remote, "for-each-ref") == before
    survived()


def test_a_gate_that_is_gone_ends_a_push_and_leaves_the_remote_as_it_was(
    r0: R0, tmp_path: Path, client: docker.DockerClient, survived: Survived
) -> None:
    before = git(r0.remote, "for-each-ref")
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("edit", path="src/app.mjs", oldString="1", newString="2"))["ok"]
        assert live.call(call("git_commit", message="two"))["ok"]
        _container(client, "gate").kill()
        answer = live.call(call("git_push"))
        assert answer["error"]["code"] == "run_ended", answer
        assert "the gate's container (gate) is lost" in answer["error"]["message"]
        live.end()
        assert live.report["status"] == "lost"
    assert git(r0.remote, "for-each-ref") == before
    survived()


def test_a_program_that_kills_its_own_helper_ends_the_run_and_nothing_else(
    r0: R0, tmp_path: Path, survived: Survived
) -> None:
    ran = run_runner(
        r0.remote, P0, [sh(*node("process.kill(-1,'SIGKILL')")), sh("node", "-p", "1")], tmp_path, ref="agent/x1"
    )
    assert [answer["error"]["code"] for answer in ran.answers] == ["run_ended", "run_ended"]
    assert ran.exit_code == 5
    survived()


def test_the_run_limit_cuts_a_command_and_refuses_what_follows(r0: R0, tmp_path: Path) -> None:
    policy = {**P0, "limits": {"runSeconds": 6, "commandSeconds": 60, "memoryMiB": 256, "workspaceMiB": 64}}
    ran = run_runner(r0.remote, policy, [_FOREVER, call("read_file", path="README.md")], tmp_path, ref="agent/x1")
    assert ran.answers[0]["result"]["timed_out"] is True
    assert ran.answers[0]["result"]["stdout"] == "up\n"
    assert ran.answers[1]["error"]["code"] == "run_limit_exceeded"
    assert ran.exit_code == 5


def test_the_run_limit_also_cuts_a_commit_whose_hook_does_not_end(tmp_path: Path) -> None:
    slow = build_r0(tmp_path / "slow", extra={".githooks/pre-commit": executable("#!/bin/sh\nsleep 300\n")})
    policy = {**P0, "limits": {"runSeconds": 8, "commandSeconds": 200, "memoryMiB": 256, "workspaceMiB": 64}}
    calls = [
        call("edit", path="src/app.mjs", oldString="1", newString="2"),
        call("git_commit", message="x"),
        call("read_file", path="README.md"),
    ]
    ran = run_runner(slow.remote, policy, calls, tmp_path, ref="agent/x1")
    assert ran.answers[1]["error"]["code"] == "git_commit_failed", ran.answers[1]
    assert ran.answers[1]["duration_ms"] < 60_000, ran.answers[1]
    assert ran.answers[2]["error"]["code"] == "run_limit_exceeded", ran.answers[2]
    assert ran.exit_code == 5
    assert ran.report["changes"]["files"] == ["src/app.mjs"]


def test_memory_beyond_the_limit_is_named_and_the_next_call_works(r0: R0, tmp_path: Path) -> None:
    policy = {**P0, "limits": {"memoryMiB": 128, "workspaceMiB": 32, "commandSeconds": 60}}
    # Buffers are outside node's own heap limit, so that it is the cgroup that ends it.
    eat = sh(*node("const a=[];for(;;)a.push(Buffer.alloc(1<<24,1))"))
    ran = run_runner(r0.remote, policy, [eat, sh("node", "-p", "1")], tmp_path, ref="agent/x1")
    assert ran.answers[0]["result"]["killed_by"] == "memory", ran.answers[0]
    assert ran.answers[1]["result"]["stdout"] == "1\n", ran.answers[1]


def test_a_full_workspace_is_named_and_room_can_be_made(r0: R0, tmp_path: Path) -> None:
    policy = {**P0, "limits": {"memoryMiB": 256, "workspaceMiB": 8}}
    fill = sh(*node("try{require('fs').writeFileSync('src/big',Buffer.alloc(16<<20))}catch(e){console.log(e.code)}"))
    ran = run_runner(
        r0.remote,
        policy,
        [
            fill,
            call("write_file", path="src/more", content="x" * 100_000),
            call("delete_file", path="src/big"),
            call("write_file", path="src/more", content="x" * 100_000),
        ],
        tmp_path,
        ref="agent/x1",
    )
    assert ran.answers[0]["result"]["stdout"] == "ENOSPC\n", ran.answers[0]
    assert ran.answers[1]["error"]["code"] == "run_limit_exceeded", ran.answers[1]
    assert ran.answers[2]["ok"], ran.answers[2]
    assert ran.answers[3]["ok"], ran.answers[3]


_EMPTY = "for (const n of fs.readdirSync('.')) fs.rmSync(n, {recursive: true, force: true})"
_CLOSE = "fs.chmodSync('/workspace', 0)"
_UNTRACK = "fs.rmSync('.git', {recursive: true})"


@pytest.mark.parametrize(
    ("ruin", "command_writes"),
    [(_EMPTY, "revert"), (_UNTRACK, "report"), (_CLOSE, "report"), (_CLOSE, "revert")],
)
def test_a_run_whose_repository_is_gone_is_lost_at_the_latest_at_its_end(
    ruin: str, command_writes: str, r0: R0, tmp_path: Path, survived: Survived
) -> None:
    policy = {**P0, "commandWrites": command_writes}
    calls = [sh(*node(f"const fs = require('fs'); {ruin}")), call("list_dir", path="src")]
    ran = run_runner(r0.remote, policy, calls, tmp_path, ref="agent/x1")
    assert ran.answers[0]["result"]["code"] == 0, ran.answers[0]
    assert (ran.exit_code, ran.report["status"], ran.report["ended"]["code"]) == (5, "lost", "run_ended")
    assert "gone" in ran.report["ended"]["message"] or "closed" in ran.report["ended"]["message"]
    survived()


@pytest.mark.parametrize("after", [call("git_commit", message="x"), call("git_push"), ("git", {"args": "status"})])
def test_a_run_whose_repository_is_gone_is_lost_at_the_next_call_of_git(
    after: Invocation, r0: R0, tmp_path: Path
) -> None:
    gone = sh(*node(f"const fs = require('fs'); {_EMPTY}"))
    ran = run_runner(r0.remote, P0, [gone, after, call("list_dir", path=".")], tmp_path, ref="agent/x1")
    assert [answer["error"]["code"] for answer in ran.answers[1:]] == ["run_ended", "run_ended"], ran.answers
    assert ran.report["status"] == "lost"


@pytest.mark.parametrize("ruin", [_UNTRACK, _CLOSE])
def test_a_set_up_that_removes_or_closes_the_repository_starts_no_run(ruin: str, r0: R0, tmp_path: Path) -> None:
    policy = {**P0, "setup": [list(node(f"const fs = require('fs'); {ruin}"))]}
    ran = run_runner(r0.remote, policy, [call("list_dir", path=".")], tmp_path, ref="agent/x1")
    assert (ran.exit_code, ran.report["status"], ran.answers) == (5, "lost", [])


def test_the_changes_of_a_run_that_left_no_room_are_taken_all_the_same(r0: R0, tmp_path: Path) -> None:
    policy = {**P0, "limits": {"memoryMiB": 512, "workspaceMiB": 8}}
    fill = "try{for(;;)fs.appendFileSync('scratch/f',Buffer.alloc(65536))}catch(e){console.log(e.code)}"
    calls = [
        call("edit", path="src/app.mjs", oldString="1", newString="2"),
        sh(*node(f"const fs=require('fs');{fill}")),
    ]
    ran = run_runner(r0.remote, policy, calls, tmp_path, ref="agent/x1")
    assert ran.answers[1]["result"]["stdout"] == "ENOSPC\n", ran.answers[1]
    assert ran.report["changes"]["files"] == ["scratch/f", "src/app.mjs"], ran.report["changes"]
    assert b"export const a = 2;" in (tmp_path / "out" / "changes.patch").read_bytes()


def test_no_setting_of_the_clone_keeps_a_changed_file_out_of_the_patch(r0: R0, tmp_path: Path) -> None:
    settings = "[core]\\n\\tsparseCheckout = true\\n\\tworktree = /tmp/decoy\\n[diff]\\n\\tignoreSubmodules = all\\n"
    script = (
        f"const fs=require('fs');fs.appendFileSync('.git/config','{settings}');fs.mkdirSync('/tmp/decoy');"
        "fs.mkdirSync('.git/info',{recursive:true});fs.writeFileSync('.git/info/sparse-checkout','/src/\\n');"
        "fs.writeFileSync('README.md','changed')"
    )
    ran = run_runner(r0.remote, P0, [sh(*node(script))], tmp_path, ref="agent/x1")
    assert ran.answers[0]["result"]["outside_writes"] == ["README.md"], ran.answers
    assert (ran.report["changes"]["files"], ran.report["changes"]["failed"]) == (["README.md"], False)


def test_changes_that_cannot_be_taken_are_told_with_the_reason(r0: R0, tmp_path: Path) -> None:
    calls = [sh(*node("require('fs').writeFileSync('src/shut', 'x', {mode: 0})"))]
    ran = run_runner(r0.remote, P0, calls, tmp_path, ref="agent/x1")
    assert ran.report["changes"]["failed"] and "src/shut" in ran.report["changes"]["reason"]
    last = ran.stderr.strip().splitlines()[-1]
    assert "THE CHANGES COULD NOT BE TAKEN" in last and "Permission denied" in last and "files changed" not in last


def test_a_failing_set_up_shows_the_tools_own_words_and_leaves_nothing(
    r0: R0, tmp_path: Path, docker_engine: DockerEngine
) -> None:
    policy = {**P0, "setup": [["node", "-e", "console.error('no such luck');process.exit(7)"]]}
    ran = run_runner(r0.remote, policy, [call("read_file", path="README.md")], tmp_path, ref="agent/x1")
    assert ran.exit_code == 4
    assert "no such luck" in ran.stderr
    assert ran.answers == []
    assert ran.report["ended"]["code"] == "setup_failed"
    assert _ours(docker_engine) == []


def test_a_set_up_that_takes_too_long_is_cut_and_shows_what_it_said(r0: R0, tmp_path: Path) -> None:
    script = "let i=0;setInterval(()=>console.log('tick '+(++i)),500)"
    policy = {**P0, "setup": [["node", "-e", script]], "limits": {"commandSeconds": 3}}
    ran = run_runner(r0.remote, policy, [], tmp_path, ref="agent/x1")
    assert ran.exit_code == 4
    (step,) = ran.report["setup"]["steps"]
    assert step["timed_out"] is True
    assert step["timeout_secs"] == 3
    assert "tick 1\n" in step["stdout"]


def test_two_runs_on_one_repository_do_not_disturb_each_other(r0: R0, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with LiveRun(r0.remote, P0, tmp_path / "a") as one, LiveRun(r0.remote, P0, tmp_path / "b") as two:
        for live in (one, two):
            assert live.call(call("write_file", path="src/n.mjs", content="1"))["ok"]
        assert one.end() == 0
        assert two.call(call("read_file", path="src/n.mjs"))["result"] == "1"
        assert two.end() == 0


def test_a_local_repository_is_never_modified(r0: R0, tmp_path: Path) -> None:
    (r0.path / "src" / "app.mjs").write_text("uncommitted\n", encoding="utf-8")
    git(r0.path, "config", "core.fsmonitor", "touch /tmp/pwn")
    before = tree_digest(r0.path)
    calls = [
        call("read_file", path="src/app.mjs"),
        call("edit", path="src/app.mjs", oldString="1", newString="2"),
        call("git_commit", message="x"),
    ]
    ran = run_runner(r0.path, P0, calls, tmp_path)
    assert ran.exit_code == 0, ran.stderr
    assert ran.answers[0]["result"] == "export const a = 1;\n"
    assert tree_digest(r0.path) == before


def test_a_task_that_declares_no_tool_gets_no_container(r0: R0, tmp_path: Path, docker_engine: DockerEngine) -> None:
    spec = tmp_path / "spec.yml"
    spec.write_text(f"repo: {r0.remote}\npolicy: default\ntools: []\n", encoding="utf-8")
    line = '{"tool": "workspace.read_file", "arguments": {"path": "README.md"}}\n'
    ran = run_cli("run", "--spec", str(spec), "--calls", "-", stdin=line)
    assert ran.exit_code == 0, ran.stderr
    assert ran.answers[0]["error"]["code"] == "tool_not_declared"
    assert "workspace" not in ran.stderr
    assert _ours(docker_engine) == []


def test_no_secret_of_the_host_is_inside(r0: R0, tmp_path: Path) -> None:
    ran = run_runner(
        r0.remote,
        P0,
        [sh("node", "-p", "JSON.stringify(process.env)")],
        tmp_path,
        ref="agent/x1",
        environment={"CODE_TOKEN": "tok-CANARY-77", "GIT_AUTHOR_NAME": "tok-CANARY-78"},
    )
    said = ran.answers[0]["result"]["stdout"]
    assert "CANARY" not in said
    assert "DOCKER" not in said
