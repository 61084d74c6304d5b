"""The container of a run: the whole plan as it stands, and each flag by its name and by what it stops."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from runner.engine import seccomp
from runner.engine.contract import Mount, SandboxLimits, SandboxSpec
from runner.engine.docker_spec import MASKED, READ_ONLY, ContainerPlan, called_in_errors, container_plan
from tests.support.local_stream import HELPER

LIMITS = SandboxLimits(
    run_seconds=1800,
    memory_mib=2048,
    cpus=1.5,
    pids=512,
    open_files=4096,
    workspace_mib=1024,
    workspace_inodes=500_000,
    file_mib=512,
)
SPEC = SandboxSpec(
    run_id="abc123",
    controller_id="ctrl1",
    image="sha256:feed",
    limits=LIMITS,
    deadline_unix=1_800_000_000,
    labels={"team": "blue"},
)
MIB = 1024 * 1024
ENGINES_OWN = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
GROUPS = (
    *("blkio", "cpu", "cpuacct", "cpu,cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory", "misc"),
    *("net_cls", "net_cls,net_prio", "net_prio", "perf_event", "pids", "rdma", "systemd", "unified"),
)


def plan(**limits: object) -> ContainerPlan:
    return container_plan(replace(SPEC, limits=replace(LIMITS, **limits)), seconds_to_live=1860)  # type: ignore[arg-type]  # one field of several types


def test_the_whole_plan() -> None:
    assert plan() == ContainerPlan(
        name="runner-abc123",
        image="sha256:feed",
        command=["/opt/runner/keeper.sh", "1860"],
        user="900:900",
        labels={
            "team": "blue",
            "runner.run": "abc123",
            "runner.controller": "ctrl1",
            "runner.deadline": "1800000000",
            "runner.role": "workspace",
        },
        host={
            "network_mode": "none",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges", f"seccomp={seccomp.profile()}"],
            "read_only": True,
            "init": True,
            "privileged": False,
            "auto_remove": True,
            "runtime": "runc",
            "log_config": {"Type": "none"},
            "ipc_mode": "private",
            "cgroupns": "private",
            "shm_size": 64 * MIB,
            "mem_limit": 3072 * MIB,
            "memswap_limit": 3072 * MIB,
            "nano_cpus": 1_500_000_000,
            "pids_limit": 512,
            "oom_kill_disable": False,
            "ulimits": [
                {"Name": "nofile", "Soft": 4096, "Hard": 4096},
                {"Name": "core", "Soft": 0, "Hard": 0},
                {"Name": "fsize", "Soft": 512 * MIB, "Hard": 512 * MIB},
            ],
            "tmpfs": {
                "/workspace": "rw,exec,nosuid,nodev,size=1024m,nr_inodes=500000,mode=0755,uid=1000,gid=1000",
                "/home/agent": "rw,exec,nosuid,nodev,size=1024m,nr_inodes=400000,mode=0700,uid=1000,gid=1000",
                "/tmp": "rw,exec,nosuid,nodev,size=512m,nr_inodes=100000,mode=1777,uid=0,gid=0",
            },
        },
        bare_host={
            "MaskedPaths": list(MASKED),
            "ReadonlyPaths": [*ENGINES_OWN, "/sys/fs/cgroup", *(f"/sys/fs/cgroup/{name}" for name in GROUPS)],
        },
        network_disabled=True,
    )


def test_what_is_hidden_of_the_kernels_files_is_what_the_helper_looks_for() -> None:
    source = ast.parse(HELPER.read_text(encoding="utf-8"))
    told = {ast.unparse(node.targets[0]): node.value for node in source.body if isinstance(node, ast.Assign)}
    assert set(MASKED) == set(_words(told["MASKED"]))
    assert set(_words(told["KERNEL_SETTINGS"])) == {path for path in READ_ONLY if path.startswith("/proc/")}


def _words(value: ast.expr) -> list[str]:
    return [node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        pytest.param("network_mode", "none", id="no network but loopback"),
        pytest.param("cap_drop", ["ALL"], id="no capability"),
        pytest.param(
            "security_opt",
            ["no-new-privileges", f"seccomp={seccomp.profile()}"],
            id="no set-uid program gains anything, our own filter is on",
        ),
        pytest.param("read_only", True, id="the image cannot be changed"),
        pytest.param("init", True, id="orphans are reaped"),
        pytest.param("privileged", False, id="not privileged"),
        pytest.param("auto_remove", True, id="it goes when its main process ends"),
        pytest.param("log_config", {"Type": "none"}, id="its output cannot fill the hosts disk"),
        pytest.param("ipc_mode", "private", id="no shared memory with others"),
        pytest.param("oom_kill_disable", False, id="too much memory ends a program"),
    ],
)
def test_a_flag_that_holds_whatever_the_limits_are(flag: str, value: object) -> None:
    for made in (plan(), plan(memory_mib=64, cpus=0.1, pids=16, workspace_mib=1)):
        assert made.host[flag] == value


@pytest.mark.parametrize(
    "flag", ["binds", "mounts", "volumes", "devices", "cap_add", "pid_mode", "userns_mode", "links"]
)
def test_nothing_is_asked_for_that_opens_a_way_out(flag: str) -> None:
    assert flag not in plan().host


@pytest.mark.parametrize(
    ("limit", "value", "flag", "asked"),
    [
        ("pids", 77, "pids_limit", 77),
        ("cpus", 0.1, "nano_cpus", 100_000_000),
        ("memory_mib", 64, "mem_limit", (64 + 1024) * MIB),
        ("workspace_mib", 8, "mem_limit", (2048 + 8) * MIB),
        ("memory_mib", 64, "memswap_limit", (64 + 1024) * MIB),
    ],
)
def test_a_limit_reaches_the_flag_that_holds_it(limit: str, value: object, flag: str, asked: object) -> None:
    assert plan(**{limit: value}).host[flag] == asked


@pytest.mark.parametrize(
    ("limit", "value", "name", "bound"),
    [("open_files", 64, "nofile", 64), ("file_mib", 3, "fsize", 3 * MIB)],
)
def test_a_limit_of_each_process_has_no_soft_part_that_may_be_raised(
    limit: str, value: int, name: str, bound: int
) -> None:
    found: dict[str, Any] = {u["Name"]: u for u in plan(**{limit: value}).host["ulimits"]}
    assert (found[name]["Soft"], found[name]["Hard"]) == (bound, bound)


@pytest.mark.parametrize("mount", ["/workspace", "/home/agent", "/tmp"])
def test_every_place_that_can_be_written_is_bounded_and_raises_no_privilege(mount: str) -> None:
    options = plan().host["tmpfs"][mount].split(",")
    assert {"nosuid", "nodev"} <= set(options)
    assert any(o.startswith("size=") for o in options) and any(o.startswith("nr_inodes=") for o in options)


def test_the_workspace_has_the_size_and_inodes_of_its_limits() -> None:
    options = plan(workspace_mib=7, workspace_inodes=123).host["tmpfs"]["/workspace"].split(",")
    assert "size=7m" in options and "nr_inodes=123" in options


def test_the_main_process_is_neither_root_nor_the_user_of_repository_code() -> None:
    assert plan().user.split(":") == ["900", "900"]


def test_one_that_waits_for_its_run_knows_the_time_of_the_run_apart_from_the_wait() -> None:
    waiting = container_plan(replace(SPEC, idle_seconds=900), seconds_to_live=2760)
    assert waiting.command == ["/opt/runner/keeper.sh", "2760", "1860"]
    assert replace(waiting, command=plan().command) == plan()


def test_labels_of_the_run_win_over_labels_that_a_caller_gives() -> None:
    forged = replace(SPEC, labels={"runner.run": "other", "runner.controller": "x", "runner.deadline": "0"})
    assert container_plan(forged, seconds_to_live=1).labels == {
        "runner.run": "abc123",
        "runner.controller": "ctrl1",
        "runner.deadline": "1800000000",
        "runner.role": "workspace",
    }


def test_on_a_remapping_engine_only_a_room_with_folders_of_the_host_keeps_the_hosts_users() -> None:
    room = replace(SPEC, role="gate", user="0:0", mounts=(Mount("/srv/mirror"),))
    asked = [container_plan(spec, seconds_to_live=1, remapped=True).host.get("userns_mode") for spec in (SPEC, room)]
    assert asked == [None, "host"]
    assert "userns_mode" not in container_plan(room, seconds_to_live=1).host


@pytest.mark.parametrize("path", ["/proc/sys", "/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu,cpuacct"])
def test_what_the_kernel_is_told_by_files_is_read_only_whatever_the_engine_makes_of_it(path: str) -> None:
    assert path in plan().bare_host["ReadonlyPaths"]


def test_another_runtime_is_passed_on() -> None:
    assert container_plan(replace(SPEC, runtime="other"), seconds_to_live=1).host["runtime"] == "other"


@pytest.mark.parametrize("role", ["gate", "judge", "sign"])
def test_a_room_of_the_gate_is_not_called_the_workspace(role: str) -> None:
    assert called_in_errors(SPEC) == "the workspace"
    assert called_in_errors(replace(SPEC, role=role)) == f"the gate's container ({role})"
