"""The posture proof: every control asked for is seen active, from inside and from the engine, or the run is off.

Pure: facts in, findings out. Each check names its control in the words of the threat model. A control that cannot be
seen counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from runner.controller import posture_seen as seen
from runner.controller.posture_mends import mend_of
from runner.engine import seccomp
from runner.engine.contract import HOME_SPACE, SHM_BYTES, TMP_SPACE, GuestPosture, HostPosture, Mount, SandboxLimits
from runner.engine.runtimes import Kernel, promised_kernel, seen_kernel
from runner.model.errors import PostureFailed

__all__ = ["Cage", "Check", "prove", "require"]

_MIB = 1024 * 1024
_NO_APPARMOR = "none on this host"
_Row = tuple[str, object, object]  # a control's name, what was asked for, what was seen

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
    rows = [
        *_rights(host, guest, cage),
        *_files(host, guest, cage),
        *_network(host, guest),
        *_life(host, guest),
        ("runtime", runtime, host.runtime),
        ("kernel", kernel, seen_kernel(host.kernel, guest.kernel, names_gvisor=guest.kernel_names_gvisor)),
        *_limits(limits, host, guest),
        *_space(limits, host, guest, cage),
    ]
    if kernel is not Kernel.HOST:
        other = _in_a_machine(host)
        if kernel is Kernel.GVISOR:
            other |= _in_gvisor(limits, host, guest, cage)
            rows = [row for row in rows if row[0] not in _UNSEEN_IN_GVISOR]
        rows = [(name, *other.get(name, (want, got))) for name, want, got in rows]
    return tuple(Check(name, _said(want), _said(got), want == got) for name, want, got in rows)


def _rights(host: HostPosture, guest: GuestPosture, cage: Cage) -> list[_Row]:
    """What its programs may do, and as whom."""
    remapped = _users(host.user_remapped and not cage.mounts)
    return [
        ("not privileged", False, host.privileged),
        ("capabilities dropped", True, host.capabilities_dropped_all and not host.capabilities_added),
        ("capabilities inside", 0, guest.effective_capabilities | guest.permitted_capabilities),
        ("capability bounding set", 0, guest.bounding_capabilities),
        ("no-new-privileges", True, host.no_new_privileges and guest.no_new_privileges),
        ("seccomp filter", (2, seccomp.OWN_FILTER), (guest.seccomp_mode, host.seccomp)),
        ("seccomp profile", seccomp.mark(), guest.seccomp_mark),
        ("system calls refused", [], sorted(guest.system_calls_open)),
        ("apparmor", _apparmor(host), guest.apparmor if host.apparmor else _NO_APPARMOR),
        ("user namespace", remapped, _users(not guest.root_is_host_root)),
        ("own namespaces", [], seen.namespaces(host, guest)),
        ("user" if cage.mounts else "non-root user", cage.user, f"{guest.uid}:{guest.gid}"),
        ("no further groups", [], seen.groups(host, guest)),
        ("main process not root", False, seen.is_root(host.user)),
        ("clock", seen.CLOCK, seen.clock(host, guest)),
    ]


def _files(host: HostPosture, guest: GuestPosture, cage: Cage) -> list[_Row]:
    """What it can reach as a file, of the host and of the kernel."""
    unmasked, unguarded = seen.lists_short(host)
    given = {mount.target for mount in cage.mounts if mount.writable}
    mounts = sorted(mount.said for mount in cage.mounts)
    return [
        ("root file system read-only", True, host.root_read_only and guest.root_read_only),
        ("host mounts" if cage.mounts else "no host mounts", mounts, sorted(host.binds)),
        ("no other writable mounts", [], seen.stray_mounts(host, guest, given)),
        ("control groups read-only", [], sorted(guest.cgroups_writable)),
        ("mount options", [], seen.lax_mounts(guest)),
        ("no devices", [], seen.devices(host, guest)),
        ("kernel files masked", [], sorted({*unmasked, *guest.kernel_files_unmasked})),
        ("kernel files read-only", [], sorted({*unguarded, *guest.kernel_settings_open})),
        ("kernel settings untouched", [], sorted(host.kernel_settings)),
        ("no engine socket", False, guest.engine_socket_visible),
    ]


def _network(host: HostPosture, guest: GuestPosture) -> list[_Row]:
    return [
        ("no network interface", ("lo",), guest.interfaces),
        ("no route", 0, guest.routes),
        ("network none", True, host.network_none),
        ("no network settings", [], sorted(host.network_settings)),
        ("gateway unreachable", [], sorted(guest.gateways_open)),
        ("metadata unreachable", [], sorted(guest.metadata_open)),
        ("name servers unreachable", [], sorted(guest.resolvers_open)),
    ]


def _life(host: HostPosture, guest: GuestPosture) -> list[_Row]:
    """How it starts and ends, and what is kept of it."""
    return [
        ("log driver off", "none", host.log_driver),
        ("init process", True, host.init and seen.starts_with_init(guest)),
        ("removed at its end", True, host.removed_at_end),
        ("never restarted", "", host.restarted),
    ]


def _limits(limits: SandboxLimits, host: HostPosture, guest: GuestPosture) -> list[_Row]:
    memory, nano = _memory(limits), int(limits.cpus * 1e9)
    return [
        ("processes limit", (limits.pids, limits.pids), (host.pids_limit, guest.pids_max)),
        ("memory limit", (memory, memory), (host.memory_bytes, guest.memory_max_bytes)),
        ("no swap growth", memory, host.memory_swap_bytes),
        ("memory killer on", True, not (host.memory_killer_off or guest.memory_killer_off)),
        # The engine sets whole microseconds of each tenth of a second.
        ("cpu limit", (nano, nano // 10_000), (host.nano_cpus, guest.cpu_quota)),
        ("own control group", "", host.control_group_parent),
        ("open files limit", limits.open_files, guest.open_files_max),
        ("file size limit", limits.file_mib * _MIB, guest.file_max_bytes),
        ("no core dumps", 0, guest.core_max_bytes),
    ]


def _space(limits: SandboxLimits, host: HostPosture, guest: GuestPosture, cage: Cage) -> list[_Row]:
    """The folders in memory. A room of the gate has one of its own, which is the one for temporary files."""
    size, inodes = limits.workspace_mib * _MIB, limits.workspace_inodes
    home = [] if cage.mounts else [("home size", HOME_SPACE, (guest.home_bytes, guest.home_inodes))]
    own = (size, inodes) if cage.mounts else TMP_SPACE
    return [
        ("workspace size", size, guest.workspace_bytes),
        ("workspace inodes", inodes, guest.workspace_inodes),
        *home,
        ("temporary files size", own, (guest.tmp_bytes, guest.tmp_inodes)),
        ("shared memory size", (SHM_BYTES, SHM_BYTES), (host.shm_bytes, guest.shm_bytes)),
    ]


def _in_a_machine(host: HostPosture) -> dict[str, tuple[object, object]]:
    """The same under another kernel, whose first namespaces are not the host's."""
    return {"own namespaces": ([], sorted(host.namespaces_shared))}


