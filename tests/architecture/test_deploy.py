"""The files to deploy with hold what the server needs, and nothing wider."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture
def server() -> dict[str, Any]:
    services: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yml").read_text(encoding="utf-8"))[
        "services"
    ]
    assert list(services) == ["server"]
    return services["server"]


def test_the_state_folder_has_the_same_path_inside_and_outside(server: dict[str, Any]) -> None:
    # The engine resolves mounts on its own host: another path inside would be another folder, or none.
    state = server["environment"]["RUNNER_STATE_DIR"]
    assert f"{state}:{state}" in server["volumes"]
    assert all(one.split(":")[0] == one.split(":")[1] for one in server["volumes"])


def test_the_container_has_no_more_than_it_needs(server: dict[str, Any]) -> None:
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in server["security_opt"]
    assert "--uds" in server["command"]
    assert not {"privileged", "cap_add", "ports", "pid", "ipc", "devices", "network_mode"} & set(server)
    assert server["user"] != "root" and not server["user"].startswith("0")


def test_every_run_has_time_to_be_torn_down(server: dict[str, Any]) -> None:
    unit = (DEPLOY / "runner.service").read_text(encoding="utf-8")
    assert "TimeoutStopSec=120" in unit
    assert server["stop_grace_period"] == "120s"


def test_no_folder_of_the_server_is_gone_after_a_restart_of_the_machine(server: dict[str, Any]) -> None:
    folders = [one.split(":")[0] for one in server["volumes"] if not one.startswith("/var/run/docker.sock")]
    assert all(folder.startswith("/var/lib/") for folder in folders)
    assert server["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", ["runner.service", "compose.yml"])
def test_the_steps_name_images_and_tokens_of_the_servers_own_state_folder(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    steps = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    assert "token create" in steps and ("image build" in steps or "make image" in steps) and "state folder" in steps


@pytest.mark.parametrize(
    "path", ["README.md", "docs/PYTHON.md", "docs/HTTP.md", "docs/MCP.md", "deploy/runner.service"]
)
def test_nobody_is_told_to_install_a_name_that_is_nobodys(path: str) -> None:
    """No index has the package: whoever took its name there would be installed."""
    text = (DEPLOY.parent / path).read_text(encoding="utf-8")
    assert not re.search(r"pipx? install[^\n]*runner-sandbox", text)
