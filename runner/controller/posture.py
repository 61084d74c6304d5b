"""The posture proof: every control asked for is seen active, from inside and from the engine, or the run is off.

Pure: facts in, findings out. Each check names its control in the words of the threat model. A control that cannot be
seen counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from runner.engine import seccomp
from runner.engine.contract import GuestPosture, HostPosture, Mount, SandboxLimits
from runner.engine.runtimes import Kernel, promised_kernel, seen_kernel
from runner.model.errors import PostureFailed

__all__ = ["Cage", "Check", "prove", "require"]

_MIB = 1024 * 1024
# The run's own tmpfs mounts, and the kernel's API mounts that every container has and that root owns.
_OWN_MOUNTS = frozenset({"/workspace", "/home/agent", "/tmp"})  # noqa: S108 - inside the container
_API_MOUNTS = frozenset({"/dev", "/dev/pts", "/dev/mqueue", "/dev/shm", "/proc"})  # noqa: S108 - the same
# An engine that remaps users mounts them writable, and leaves it to the owner of the files, who is root: so what counts
# is whether a file there can be written to, which has a check of its own.
_CGROUP_MOUNTS = "/sys/fs/cgroup"
# Devices that do nothing to the host, and that every container has: nodes of its own, but in a user namespace, where
# nobody can make any, mounts of the host's.
_DEVICES = frozenset(f"/dev/{name}" for name in ("full", "null", "random", "tty", "urandom", "zero"))

# What each mount that programs may write to must have. A file there can then neither raise privileges nor be a device;
# programs are executed from the run's own mounts, and from nowhere else that can be written to.
_NO_PRIVILEGE = frozenset({"nosuid", "nodev"})
_MOUNT_OPTIONS = {
    **dict.fromkeys(_OWN_MOUNTS, _NO_PRIVILEGE),
    "/dev/shm": _NO_PRIVILEGE | {"noexec"},  # noqa: S108 - inside the container
    "/dev/mqueue": _NO_PRIVILEGE | {"noexec"},
}

_NO_APPARMOR = "none on this host"

_UNSEEN_IN_GVISOR = frozenset(
    {"seccomp profile", "system calls refused", "apparmor", "user namespace", "workspace inodes"}
)
"""What gVisor has no word for inside. The system calls that the filter is there to keep from the host's kernel end in
gVisor's, which counts no inodes, and shows nothing of the host's users and profiles."""


@dataclass(frozen=True, slots=True)
class Check:
    """One control: what was asked for, what was seen, and whether that will do."""

    control: str
    expected: str
    seen: str
    active: bool


@dataclass(frozen=True, slots=True)
class Cage:
    """What a container may have beyond a workspace's: whom its programs run as, and what of the host is mounted."""

    user: str = "1000:1000"
    mounts: tuple[Mount, ...] = ()


_WORKSPACE = Cage()


def prove(
    limits: SandboxLimits, runtime: str, host: HostPosture, guest: GuestPosture, cage: Cage = _WORKSPACE
) -> tuple[Check, ...]:
    """One check for each control, in the order of the report.

    Under a runtime that promises gVisor's kernel, what cannot be seen in it is left out, or is the engine's word alone.
    """
    kernel = promised_kernel(runtime)
    memory = (limits.memory_mib + limits.workspace_mib) * _MIB
    # Below /proc the engine mounts /dev/null over what must not be read; such a mask is no place to write to.
    given = {mount.target for mount in cage.mounts if mount.writable}
    devices = _DEVICES if host.user_remapped else frozenset()
    others = set(guest.writable_mounts) - _OWN_MOUNTS - _API_MOUNTS - {_CGROUP_MOUNTS} - devices - given
    stray = sorted(mount for mount in others if not mount.startswith(("/proc/", f"{_CGROUP_MOUNTS}/")))
    checks: Sequence[tuple[str, object, object]] = (
        ("not privileged", False, host.privileged),
        ("capabilities dropped", True, host.capabilities_dropped_all and not host.capabilities_added),
        ("capabilities inside", 0, guest.effective_capabilities | guest.permitted_capabilities),
        ("capability bounding set", 0, guest.bounding_capabilities),
        ("no-new-privileges", True, host.no_new_privileges and guest.no_new_privileges),
        ("seccomp filter", (2, seccomp.OWN_FILTER), (guest.seccomp_mode, host.seccomp)),
        ("seccomp profile", seccomp.mark(), guest.seccomp_mark),
        ("system calls refused", [], sorted(guest.system_calls_open)),
        ("apparmor", _apparmor(host), guest.apparmor if host.apparmor else _NO_APPARMOR),
        ("user namespace", _users(host.user_remapped and not cage.mounts), _users(not guest.root_is_host_root)),
        (_user_control(cage), cage.user, f"{guest.uid}:{guest.gid}"),
        ("main process not root", False, _is_root(host.user)),
        ("root file system read-only", True, host.root_read_only and guest.root_read_only),
        (_mount_control(cage), sorted(mount.said for mount in cage.mounts), sorted(host.binds)),
        ("no other writable mounts", [], stray),
        ("control groups read-only", [], sorted(guest.cgroups_writable)),
        ("mount options", [], _lax_mounts(guest)),
        ("no engine socket", False, guest.engine_socket_visible),
        ("no network interface", ("lo",), guest.interfaces),
        ("no route", 0, guest.routes),
        ("network none", True, host.network_none),
        ("log driver off", "none", host.log_driver),
        ("init process", True, host.init),
        ("runtime", runtime, host.runtime),
        ("kernel", kernel, _kernel(host, guest)),
        ("processes limit", (limits.pids, limits.pids), (host.pids_limit, guest.pids_max)),
        ("memory limit", (memory, memory), (host.memory_bytes, guest.memory_max_bytes)),
        ("no swap growth", memory, host.memory_swap_bytes),
        ("cpu limit", int(limits.cpus * 1e9), host.nano_cpus),
        ("open files limit", limits.open_files, guest.open_files_max),
        ("file size limit", limits.file_mib * _MIB, guest.file_max_bytes),
        ("no core dumps", 0, guest.core_max_bytes),
        ("workspace size", limits.workspace_mib * _MIB, guest.workspace_bytes),
        ("workspace inodes", limits.workspace_inodes, guest.workspace_inodes),
    )
    if kernel is Kernel.GVISOR:
        other = _in_gvisor(limits, memory, host, guest)
        shown = [check for check in checks if check[0] not in _UNSEEN_IN_GVISOR]
        checks = [(name, *other.get(name, (want, got))) for name, want, got in shown]
    return tuple(Check(name, _said(want), _said(got), want == got) for name, want, got in checks)


