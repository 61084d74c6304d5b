"""One whole run, from fetch to push, into which one fault falls; and what is left of it on engine, host and remote."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import docker
import yaml

from runner.engine.docker_spec import LABEL_CONTROLLER, LABEL_ROLE
from tests.support.cases import P0, node, sh
from tests.support.cli import call
from tests.support.fault_proxy import ENGINE, After, FaultProxy, Moment
from tests.support.repos import build_r0, git

__all__ = ["Fault", "Outcome", "Step", "run_into", "run_with"]

_END_SECONDS = 280
_FULL = "filler"
# A command's own time limit is what bounds a call to an engine that hangs.
_POLICY = {**P0, "limits": {**P0["limits"], "commandSeconds": 5}}
_CALLS = (
    call("edit", path="src/app.mjs", oldString="1", newString="2"),
    sh(*node("'FAULT-CALL'")),
    call("git_commit", message="FAULT-COMMIT"),
    call("git_push"),
)


class Step(Enum):
    """Where in its life the run is, by what the controller says to engine or helper at that moment."""

    GATE_START = Moment(b"-gate HTTP")
    FETCH = Moment(b"\0fetch\0")
    WORKSPACE_START = Moment(b"/containers/create", 2)
    POSTURE = Moment(b'"op":"posture"', 2)
    CLONE = Moment(b"--extract\0--absolute-names")
    SET_UP = Moment(b"core.hooksPath\0.githooks")
    BASELINE = Moment(b'"op":"scan"')
    CALL = Moment(b"FAULT-CALL")
    COMMIT = Moment(b"FAULT-COMMIT")
    PUSH = Moment(b"-judge HTTP")
    LEAVING = Moment(b"push\0--porcelain", 2)
    TEARDOWN = Moment(b"DELETE /v", 3)  # the judging room went after its push, the transfer room beside the patch


class Fault(Enum):
    """What happens then."""

    KILLED = "the controller gets SIGKILL"
    TERMINATED = "the controller gets SIGTERM"
    NO_WORKSPACE = "the workspace's container is killed"
    NO_GATE = "the gate's container is killed"
    ENGINE_GONE = "the engine's connections break and it does not come back"
    ENGINE_RESTARTED = "the engine's connections break, its containers are killed, and it comes back"
    ENGINE_HANGS = "the engine says nothing any more"
    DISK_FULL = "the disk below the state folder is full"


@dataclass(frozen=True)
class Outcome:
    """What came of the run. `swept` says that gc found something; `leftovers` is what it did not remove."""

    happened: bool
    exit_code: int
    status: str | None
    ended: str | None
    torn_down: bool | None
    answers: list[dict[str, Any]]
    stderr: str
    swept: int
    leftovers: list[str]
    remote: str  # as it was, or `pushed`: the branch has exactly the commit that was judged; or how it differs


def run_with(fault: Fault, step: Step, folder: Path) -> Outcome:
    """The outcome of a run into which the fault fell at the step. Its state folder is the cell's own."""
    state = folder / "state"
    with _small_disk(state, wanted=fault is Fault.DISK_FULL):
        return run_into(step, lambda controller: _do(fault, controller, state), folder)


def run_into(step: Step, act: Callable[[subprocess.Popen[str]], After], folder: Path, engine: str = ENGINE) -> Outcome:
    """The outcome of a run with the state folder `folder`/state, into which `act` fell at the step."""
    r0 = build_r0(folder / "r0")
    before = _refs(r0.remote)
    policy, out, state = folder / "policy.yml", folder / "out", folder / "state"
    policy.write_text(yaml.safe_dump(_POLICY), encoding="utf-8")
    socket = folder / "e.sock"
    environment = {**os.environ, "RUNNER_STATE_DIR": str(state), "GIT_CONFIG_GLOBAL": "/dev/null"}
    environment["DOCKER_HOST"] = f"unix://{engine}"
    argv = [sys.executable, "-m", "runner.doors.cli", "run", "--repo", str(r0.remote), "--ref", "agent/x1"]
    argv += ["--policy", str(policy), "--calls", "-", "--out", str(out)]
    started: list[subprocess.Popen[str]] = []
    proxy = FaultProxy(socket, step.value, lambda: act(started[0]), engine)
    started.append(
        subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "DOCKER_HOST": f"unix://{socket}"},
        )
    )
    try:
        lines = "".join(json.dumps({"tool": tool, "arguments": said}) + "\n" for tool, said in _CALLS)
        stdout, stderr = started[0].communicate(lines, timeout=_END_SECONDS)
    finally:
        started[0].kill()
        proxy.close()
    swept = _gc(environment)
    report = _report(state, out)
    return Outcome(
        happened=proxy.happened.is_set(),
        exit_code=started[0].returncode,
        status=report.get("status"),
        ended=(report.get("ended") or {}).get("code"),
        torn_down=(report.get("teardown") or {}).get("verified"),
        answers=[json.loads(line) for line in stdout.splitlines()],
        stderr=stderr,
        swept=swept,
        leftovers=_leftovers(state, engine),
        remote=_difference(r0.remote, before),
    )