def _in_gvisor(
    limits: SandboxLimits, host: HostPosture, guest: GuestPosture, cage: Cage
) -> dict[str, tuple[object, object]]:
    """What is asked for and seen of controls that gVisor shows in another way, or leaves to the engine's word."""
    memory, (unmasked, unguarded) = _memory(limits), seen.lists_short(host)
    # All the memory that its kernel was given: the bound, or what the host has where that is less.
    bounded = 0 < guest.memory_total_bytes <= memory
    return {
        "seccomp filter": (seccomp.OWN_FILTER, host.seccomp),
        "mount options": ([], seen.lax_mounts(guest, told=frozenset({"noexec"}))),
        "no devices": ([], seen.devices(host, guest, seen.GVISORS_OWN)),
        "kernel files masked": ([], unmasked),
        "kernel files read-only": ([], unguarded),
        "processes limit": (limits.pids, host.pids_limit),
        "memory limit": ((memory, True), (host.memory_bytes, bounded)),
        "cpu limit": (int(limits.cpus * 1e9), host.nano_cpus),
        "home size": (HOME_SPACE[0], guest.home_bytes),
        "temporary files size": (limits.workspace_mib * _MIB if cage.mounts else TMP_SPACE[0], guest.tmp_bytes),
        "shared memory size": (SHM_BYTES, host.shm_bytes),
    }


def _memory(limits: SandboxLimits) -> int:
    """Bytes: the workspace lives in memory, and is charged to the same bound as the programs."""
    return (limits.memory_mib + limits.workspace_mib) * _MIB


def _apparmor(host: HostPosture) -> str:
    """What the kernel must say where the engine confines by AppArmor."""
    return f"{host.apparmor} (enforce)" if host.apparmor else _NO_APPARMOR


def _users(remapped: bool) -> str:
    return "remapped" if remapped else "the host's"


def _said(value: object) -> str:
    """The value as JSON writes it, text as it is."""
    return str(value) if isinstance(value, str) else json.dumps(value)


def require(checks: Sequence[Check]) -> None:
    """Nothing happens when every control is active.

    Raises:
        PostureFailed: naming each control that is not, and what to look at for it.
    """
    missed = [check for check in checks if not check.active]
    if missed:
        said = "; ".join(f"{check.control}: expected {check.expected}, seen {check.seen}" for check in missed)
        raise PostureFailed(
            f"the workspace is not as safe as the policy asks: {said}",
            hint=" ".join(dict.fromkeys(mend_of(check.control) for check in missed)),
        )
