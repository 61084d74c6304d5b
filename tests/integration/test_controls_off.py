"""A control that is off is seen from inside a real container, and the run ends before the repository is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.controller.posture import prove
from runner.engine import docker_spec, seccomp
from runner.engine.contract import GuestPosture
from runner.engine.docker_engine import DockerEngine
from runner.engine.fake import GOOD_GUEST, GOOD_HOST
from runner.model.errors import PostureFailed, SandboxLost
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


def _seen(engine: DockerEngine, helper: str = "1000:1000") -> tuple[GuestPosture, set[str]]:
    """What is seen inside by a helper of this user, and the controls that are missed for it."""
    sandbox = engine.start(replace(sandbox_spec("off"), user=helper))
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


OPEN = {"network_mode": "bridge", "network_disabled": False, "dns": ["192.0.2.53"]}
"""The engine's own network, with a name server that nobody has."""

ROOT = {"user": "0:0", "helper": "0:0"}
"""The engine gives capabilities to no other user: the container's main process, and the helper."""

UNCONFINED = ["no-new-privileges", "seccomp=unconfined"]


def _tmpfs(path: str, options: str) -> dict[str, Any]:
    """One of the run's own folders is made in another way."""
    folders = docker_spec.container_plan(sandbox_spec("off"), seconds_to_live=1).host["tmpfs"]
    return {"tmpfs": {**folders, path: options}}


def _limits(**others: int) -> dict[str, Any]:
    """The resource limits, but with these in place of ours."""
    limits = docker_spec.container_plan(sandbox_spec("off"), seconds_to_live=1).host["ulimits"]
    return {"ulimits": [each for each in limits if each["Name"] not in others]}


# Each is really off in a container of its own; what goes with it belongs to other controls. Sharing the
# host's processes is not among them: there, a helper that ends would kill what other containers run as its user.
OFF: list[tuple[str, dict[str, Any]]] = [
    ("not privileged", {"privileged": True}),
    ("capabilities dropped", {"cap_add": ["NET_RAW"]}),
    ("capabilities inside", {"cap_drop": [], **ROOT}),
    ("capability bounding set", {"cap_drop": []}),
    ("no-new-privileges", {"security_opt": [f"seccomp={seccomp.profile()}"], "helper": "0:0"}),
    ("seccomp filter", {"security_opt": UNCONFINED}),
    ("seccomp profile", {"security_opt": ["no-new-privileges"]}),
    ("system calls refused", {"security_opt": UNCONFINED}),
    ("own namespaces", {"ipc_mode": "host"}),
    ("own namespaces", {"cgroupns": "host"}),
    ("non-root user", {"helper": "0:0"}),
    ("non-root user", {"helper": "1000:0"}),
    ("no further groups", {"group_add": ["0"]}),
    ("main process not root", {"user": "0:0"}),
    ("root file system read-only", {"read_only": False}),
    ("no host mounts", {"mounts": [{"Type": "bind", "Source": "/etc", "Target": "/srv", "ReadOnly": True}]}),
    ("no other writable mounts", {"mounts": [{"Type": "volume", "Target": "/srv/more"}]}),
    ("mount options", _tmpfs("/tmp", "rw,exec,suid,dev,mode=1777")),
    ("no devices", {"devices": ["/dev/null:/dev/other:rwm"]}),
    ("no devices", {"device_cgroup_rules": ["c *:* rwm"]}),
    ("kernel files masked", {"MaskedPaths": []}),
    ("kernel files read-only", {"ReadonlyPaths": []}),
    ("kernel settings untouched", {"sysctls": {"net.ipv4.ping_group_range": "0 100000"}}),
    ("no engine socket", {"mounts": [{"Type": "bind", "Source": "/dev/null", "Target": "/run/docker.sock"}]}),
    ("no network interface", OPEN),
    ("no route", OPEN),
    ("network none", OPEN),
    ("no network settings", {"dns": ["192.0.2.53"]}),
    ("gateway unreachable", OPEN),
    ("metadata unreachable", OPEN),
    ("name servers unreachable", OPEN),
    ("log driver off", {"log_config": {"Type": "json-file"}}),
    ("init process", {"init": False}),
    ("removed at its end", {"auto_remove": False}),
    ("never restarted", {"auto_remove": False, "restart_policy": {"Name": "always"}}),
    ("runtime", {"runtime": "io.containerd.runc.v2"}),
    ("processes limit", {"pids_limit": 0}),
    ("memory limit", {"mem_limit": 1 << 32, "memswap_limit": 1 << 32}),
    ("no swap growth", {"memswap_limit": 1 << 33}),
    ("memory killer on", {"oom_kill_disable": True}),
    ("cpu limit", {"nano_cpus": 0}),
    ("own control group", {"cgroup_parent": "/runner-test-other"}),
    ("open files limit", _limits(nofile=0)),
    ("file size limit", _limits(fsize=0)),
    ("no core dumps", _limits(core=0)),
    ("workspace size", _tmpfs("/workspace", "rw,exec,nosuid,nodev,uid=1000,gid=1000")),
    ("workspace inodes", _tmpfs("/workspace", "rw,exec,nosuid,nodev,size=256m,uid=1000,gid=1000")),
    ("home size", _tmpfs("/home/agent", "rw,exec,nosuid,nodev,uid=1000,gid=1000")),
    ("temporary files size", _tmpfs("/tmp", "rw,exec,nosuid,nodev,mode=1777")),
    ("shared memory size", {"shm_size": 1 << 33}),
]

ELSEWHERE = {
    "control groups read-only": "needs a root that has every capability; tests/unit/controller/test_posture.py",
    "clock": "needs CAP_SYS_TIME, which hosts may lack themselves; tests/unit/controller/test_posture.py",
    "apparmor": "this engine's host may have none; tests/unit/controller/test_posture.py",
    "user namespace": "needs an engine that remaps users; tests/integration/test_private_engine.py",
    "kernel": "needs a runtime under a wrong name; tests/integration/test_private_engine.py",
}
"""Controls that cannot be turned off on every engine, and where they are."""


@pytest.mark.parametrize(("control", "off"), OFF, ids=[f"{name}-{'-'.join(off)}" for name, off in OFF])
def test_a_control_that_is_really_off_is_missed(
    control: str, off: dict[str, Any], asking_for: dict[str, Any], docker_engine: DockerEngine
) -> None:
    asking_for.update({name: value for name, value in off.items() if name != "helper"})
    assert control in _seen(docker_engine, off.get("helper", "1000:1000"))[1]


def test_every_control_is_turned_off_here_or_elsewhere() -> None:
    proved = {check.control for check in prove(TEST_LIMITS, "runc", GOOD_HOST, GOOD_GUEST)}
    assert {control for control, _ in OFF} | ELSEWHERE.keys() == proved
    assert not {control for control, _ in OFF} & ELSEWHERE.keys()


def test_a_helper_without_no_new_privileges_does_not_even_start(
    asking_for: dict[str, Any], docker_engine: DockerEngine
) -> None:
    asking_for["security_opt"] = [f"seccomp={seccomp.profile()}"]
    with pytest.raises(SandboxLost):
        docker_engine.start(sandbox_spec("off"))


def test_a_run_under_the_engines_own_filter_is_off(asking_for: dict[str, Any], tmp_path: Path) -> None:
    asking_for["security_opt"] = ["no-new-privileges"]
    with pytest.raises(PostureFailed, match="seccomp profile"), open_here(build_r0(tmp_path / "r0").remote, P0):
        raise AssertionError("calls would have been answered")