def _do(fault: Fault, controller: subprocess.Popen[str], state: Path) -> After:
    acts: dict[Fault, Callable[[], None]] = {
        Fault.KILLED: lambda: controller.send_signal(signal.SIGKILL),
        Fault.TERMINATED: lambda: controller.send_signal(signal.SIGTERM),
        Fault.NO_WORKSPACE: lambda: _kill(state, "workspace"),
        Fault.NO_GATE: lambda: _kill(state, "gate"),
        Fault.ENGINE_RESTARTED: lambda: _kill(state, "workspace", "gate", "judge"),
        Fault.DISK_FULL: lambda: _fill(state),
    }
    acts.get(fault, lambda: None)()
    after = {
        Fault.ENGINE_GONE: After.GONE,
        Fault.ENGINE_RESTARTED: After.RESET,
        Fault.ENGINE_HANGS: After.HANG,
    }
    return after.get(fault, After.GO_ON)


def _mine(client: docker.DockerClient, state: Path) -> list[Any]:
    controller = (state / "controller-id").read_text(encoding="ascii").split()[0]
    found: list[Any] = client.containers.list(
        ignore_removed=True, all=True, filters={"label": f"{LABEL_CONTROLLER}={controller}"}
    )
    return found


def _kill(state: Path, *roles: str) -> None:
    with contextlib.closing(docker.from_env()) as client:
        for container in _mine(client, state):
            if container.labels[LABEL_ROLE] in roles:
                with contextlib.suppress(docker.errors.APIError):  # it was not running yet
                    container.kill()


def _fill(state: Path) -> None:
    with (state / _FULL).open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * 4096):
            pass


@contextlib.contextmanager
def _small_disk(state: Path, *, wanted: bool) -> Iterator[None]:
    state.mkdir(mode=0o700)
    if not wanted:
        yield
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", str(state)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(state)], check=True)


def _gc(environment: dict[str, str]) -> int:
    """How much `runner gc` removed; it is asked on the engine itself, with the disk as it is."""
    argv = [sys.executable, "-m", "runner.doors.cli", "gc", "-o", "json"]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return len(json.loads(ran.stdout))


def _report(state: Path, out: Path) -> dict[str, Any]:
    """The record's, or where its disk was full, the one of `--out`."""
    for file in (*(state / "runs").glob("*/report.json"), *out.glob("report.json")):
        loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return loaded
    return {}


def _leftovers(state: Path, engine: str) -> list[str]:
    with contextlib.closing(docker.DockerClient(base_url=f"unix://{engine}", version="auto")) as client:
        left = [str(container.name) for container in _mine(client, state)]
    return left + [str(path) for path in (state / "runs").glob("*/quarantine")]


def _refs(remote: Path) -> dict[str, str]:
    lines = git(remote, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines)


def _difference(remote: Path, before: dict[str, str]) -> str:
    after = _refs(remote)
    branch = "refs/heads/agent/x1"
    if after == before:
        return "as it was"
    others = {name for name in {*before, *after} - {branch} if before.get(name) != after.get(name)}
    made = git(remote, "log", "-1", "--format=%P %s", after[branch]).strip()
    files = git(remote, "diff", "--name-only", before[branch], after[branch]).split()
    judged = (made, files) == (f"{before[branch]} FAULT-COMMIT", ["src/app.mjs"])
    return "pushed" if judged and not others else f"{made} {files} {sorted(others)}"
