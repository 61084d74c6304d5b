"""What a set-up or policy asks for and the finished workspace does not have ends the run before its first call."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import P0, node, sh
from tests.support.cli import CliRun, run_runner
from tests.support.npm_registry import Registry, npm_registry
from tests.support.repos import build_r0

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

NOWHERE = "host.invalid:443"
"""A name that no resolver has an address for."""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with npm_registry(tmp_path / "registry") as running:
        yield running


def _run(folder: Path, environment: dict[str, str] | None = None, **policy: Any) -> CliRun:
    return run_runner(
        build_r0(folder / "r0").remote, {**P0, **policy}, [sh(*node("1"))], folder, environment=environment
    )


def _checks(ran: CliRun) -> dict[str, dict[str, Any]]:
    return {check["control"]: check for check in ran.report["posture"]}


def test_an_allowed_host_that_cannot_be_reached_ends_the_run_and_is_named(tmp_path: Path) -> None:
    ran = _run(tmp_path, network={"run": {"allow": [NOWHERE]}})
    assert (ran.exit_code, ran.answers, ran.report["ended"]["code"]) == (6, [], "posture_failed")
    assert f"host reachable: {NOWHERE}" in ran.stderr and "network.run.allow" in ran.stderr
    assert _checks(ran)[f"host reachable: {NOWHERE}"]["seen"] == "the proxy says 502"


def test_an_allowed_host_is_connected_to_and_sent_nothing_and_a_pattern_says_that_it_was_not_tried(
    registry: Registry, tmp_path: Path
) -> None:
    allow = ["npm", "*.example.com"]
    ran = _run(tmp_path, environment=dict(registry.environment), network={"run": {"allow": allow}})
    assert ran.exit_code == 0, ran.stderr
    hosts = {name: check for name, check in _checks(ran).items() if name.startswith("host reachable")}
    assert sorted(check["seen"] for check in hosts.values()) == ["connected", "not tried: a pattern names no host"]
    (event,) = [line["data"] for line in ran.audit if line["event"] == "egress"]
    assert (event["phase"], event["allowed"], event["port"]) == ("proof", True, registry.port)
    assert registry.seen == []


def test_a_registry_that_is_down_ends_the_run(registry: Registry, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environment = {
        "RUNNER_NPM_REGISTRY": f"https://registry.test:{port}/",
        "RUNNER_NPM_REGISTRY_ADDRESS": "127.0.0.1",
        "SSL_CERT_FILE": str(registry.certificate),
    }
    ran = _run(tmp_path, environment=environment, network={"run": {"allow": ["npm"]}})
    assert (ran.exit_code, ran.report["ended"]["code"]) == (6, "posture_failed")
    assert f"host reachable: registry.test:{port}" in ran.stderr


def test_the_hooks_that_the_set_up_switched_on_are_in_the_proof(tmp_path: Path) -> None:
    check = _checks(_run(tmp_path))["hooks path"]
    assert check["active"] and check["seen"] == ".githooks: 1 hooks"


def test_a_hooks_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    check = _checks(_run(tmp_path, setup=[["git", "config", "core.hooksPath", "src/none"]]))["hooks path"]
    assert check["active"] and check["seen"] == "src/none: 0 hooks"