def _kernel(host: HostPosture, guest: GuestPosture) -> Kernel:
    return seen_kernel(host.kernel, guest.kernel, names_gvisor=guest.kernel_names_gvisor)


def _in_gvisor(
    limits: SandboxLimits, memory: int, host: HostPosture, guest: GuestPosture
) -> dict[str, tuple[object, object]]:
    """What is asked for and seen of controls that gVisor shows in another way, or leaves to the engine's word."""
    # All the memory that its kernel was given: the bound, or what the host has where that is less.
    bounded = 0 < guest.memory_total_bytes <= memory
    return {
        "seccomp filter": (seccomp.OWN_FILTER, host.seccomp),
        "mount options": ([], _lax_mounts(guest, told=frozenset({"noexec"}))),
        "processes limit": (limits.pids, host.pids_limit),
        "memory limit": ((memory, True), (host.memory_bytes, bounded)),
    }


def _lax_mounts(guest: GuestPosture, told: frozenset[str] = _NO_PRIVILEGE | {"noexec"}) -> list[str]:
    """The writable mounts that lack an option, each with what it lacks; one whose options were not told lacks all."""
    entries = [entry.partition(" ") for entry in guest.mount_options]
    lacking = []
    for mount in sorted(_MOUNT_OPTIONS.keys() & set(guest.writable_mounts)):
        # What is mounted twice at one place is told twice; the upper one may be taken away again.
        layers = [text.split(",") for path, _, text in entries if path == mount]
        needed = _MOUNT_OPTIONS[mount] & told
        missing = {option for option in needed if not all(option in layer for layer in layers or [[]])}
        lacking += [f"{mount} without {','.join(sorted(missing))}"] if missing else []
    return lacking


def _apparmor(host: HostPosture) -> str:
    """What the kernel must say where the engine confines by AppArmor."""
    return f"{host.apparmor} (enforce)" if host.apparmor else _NO_APPARMOR


def _users(remapped: bool) -> str:
    return "remapped" if remapped else "the host's"


def _user_control(cage: Cage) -> str:
    return "user" if cage.mounts else "non-root user"


def _mount_control(cage: Cage) -> str:
    return "host mounts" if cage.mounts else "no host mounts"


def _said(value: object) -> str:
    """The value as JSON writes it, text as it is."""
    return str(value) if isinstance(value, str) else json.dumps(value)


def _is_root(user: str) -> bool:
    """Whether the engine's `USER[:GROUP]` is root; no user at all means root."""
    name = user.partition(":")[0]
    return name in ("", "root") or (name.isdecimal() and int(name) == 0)


def require(checks: Sequence[Check]) -> None:
    """Nothing happens when every control is active.

    Raises:
        PostureFailed: naming each control that is not.
    """
    missed = [check for check in checks if not check.active]
    if missed:
        said = "; ".join(f"{check.control}: expected {check.expected}, seen {check.seen}" for check in missed)
        raise PostureFailed(
            f"the workspace is not as safe as the policy asks: {said}",
            hint="The engine accepted the setting and did not enforce it; see `runner doctor`.",
        )
