"""`runner serve` as a process: where it listens, how it ends, and that one client does not hold up another."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path

import httpx
import pytest
import yaml

from runner.controller.records import StateFolder
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import ExitCode
from runner.settings import Settings
from tests.support.certificates import make_certificates
from tests.support.live_server import LiveServer, make_token, refused
from tests.support.policies import P0
from tests.support.repos import build_r0

# A server does not start without an engine.
pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]


def test_a_server_is_up_and_ready_and_ends_when_asked() -> None:
    with LiveServer("--port", "0") as server, server.client() as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ok"}
        assert client.get("/v1/runs").json()["code"] == "token_missing"
        assert server.stop()[0] == 0


def test_without_an_engine_it_does_not_start_and_says_so(tmp_path: Path) -> None:
    code, said = refused("--port", "0", environment={"DOCKER_HOST": f"unix://{tmp_path}/no-engine.sock"})
    assert code == ExitCode.ENGINE and "Traceback" not in said


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = refused("--port", str(taken.getsockname()[1]))
    assert code == ExitCode.USAGE and "Traceback" not in said


def test_beyond_the_loopback_it_starts_only_with_a_token_and_encryption(tmp_path: Path) -> None:
    assert refused("--host", "0.0.0.0", "--port", "0", "--behind-proxy")[0] == ExitCode.USAGE  # no token
    make_token()
    assert refused("--host", "0.0.0.0", "--port", "0")[0] == ExitCode.USAGE
    assert refused("--host", "localhost", "--port", "0")[0] == ExitCode.USAGE  # a name may lead anywhere
    (tmp_path / "x.pem").write_text("no certificate")
    pem = str(tmp_path / "x.pem")
    code, said = refused("--port", "0", "--tls-cert", pem, "--tls-key", pem)
    assert code == ExitCode.USAGE and "Traceback" not in said


def test_a_socket_file_is_its_owners_alone_and_is_gone_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "s"
    token = make_token()
    with LiveServer("--uds", str(path)) as server, server.client(token) as client:
        assert path.stat().st_mode & 0o777 == 0o600
        assert client.get("/v1/runs").json() == {"runs": []}
        assert refused("--uds", str(path))[0] == ExitCode.USAGE
        client.close()
        assert server.stop()[0] == 0
    assert not path.exists()


def test_over_tls_a_client_that_trusts_the_authority_is_answered(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    pem = str(made.server_file)
    with LiveServer("--port", "0", "--tls-cert", pem, "--tls-key", pem) as server:
        assert server.place.startswith("https://")
        with server.client(ca=made.ca_file) as client:
            assert client.get("/healthz").status_code == 200
        with pytest.raises(httpx.ConnectError), server.client() as stranger:
            stranger.get("/healthz")
        assert ssl.get_server_certificate(("127.0.0.1", server.port))


def test_clients_that_dribble_do_not_hold_up_another() -> None:
    token = make_token()
    head = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n{{"
    with LiveServer("--port", "0") as server, server.client(token) as client:
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        try:
            for number, one in enumerate(slow):
                one.sendall(head.encode() if number % 2 else b"GET /healthz HTT")
            assert client.get("/v1/runs").json() == {"runs": []}
            assert client.get("/healthz").status_code == 200
        finally:
            for one in slow:
                one.close()


def test_a_run_over_http_from_its_opening_to_a_polite_end(docker_engine: DockerEngine, tmp_path: Path) -> None:
    policy = tmp_path / "p.yml"
    policy.write_text(yaml.safe_dump({**P0, "setup": "off"}))
    build_r0(tmp_path / "r0.git")
    token = make_token("--policy", str(policy))
    state = StateFolder(Settings.from_environment().state_dir)
    with LiveServer("--port", "0") as server, server.client(token) as client:
        asked = {"repo": str(tmp_path / "r0.git"), "policy": str(policy)}
        runs = [client.post("/v1/runs?wait=60", json=asked).json() for _ in range(2)]
        assert [run["state"] for run in runs] == ["open"] * 2
        ended, left = (f"/v1/runs/{run['id']}" for run in runs)
        command = {"argv": ["node", "-e", "console.log('hello')"]}
        answer = client.post(f"{ended}/tools/workspace.run_command", json=command)
        assert answer.status_code == 200
        with client.stream(
            "POST",
            f"{ended}/tools/workspace.list_dir",
            json={"path": "."},
            headers={"Accept": "text/event-stream"},
        ) as stream:
            assert any(line == "event: answer" for line in stream.iter_lines())
        assert client.delete(ended).json()["state"] == "completed"
        with client.stream("GET", f"{left}/events") as log:
            assert next(log.iter_lines()).startswith("id: 1")
        assert server.stop()[0] == 0
    assert not any(state.alive(run["id"]) for run in runs)
    report = json.loads((state.path / "runs" / runs[1]["id"] / "report.json").read_text())
    assert report["teardown"] == {"verified": True, "leftovers": []}
    assert not {run["id"] for run in runs} & {one.run_id for one in docker_engine.objects()}
