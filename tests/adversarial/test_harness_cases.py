"""Conformance cases that need a harness: calls side by side, an inspected container, a frozen engine, set-ups."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.controller.run import Run
from runner.engine.docker_spec import LABEL_ROLE, LABEL_RUN
from tests.support.cases import P0, node, sh
from tests.support.cli import call, run_runner
from tests.support.frozen_engine import EngineProxy
from tests.support.inprocess import open_here
from tests.support.repos import R0, File, build_r0, git

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

Answer = dict[str, Any]


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "r0")


def _calls(run: Run, count: int, make: Callable[[int], tuple[str, dict[str, Any]]]) -> list[Answer]:
    """`count` calls side by side."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda number: run.call(*make(number)), range(count)))


def test_e19_two_edits_side_by_side_are_both_there(r0: R0) -> None:
    edits = [("export", "EXPORT"), ("const", "CONST")]
    with open_here(r0.remote, P0) as run:
        answers = _calls(
            run, 2, lambda n: call("edit", path="src/app.mjs", oldString=edits[n][0], newString=edits[n][1])
        )
        assert [answer["ok"] for answer in answers] == [True, True], answers
        assert run.call(*call("read_file", path="src/app.mjs"))["result"] == "EXPORT CONST a = 1;\n"


def test_f33_no_swapper_outlives_its_command(r0: R0) -> None:
    swapper = (
        "const fs=require('fs');for(;;){try{fs.unlinkSync('src/t.txt')}catch{};"
        "try{fs.symlinkSync('/etc/fresh','src/t.txt')}catch{};try{fs.unlinkSync('src/t.txt')}catch{};try{fs.writeFileSync('src/t.txt','x')}catch{}}"
    )
    start = f"require('child_process').spawn('node',['-e',{swapper!r}],{{detached:true,stdio:'ignore'}}).unref()"
    with open_here(r0.remote, P0) as run:
        assert run.call(*sh(*node(start)))["ok"]
        for number in range(300):
            answer = run.call(*call("write_file", path="src/t.txt", content=str(number)))
            assert answer["ok"] or answer["error"]["code"] == "workspace_write_not_allowed", answer
        fresh = run.call(*sh("node", "-p", "require('fs').existsSync('/etc/fresh')"))
        assert fresh["result"]["stdout"] == "false\n"


def test_x01_the_read_after_the_last_re_read_is_refused(r0: R0) -> None:
    with open_here(r0.remote, {**P0, "budget": {"rereads": 4}}) as run:
        codes = [_code(run.call(*call("read_file", path="src/app.mjs"))) for _ in range(6)]
        assert codes == [None] * 5 + ["exploration_budget_exceeded"]


def test_x03_the_budget_counts_calls_side_by_side_exactly(r0: R0) -> None:
    with open_here(r0.remote, {**P0, "budget": {"rereads": 4}}) as run:
        codes = [_code(answer) for answer in _calls(run, 20, lambda _: call("read_file", path="src/app.mjs"))]
        assert (codes.count(None), codes.count("exploration_budget_exceeded")) == (5, 15)


def _code(answer: Answer) -> str | None:
    return None if answer["ok"] else str(answer["error"]["code"])


def test_k27_forty_commands_side_by_side_all_answer(r0: R0) -> None:
    with open_here(r0.remote, P0) as run:
        answers = _calls(run, 40, lambda _: sh("node", "-p", "1"))
        assert [answer["result"]["stdout"] for answer in answers] == ["1\n"] * 40
        assert {answer["result"]["code"] for answer in answers} == {0}


def test_k17_two_hundred_commands_leave_no_descriptor_and_no_thread(r0: R0) -> None:
    with open_here(r0.remote, P0) as run:
        run.call(*sh("git", "--version"))
        before = (len(list(Path("/proc/self/fd").iterdir())), threading.active_count())
        for _ in range(200):
            assert run.call(*sh("git", "--version"))["result"]["code"] == 0
        after = (len(list(Path("/proc/self/fd").iterdir())), threading.active_count())
        assert abs(after[0] - before[0]) <= 3, (before, after)
        assert abs(after[1] - before[1]) <= 3, (before, after)


def test_k21_the_container_is_what_was_promised(r0: R0) -> None:
    client = docker.from_env()
    with open_here(r0.remote, P0) as run:
        run_id = run.prepared.record.run_id
        (container,) = client.containers.list(
            ignore_removed=True, filters={"label": [f"{LABEL_RUN}={run_id}", f"{LABEL_ROLE}=workspace"]}
        )
        host, config = container.attrs["HostConfig"], container.attrs["Config"]
        assert not host["Privileged"]
        assert host["CapDrop"] == ["ALL"]
        assert "no-new-privileges" in host["SecurityOpt"]
        assert host["NetworkMode"] == "none"
        assert host["Init"] is True
        assert host["ReadonlyRootfs"] is True
        assert not host["Binds"]
        assert not [mount for mount in container.attrs["Mounts"] if mount["Type"] == "bind"]
        assert config["User"] not in ("", "0", "root")
        assert host["PidsLimit"] == 512
        assert host["Memory"] == host["MemorySwap"] == (512 + 128) * 1024 * 1024
        assert host["NanoCpus"] == 2_000_000_000
    client.close()


