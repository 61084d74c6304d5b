"""The container of one run, as a pure function of its spec: every hardening flag stands here and nowhere else.

Snapshot-tested. What each flag stops is said beside it. Nothing of the host is mounted into a workspace: the workspace,
the home and the temporary folder are tmpfs of the run's own, so that they are bounded in bytes and inodes, hold nothing
after the container, and need no clean-up of volumes when a controller dies. A container of the gate has the same cage,
and the few folders of the host that its spec names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runner.engine import seccomp
from runner.engine.contract import HOME_SPACE, SHM_BYTES, TMP_SPACE, Mount, SandboxSpec

__all__ = [
    "KEEPER",
    "LABEL_CONTROLLER",
    "LABEL_DEADLINE",
    "LABEL_ROLE",
    "LABEL_RUN",
    "MASKED",
    "READ_ONLY",
    "ContainerPlan",
    "called_in_errors",
    "container_plan",
    "root_of",
]

LABEL_RUN = "runner.run"
LABEL_CONTROLLER = "runner.controller"
LABEL_DEADLINE = "runner.deadline"
LABEL_ROLE = "runner.role"

KEEPER = "900:900"
"""The main process runs as another uid than repository code, which therefore cannot signal it."""

MIB = 1024 * 1024
_CONTROLLERS = (
    *("blkio", "cpu", "cpuacct", "cpu,cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory", "misc"),
    *("net_cls", "net_cls,net_prio", "net_prio", "perf_event", "pids", "rdma", "systemd", "unified"),
)
# The engine's own list, whose place this takes, and the control groups of both versions. An engine that remaps users
# mounts those writable: a room of the gate, which runs as the host's root where the controller does, could raise its
# own limits. And crun leaves the folder above them to everybody. What is not there is passed over.
READ_ONLY = (
    *("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"),
    *("/sys/fs/cgroup", *(f"/sys/fs/cgroup/{name}" for name in _CONTROLLERS)),
)
# The engine's own list too, with what later engines have added: out of these the host's keys can be read, and by timing
# or the power that is used what others do.
MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats"),
    *("/sys/devices/virtual/powercap", "/sys/firmware"),
)


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """What the engine is asked for: the config and host config of one container."""

    name: str
    image: str
    command: list[str]
    user: str
    labels: dict[str, str]
    host: dict[str, Any]
    bare_host: dict[str, Any] = field(default_factory=dict)  # of the host config, what the SDK has no word for
    network_disabled: bool = True


def _tmpfs(size_bytes: int, inodes: int, *, user: str, mode: str) -> str:
    uid, _, gid = user.partition(":")
    # nosuid and nodev: a file made here can neither raise privileges nor be a device. exec stays: projects run here.
    return f"rw,exec,nosuid,nodev,size={size_bytes // MIB}m,nr_inodes={inodes},mode={mode},uid={uid},gid={gid}"


def _mount(mount: Mount) -> dict[str, Any]:
    # As a mount and not as a bind: the engine would make a folder where a bind's source is missing.
    return {
        "Type": "bind",
        "Source": mount.path,
        "Target": mount.target,
        "ReadOnly": not mount.writable,
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
    }


def _own_folders(spec: SandboxSpec) -> dict[str, str]:
    limits = spec.limits
    own = _tmpfs(limits.workspace_mib * MIB, limits.workspace_inodes, user=spec.user, mode="0755")
    if spec.role != "workspace":
        return {root_of(spec): own}
    return {
        root_of(spec): own,
        "/home/agent": _tmpfs(*HOME_SPACE, user=spec.user, mode="0700"),
        "/tmp": _tmpfs(*TMP_SPACE, user="0:0", mode="1777"),  # noqa: S108 - inside the container
    }


def _of_the_run(spec: SandboxSpec, seconds_to_live: int) -> list[str]:
    return [str(seconds_to_live - spec.idle_seconds)] if spec.idle_seconds else []


def root_of(spec: SandboxSpec) -> str:
    """The helper's root: the workspace, or all that a room of the gate has of its own."""
    return "/workspace" if spec.role == "workspace" else "/tmp"  # noqa: S108 - inside the container


def called_in_errors(spec: SandboxSpec) -> str:
    """What messages call the container: a reader has to know whether the workspace or the gate is meant."""
    return "the workspace" if spec.role == "workspace" else f"the gate's container ({spec.role})"


def container_plan(spec: SandboxSpec, *, seconds_to_live: int, remapped: bool = False) -> ContainerPlan:
    """The plan for `spec`; its main process ends the container after `seconds_to_live` s, with or without us.

    The time that it may wait for its run is part of them, and taken off once it is told that the run begins. `remapped`
    says that the engine gives containers other users than the host's (userns-remap).
    """
    limits = spec.limits
    # The workspace lives in memory, so its bytes are charged to the same cgroup as the processes: the cgroup's bound is
    # the sum, and a full workspace still leaves `memory_mib` to the programs.
    memory = (limits.memory_mib + limits.workspace_mib) * MIB
    host: dict[str, Any] = {
        "network_mode": "none",  # no interface but loopback, no DNS
        "cap_drop": ["ALL"],
        # Our own filter, so that what is refused does not change with the engine. AppArmor's profile, where the host
        # has it, is the engine's: one of ours would have to be loaded by root first.
        "security_opt": ["no-new-privileges", f"seccomp={seccomp.profile()}"],
        "read_only": True,
        "init": True,  # reaps orphans, so that a program's leftovers don't use up the pids limit
        "privileged": False,
        "auto_remove": True,  # ends itself when the main process ends, also when the controller is gone
        "runtime": spec.runtime,
        "log_config": {"Type": "none"},  # the guest must not fill the host's disk through its output
        "ipc_mode": "private",
        "cgroupns": "private",  # where the host has version 1, the engine would let it see the host's groups
        "shm_size": SHM_BYTES,
        "mem_limit": memory,
        "memswap_limit": memory,  # equal to memory: no growth into swap
        "nano_cpus": int(limits.cpus * 1_000_000_000),
        "pids_limit": limits.pids,
        "oom_kill_disable": False,
        "ulimits": [
            {"Name": "nofile", "Soft": limits.open_files, "Hard": limits.open_files},
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "fsize", "Soft": limits.file_mib * MIB, "Hard": limits.file_mib * MIB},
        ],
        "tmpfs": _own_folders(spec),
    }
    if spec.mounts:
        host["mounts"] = [_mount(mount) for mount in spec.mounts]
        if remapped:
            # Its mirror belongs to the controller's user, whom a remapped container does not have.
            host["userns_mode"] = "host"
    labels = {
        **spec.labels,
        LABEL_RUN: spec.run_id,
        LABEL_CONTROLLER: spec.controller_id,
        LABEL_DEADLINE: str(spec.deadline_unix),
        LABEL_ROLE: spec.role,
    }
    return ContainerPlan(
        name=f"runner-{spec.run_id}" + ("" if spec.role == "workspace" else f"-{spec.role}"),
        image=spec.image,
        command=["/opt/runner/keeper.sh", str(seconds_to_live), *_of_the_run(spec, seconds_to_live)],
        user=KEEPER,
        labels=labels,
        host=host,
        bare_host={"MaskedPaths": list(MASKED), "ReadonlyPaths": list(READ_ONLY)},
    )
