"""What the doctor says, by what it finds."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from runner.doors.doctor import Finding, run_doctor
from runner.doors.doctor_next import FIRST_RUN, next_step
from runner.engine.docker_images import EngineHealth, ImageState
from runner.engine.known_flaws import Component
from runner.model.errors import EngineUnavailable
from runner.settings import Settings

HEALTHY = EngineHealth(
    version="20.10.24+dfsg1",
    architecture="x86_64",
    storage="overlay2",
    seccomp=True,
    cgroup_version="2",
    limits_missing=(),
    data_root="/nowhere/at/all",
    security=("seccomp", "apparmor", "userns"),
    runtimes=("runc", "runsc"),
)
PRESENT = ImageState(
    "runner-workspace:dev", "sha256:12", current=True, recorded=True, user="agent", labels={"runner.base": "pull x"}
)
GATE = dataclasses.replace(PRESENT, reference="runner-gate:dev")
Usage = namedtuple("Usage", ("total", "used", "free"))


class Engine:
    def __init__(self, health: EngineHealth = HEALTHY, state: ImageState = PRESENT) -> None:
        self._health = health
        self._state = state
        self.closed = False

    def health(self) -> EngineHealth:
        return self._health

    def state(self) -> ImageState:
        return self._state

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A host on which everything is well."""
    tools = tmp_path / "bin"
    tools.mkdir()
    git = tools / "git"
    git.write_text("#!/bin/sh\necho git version 2.39.5\n")
    git.chmod(0o755)
    ca = tmp_path / "ca.pem"
    ca.write_text("-----BEGIN CERTIFICATE-----\n")
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    return Settings(state_dir=state, ca_file=ca, secrets={"PATH": str(tools)})