def test_k13_a_frozen_engine_is_an_error_in_time_and_later_calls_fail_at_once(r0: R0, tmp_path: Path) -> None:
    proxy = EngineProxy(tmp_path / "engine.sock")
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/engine.sock"}
    try:
        with open_here(r0.remote, P0, environment=environment) as run:
            assert run.call(*call("read_file", path="src/app.mjs"))["ok"]
            proxy.freeze()
            assert _code(run.call(*call("read_file", path="src/app.mjs"))) == "run_ended"
            proxy.thaw()
            assert _code(run.call(*call("read_file", path="src/app.mjs"))) == "run_ended"
    finally:
        proxy.close()


def _set_up(
    tmp_path: Path, files: dict[str, File | bytes | str | None], **policy: Any
) -> tuple[int, str, list[Answer]]:
    """The exit code, standard error and answers of a run with `setup: auto` on R0 with these files."""
    r0 = build_r0(tmp_path / "r0", extra=files)
    looked = [sh("node", "-p", "require('fs').existsSync('/tmp/pwn')")]
    ran = run_runner(r0.remote, {**P0, "setup": "auto", **policy}, looked, tmp_path, ref="agent/x1")
    assert ran.report["teardown"] == {"verified": True, "leftovers": []}
    return ran.exit_code, ran.stderr, ran.answers


def test_z01_a_registry_in_npmrc_gets_no_secret_and_the_failure_is_reported(tmp_path: Path) -> None:
    lock = '{"name":"r0","version":"1.0.0","lockfileVersion":3,"packages":{"":{"dependencies":{"left-pad":"1.3.0"}},'
    lock += '"node_modules/left-pad":{"version":"1.3.0"}}}'
    files: dict[str, File | bytes | str | None] = {
        ".npmrc": "registry=http://203.0.113.9/${GIT_TOKEN}/\n",
        "package.json": '{"name":"r0","version":"1.0.0","dependencies":{"left-pad":"1.3.0"}}',
        "package-lock.json": lock,
    }
    code, said, _ = _set_up(tmp_path, files, limits={"commandSeconds": 40})
    assert code == 4
    assert "npm ci" in said


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x,x]\nb: &b [*a,*a]\nrun: [[node, '-e', '']]\n",
        "run: !!python/object/apply:os.system ['touch /tmp/pwn']\n",
    ],
    ids=["anchors", "tag"],
)
def test_z05_hostile_yaml_is_a_config_error_and_nothing_runs(text: str, tmp_path: Path) -> None:
    code, said, answers = _set_up(tmp_path, {".os/workspace.yml": text})
    assert (code, answers) == (4, [])
    assert ".os/workspace.yml" in said


def test_z07_submodules_are_not_fetched(tmp_path: Path) -> None:
    modules = '[submodule "x"]\n\tpath = "sub\\r"\n\turl = ext::sh -c touch% /tmp/pwn\n'
    code, _, answers = _set_up(tmp_path, {".gitmodules": modules})
    if code == 4:
        assert answers == []  # refused by the strict check of objects
    else:
        assert (code, answers[0]["result"]["stdout"]) == (0, "false\n")


def test_z09_a_shell_line_as_set_up_command_is_refused(tmp_path: Path) -> None:
    code, said, answers = _set_up(tmp_path, {".os/workspace.yml": "setup: [\"sh -c 'touch /tmp/pwn'\"]\n"})
    assert (code, answers) == (4, [])
    assert "list of words" in said


def test_z13_of_two_lock_files_one_documented_choice_is_made_each_time(tmp_path: Path) -> None:
    files: dict[str, File | bytes | str | None] = {
        "package.json": '{"name":"r0","version":"1.0.0"}',
        "pnpm-lock.yaml": "lockfileVersion: '9.0'\n\nimporters:\n\n  .: {}\n",
        "package-lock.json": '{"name":"r0","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"r0"}}}',
    }
    for attempt in ("a", "b"):
        (tmp_path / attempt).mkdir()
        code, said, _ = _set_up(tmp_path / attempt, files)
        assert code == 0, said
        assert "set-up: pnpm install --frozen-lockfile --ignore-scripts" in said


@pytest.mark.slow
def test_z11_a_repository_of_very_many_files_opens_or_names_its_limit(tmp_path: Path) -> None:
    many: dict[str, File | bytes | str | None] = {f"many/{n // 1000}/{n}.txt": "x" for n in range(60_000)}
    code, said, _ = _set_up(tmp_path, many, limits={"memoryMiB": 1024, "workspaceMiB": 512, "workspaceInodes": 30_000})
    assert code == 4
    assert "limits.workspaceInodes" in said


def test_w19_an_absolute_pattern_is_refused_when_the_policy_loads(r0: R0, tmp_path: Path) -> None:
    policy = {**P0, "writeDeny": ["/workspace/src/secret/**"]}
    ran = run_runner(r0.remote, policy, [call("read_file", path="README.md")], tmp_path)
    assert (ran.exit_code, ran.answers) == (2, [])


def test_q11_the_clones_configuration_holds_no_token(r0: R0, tmp_path: Path) -> None:
    git(r0.path, "config", "http.extraHeader", "Authorization: Bearer tok-FAKE-1234")
    ran = run_runner(r0.path, P0, [call("read_file", path=".git/config")], tmp_path)
    assert "tok-FAKE" not in str(ran.answers)
