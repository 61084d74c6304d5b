"""A control that is off is seen from inside a real container, and the run ends before the repository is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.controller.posture import prove
from runner.engine.contract import GuestPosture
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import PostureFailed
from tests.conftest import TEST_LIMITS, sandbox_spec
from tests.support.cases import P0
from tests.support.inprocess import open_here
from tests.support.repos import build_r0

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

PROBED = {
    "ptrace",
    "process_vm_readv",
    "unshare",
    "setns",
    "clone of a user namespace",
    "keyctl",
    "io_uring_setup",
    "socket of the kernel's crypto",
    "socket of the hypervisor",
    "socket of netfilter",
}
"""What a kernel without any filter answers whatever its own settings are."""


def _seen(engine: DockerEngine) -> tuple[GuestPosture, set[str]]:
    """What is seen inside, and the controls that are missed for it."""
    sandbox = engine.start(sandbox_spec("off"))
    try:
        guest = sandbox.guest_posture()
        checks = prove(TEST_LIMITS, "runc", sandbox.host_posture(), guest)
        return guest, {check.control for check in checks if not check.active}
    finally:
        sandbox.remove()


def test_with_our_own_filter_each_probe_is_refused_and_its_mark_is_seen(docker_engine: DockerEngine) -> None:
    guest, missed = _seen(docker_engine)
    assert missed == set()
    assert guest.system_calls_open == ()


def test_the_engines_own_filter_is_not_taken_for_ours(asking_for: dict[str, Any], docker_engine: DockerEngine) -> None:
    asking_for["security_opt"] = ["no-new-privileges"]
    guest, missed = _seen(docker_engine)
    assert missed == {"seccomp filter", "seccomp profile", "system calls refused"}
    assert "ptrace" in guest.system_calls_open
    assert guest.seccomp_mode == 2


def test_no_filter_at_all_is_seen_by_every_probe(asking_for: dict[str, Any], docker_engine: DockerEngine) -> None:
    asking_for["security_opt"] = ["no-new-privileges", "seccomp=unconfined"]
    guest, missed = _seen(docker_engine)
    assert missed == {"seccomp filter", "seccomp profile", "system calls refused"}
    assert set(guest.system_calls_open) >= PROBED
    assert guest.seccomp_mode == 0


@pytest.mark.parametrize(
    ("flag", "value", "control"),
    [
        ("cap_drop", [], "capability bounding set"),
        ("read_only", False, "root file system read-only"),
        ("pids_limit", 0, "processes limit"),
        ("log_config", {"Type": "json-file"}, "log driver off"),
        ("init", False, "init process"),
        ("ulimits", [], "no core dumps"),
    ],
)
def test_a_flag_that_did_not_reach_the_engine_is_missed(
    flag: str, value: object, control: str, asking_for: dict[str, Any], docker_engine: DockerEngine
) -> None:
    asking_for[flag] = value
    assert control in _seen(docker_engine)[1]


def test_a_run_under_the_engines_own_filter_is_off(asking_for: dict[str, Any], tmp_path: Path) -> None:
    asking_for["security_opt"] = ["no-new-privileges"]
    with pytest.raises(PostureFailed, match="seccomp profile"), open_here(build_r0(tmp_path / "r0").remote, P0):
        raise AssertionError("calls would have been answered")