@pytest.fixture(autouse=True)
def space(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How much is free on every disk."""
    free = {"bytes": 50_000_000_000}
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, free["bytes"]))
    return free


def findings(settings: Settings, engine: Engine | None = None, gate: ImageState = GATE) -> dict[str, Finding]:
    chosen = engine or Engine()
    return {finding.check: finding for finding in run_doctor(settings, lambda: chosen, lambda: Engine(state=gate))}


def changed(settings: Settings, **fields: Any) -> Settings:
    return dataclasses.replace(settings, **fields)


def test_a_healthy_host_needs_no_mending(settings: Settings) -> None:
    found = findings(settings)
    assert {finding.state for finding in found.values()} == {"ok"}
    assert all(finding.mend == "" for finding in found.values())
    assert {"python", "git", "state", "authorities", "engine", "seccomp", "limits", "storage", "image", "base"} <= set(
        found
    )


@pytest.mark.parametrize(
    ("image", "state"),
    [
        (dataclasses.replace(GATE, id=None), "fail"),
        (dataclasses.replace(GATE, current=False), "warn"),
        (dataclasses.replace(GATE, recorded=False), "warn"),
    ],
)
def test_a_gate_image_that_is_missing_old_or_not_built_here_is_named(
    settings: Settings, image: ImageState, state: str
) -> None:
    found = findings(settings, gate=image)["gate"]
    assert (found.state, "runner image build" in found.mend) == (state, True)


def test_a_gate_on_the_host_is_a_warning_that_says_what_it_costs(settings: Settings) -> None:
    found = findings(changed(settings, gate="host"))["gate"]
    assert (found.state, "RUNNER_GATE" in found.mend) == ("warn", True)


def test_the_engine_is_given_back(settings: Settings) -> None:
    engine = Engine()
    findings(settings, engine)
    assert engine.closed


def test_no_engine_is_a_failure_that_leaves_the_host_findings(settings: Settings) -> None:
    def connect() -> Engine:
        raise EngineUnavailable("nothing answers")

    found = {finding.check: finding for finding in run_doctor(settings, connect)}
    assert found["engine"].state == "fail"
    assert found["git"].state == "ok"


@pytest.mark.parametrize(
    ("change", "check", "state"),
    [
        ({"version": "19.03.1"}, "engine", "warn"),
        ({"version": ""}, "engine", "warn"),
        ({"seccomp": False}, "seccomp", "fail"),
        ({"limits_missing": ("swap",)}, "limits", "fail"),
        ({"limits_missing": ("memory",)}, "limits", "fail"),
        ({"limits_missing": ("swap", "processes")}, "limits", "fail"),
        ({"storage": "vfs"}, "storage", "warn"),
    ],
)
def test_what_an_engine_lacks_is_named(settings: Settings, change: dict[str, Any], check: str, state: str) -> None:
    found = findings(settings, Engine(dataclasses.replace(HEALTHY, **change)))
    assert [finding.check for finding in found.values() if finding.state != "ok"] == [check]
    assert found[check].state == state
    assert found[check].mend


@pytest.mark.parametrize(
    ("change", "check", "state"),
    [
        ({"id": None}, "image", "fail"),
        ({"current": False}, "image", "warn"),
        ({"recorded": False}, "image", "warn"),
        ({"labels": {}}, "base", "warn"),
    ],
)
def test_what_an_image_lacks_is_named(settings: Settings, change: dict[str, Any], check: str, state: str) -> None:
    found = findings(settings, Engine(state=dataclasses.replace(PRESENT, **change)))
    assert [finding.check for finding in found.values() if finding.state != "ok"] == [check]
    assert found[check].state == state
    assert found[check].mend


ESCAPE = (Component("Engine", "28.0.1"), Component("runc", "1.1.11"))
LESSER = (Component("runc", "1.3.2"),)
PACKAGED = (Component("runc", "1.1.4", "1.1.4-1.el9"),)
UNMENDED = (Component("runc", "1.1.5+ds1", "1.1.5+ds1-1+b4"),)
UNREAD = (Component("runc", "unknown"),)


@pytest.mark.parametrize(
    ("parts", "state"), [(ESCAPE, "fail"), (LESSER, "warn"), (PACKAGED, "warn"), (UNMENDED, "fail"), (UNREAD, "warn")]
)
def test_a_version_with_known_flaws_is_named_with_them(
    settings: Settings, parts: tuple[Component, ...], state: str
) -> None:
    found = findings(settings, Engine(dataclasses.replace(HEALTHY, components=parts)))
    assert [finding.check for finding in found.values() if finding.state != "ok"] == ["flaws: runc"]
    assert (found["flaws: runc"].state, "CVE-20" in found["flaws: runc"].found) == (state, True)
    assert found["flaws: runc"].mend


@pytest.mark.parametrize("word", ["CVE-2024-21626", "all"])
def test_a_flaw_that_the_operator_accepts_is_a_warning(settings: Settings, word: str) -> None:
    accepting = changed(settings, accept_engine=frozenset({word}))
    found = findings(accepting, Engine(dataclasses.replace(HEALTHY, components=ESCAPE)))
    assert found["flaws: runc"].state == "warn"


@pytest.mark.parametrize(
    ("lacking", "check"),
    [
        ({"security": ("seccomp", "userns")}, "apparmor"),
        ({"security": ("seccomp", "apparmor")}, "userns"),
        ({"runtimes": ("crun", "runc")}, "runtimes"),
    ],
)
def test_what_would_confine_more_is_told_with_its_mend_and_fails_only_where_it_is_required(
    settings: Settings, lacking: dict[str, Any], check: str
) -> None:
    engine = Engine(dataclasses.replace(HEALTHY, **lacking))
    found = findings(settings, engine)
    assert [finding.check for finding in found.values() if finding.mend] == [check]
    assert found[check].state == "ok"
    strict = changed(settings, require_engine=frozenset({"apparmor", "userns", "runtime:runsc"}))
    assert [f.check for f in findings(strict, engine).values() if f.state == "fail"] == [check]


def test_what_is_required_and_there_needs_no_mending(settings: Settings) -> None:
    strict = changed(settings, require_engine=frozenset({"apparmor", "userns", "runtime:runsc"}))
    assert {finding.state for finding in findings(strict).values()} == {"ok"}


def test_a_rootless_engine_counts_as_one_that_remaps(settings: Settings) -> None:
    rootless = Engine(dataclasses.replace(HEALTHY, security=("seccomp", "apparmor", "rootless")))
    assert findings(settings, rootless)["userns"].mend == ""


def test_a_runtime_with_a_kernel_of_its_own_is_named_so(settings: Settings) -> None:
    assert "runsc (gVisor's kernel)" in findings(settings)["runtimes"].found


def test_a_requirement_that_nobody_knows_fails_and_the_rest_is_told(settings: Settings) -> None:
    found = findings(changed(settings, require_engine=frozenset({"selinux"})))
    assert [finding.check for finding in found.values() if finding.state == "fail"] == ["required"]
    assert found["required"].mend and "seccomp" in found


def test_missing_and_old_git_are_told_apart(settings: Settings, tmp_path: Path) -> None:
    assert findings(changed(settings, secrets={"PATH": str(tmp_path)}))["git"].state == "fail"
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\necho git version 2.30.2\n")
    assert findings(settings)["git"].state == "warn"
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexit 1\n")
    assert findings(settings)["git"].state == "fail"


def test_a_state_folder_that_others_may_enter_is_a_warning(settings: Settings) -> None:
    settings.state_dir.chmod(0o755)
    assert findings(settings)["state"].state == "warn"


def test_a_state_folder_that_is_yet_to_be_made_is_fine_and_a_file_in_its_place_is_not(
    settings: Settings, tmp_path: Path
) -> None:
    assert findings(changed(settings, state_dir=tmp_path / "new" / "er"))["state"].state == "ok"
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    assert findings(changed(settings, state_dir=tmp_path / "file" / "below"))["state"].state == "fail"


def test_a_host_without_authorities_is_a_warning(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for ca in (None, tmp_path / "empty.pem", tmp_path / "none.pem"):
        assert findings(changed(settings, ca_file=ca))["authorities"].state == "warn"


@pytest.mark.parametrize(("free", "state"), [(4_999_999_999, "warn"), (999_999_999, "fail"), (5_000_000_000, "ok")])
def test_a_disk_that_fills_up_is_named(settings: Settings, space: dict[str, int], free: int, state: str) -> None:
    space["bytes"] = free
    assert findings(settings)["disk: state"].state == state


def test_a_door_that_waits_for_an_extra_is_named_and_fails_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.doors.doctor_next.find_spec", lambda name: None)
    found = findings(settings)
    for extra in ("mcp", "server", "shell", "images"):
        assert found[f"extra: {extra}"].state == "ok"
        assert f"{extra}" in found[f"extra: {extra}"].mend


def test_the_next_step_is_the_first_failures_mend(settings: Settings) -> None:
    missing = Engine(state=dataclasses.replace(PRESENT, id=None))
    step = next_step(list(findings(settings, missing).values()))
    assert "runner image build" in step


def test_the_next_step_on_a_healthy_host_is_a_run(settings: Settings) -> None:
    assert FIRST_RUN in next_step(list(findings(settings).values()))
