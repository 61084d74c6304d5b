"""`runner mcp` as users start it: the inspector lists and calls, and a server that is stopped leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runner.controller.records import StateFolder
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import ExitCode
from runner.settings import Settings
from tests.support.cli import run_cli
from tests.support.mcp_inspector import Inspector, installed_inspector
from tests.support.repos import Commit, bare_repository

pytestmark = [pytest.mark.docker, pytest.mark.slow]

POLICY = {"writeAllow": ["src/**"]}
READ = ("--method", "tools/call", "--tool-name", "workspace_read_file", "--tool-arg", "path=README.md")
LIST = ("--method", "tools/list", "--strict")


@pytest.fixture
def asked(tmp_path: Path, docker_engine: DockerEngine) -> list[str]:
    """What is said of repository and policy."""
    files: dict[str, Any] = {"README.md": b"# R\n"}
    repo, policy = bare_repository(tmp_path / "r.git", [Commit(files)]), tmp_path / "policy.json"
    policy.write_text(json.dumps(POLICY))
    return ["--repo", str(repo), "--policy", str(policy)]


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    return installed_inspector(tmp_path)


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-m", "runner.doors.cli", "mcp", *words]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, text=True, **pipes) as server:
        try:
            yield server
        finally:
            server.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def nothing_runs(engine: DockerEngine) -> bool:
    mine = StateFolder(Settings.from_environment().state_dir).controller_id
    return mine not in {found.controller_id for found in engine.objects()}


def test_the_inspector_lists_and_calls_over_stdio(
    asked: list[str], inspector: Inspector, docker_engine: DockerEngine
) -> None:
    server = (
        "-e",
        f"RUNNER_STATE_DIR={os.environ['RUNNER_STATE_DIR']}",
        sys.executable,
        "-m",
        "runner.doors.cli",
        "mcp",
    )
    listed = inspector.json(*server, *asked, *LIST)
    assert "workspace_read_file" in {tool["name"] for tool in listed["tools"]}
    assert inspector.json(*server, *asked, *READ)["content"] == [{"type": "text", "text": "# R\n"}]
    assert nothing_runs(docker_engine)


def test_the_inspector_calls_over_http_and_a_server_that_is_stopped_tears_its_runs_down(
    asked: list[str], inspector: Inspector, docker_engine: DockerEngine
) -> None:
    made = run_cli("token", "create", "--tenant", "t", "--repo", f"file://{asked[1]}", "--policy", asked[3])
    token = made.stdout.strip().splitlines()[-1]
    address = f"127.0.0.1:{free_port()}"
    with started(*asked, "--http", address) as server:
        assert server.stderr is not None
        assert f"http://{address}/mcp" in server.stderr.readline()
        header = ("--transport", "http", "--header", f"Authorization: Bearer {token}")
        answer = inspector.json(f"http://{address}/mcp", *header, *READ)
        assert answer["content"] == [{"type": "text", "text": "# R\n"}]
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    assert nothing_runs(docker_engine)


def test_a_stdio_server_that_is_told_to_stop_kills_its_command_and_prints_nothing_but_the_protocol(
    asked: list[str], docker_engine: DockerEngine
) -> None:
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "workspace_run_command", "arguments": {"argv": ["node", "-e", "setInterval(() => {}, 1000)"]}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": greeting},
        {"method": "notifications/initialized"},
        {
            "id": 1,
            "method": "tools/call",
            "params": {"name": "workspace_read_file", "arguments": {"path": "README.md"}},
        },
        {"id": 2, "method": "tools/call", "params": {**call, "_meta": {"progressToken": 7}}},
    ]
    with started(*asked) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.write("no JSON \x1b[2J\n")
        server.stdin.flush()
        answered = False
        for line in server.stdout:
            message = json.loads(line)
            answered = answered or message.get("id") == 1
            if answered and message.get("method") == "notifications/progress":
                break
        server.send_signal(signal.SIGTERM)
        rest, errors = server.stdout.read(), server.stderr.read()
        assert server.wait(60) == ExitCode.INTERRUPTED
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert "interrupted: calls 2" in errors
    assert "\x1b" not in errors
    assert "Traceback" not in errors
    assert nothing_runs(docker_engine)
