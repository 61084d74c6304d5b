"""What of a container's facts needs reading before it can be compared: mounts, devices, users, the clock, who is first.

Pure: facts in, what they amount to out.
"""

from __future__ import annotations

from collections.abc import Collection

from runner.engine.contract import GuestPosture, HostPosture
from runner.engine.docker_spec import MASKED, READ_ONLY

__all__ = [
    "CLOCK",
    "GVISORS_OWN",
    "NO_PRIVILEGE",
    "clock",
    "devices",
    "groups",
    "is_root",
    "lax_mounts",
    "lists_short",
    "namespaces",
    "starts_with_init",
    "stray_mounts",
]

CLOCK = "the host's, and not to be set"
_CLOCK_SECONDS = 60  # both sides are asked within one; a minute more is what certificates and stamps can bear

# The run's own tmpfs mounts, and the kernel's API mounts that every container has and that root owns.
_OWN_MOUNTS = frozenset({"/workspace", "/home/agent", "/tmp"})  # noqa: S108 - inside the container
_API_MOUNTS = frozenset({"/dev", "/dev/pts", "/dev/mqueue", "/dev/shm", "/proc"})  # noqa: S108 - the same
# An engine that remaps users mounts them writable, and leaves it to the owner of the files, who is root: so what counts
# is whether a file there can be written to, which has a check of its own.
_CGROUP_MOUNTS = "/sys/fs/cgroup"
# Devices that do nothing to the host, and that every container has: nodes of its own, but in a user namespace, where
# nobody can make any, mounts of the host's.
_DEVICES = {
    **{"/dev/full": "1:7", "/dev/null": "1:3", "/dev/random": "1:8", "/dev/tty": "5:0", "/dev/urandom": "1:9"},
    **{"/dev/zero": "1:5", "/dev/pts/ptmx": "5:2", "/dev/ptmx": "5:2"},
}
GVISORS_OWN = ("c 10:200 /dev/net/tun", "c 10:229 /dev/fuse")
"""Devices that gVisor's own kernel has for each container, and behind which nothing of the host is."""
_HARMLESS = frozenset(_DEVICES) - {"/dev/pts/ptmx", "/dev/ptmx"}

NO_PRIVILEGE = frozenset({"nosuid", "nodev"})
# What each mount that programs may write to must have. A file there can then neither raise privileges nor be a device;
# programs are executed from the run's own mounts, and from nowhere else that can be written to.
_MOUNT_OPTIONS = {
    **dict.fromkeys(_OWN_MOUNTS, NO_PRIVILEGE),
    "/dev/shm": NO_PRIVILEGE | {"noexec"},  # noqa: S108 - inside the container
    "/dev/mqueue": NO_PRIVILEGE | {"noexec"},
}
_KEEPER = "/opt/runner/keeper.sh"


def stray_mounts(host: HostPosture, guest: GuestPosture, given: Collection[str]) -> list[str]:
    """Writable mounts that are neither the run's own, nor the kernel's, nor those that were `given`."""
    harmless = _HARMLESS if host.user_remapped else frozenset()
    others = set(guest.writable_mounts) - _OWN_MOUNTS - _API_MOUNTS - {_CGROUP_MOUNTS} - harmless - set(given)
    # Below /proc the engine mounts /dev/null over what must not be read; such a mask is no place to write to.
    return sorted(mount for mount in others if not mount.startswith(("/proc/", f"{_CGROUP_MOUNTS}/")))


def lax_mounts(guest: GuestPosture, told: Collection[str] = NO_PRIVILEGE | {"noexec"}) -> list[str]:
    """The writable mounts that lack an option, each with what it lacks; one whose options were not told lacks all."""
    entries = [entry.partition(" ") for entry in guest.mount_options]
    lacking = []
    for mount in sorted(_MOUNT_OPTIONS.keys() & set(guest.writable_mounts)):
        # What is mounted twice at one place is told twice; the upper one may be taken away again.
        layers = [text.split(",") for path, _, text in entries if path == mount]
        needed = _MOUNT_OPTIONS[mount] & set(told)
        missing = {option for option in needed if not all(option in layer for layer in layers or [[]])}
        lacking += [f"{mount} without {','.join(sorted(missing))}"] if missing else []
    return lacking


def devices(host: HostPosture, guest: GuestPosture, more: Collection[str] = ()) -> list[str]:
    """What the engine was asked for, and nodes that are none of those which every container has, nor one of `more`."""
    usual = {f"c {numbers} {path}" for path, numbers in _DEVICES.items()}
    return [*host.devices, *sorted(set(guest.devices) - usual - set(more))]


def groups(host: HostPosture, guest: GuestPosture) -> list[str]:
    """Groups beside the user's own one."""
    return sorted({*host.groups_added, *guest.groups} - {str(guest.gid)})


def namespaces(host: HostPosture, guest: GuestPosture) -> list[str]:
    """Kinds that are not the container's own, by the engine's word or seen inside."""
    return sorted({*host.namespaces_shared, *(f"{kind}=first" for kind in guest.namespaces_first)})


def lists_short(host: HostPosture) -> tuple[list[str], list[str]]:
    """What of the kernel's own files the engine was not told to hide, and what not to keep from being written."""
    return sorted(set(MASKED) - host.masked_paths), sorted(set(READ_ONLY) - host.read_only_paths)


def clock(host: HostPosture, guest: GuestPosture) -> str:
    """`CLOCK` when the clock inside goes with this side's, and programs cannot set it."""
    apart = abs(guest.clock_unix - host.clock_unix)
    if guest.clock_settable:
        return "to be set by programs"
    return CLOCK if apart <= _CLOCK_SECONDS else f"{apart} s from this host's"


def starts_with_init(guest: GuestPosture) -> bool:
    """Whether process 1 is the engine's init, and the keeper what it was told to start."""
    return guest.main_command.split(" ")[1:3] == ["--", _KEEPER]


def is_root(user: str) -> bool:
    """Whether the engine's `USER[:GROUP]` is root; no user at all means root."""
    name = user.partition(":")[0]
    return name in ("", "root") or (name.isdecimal() and int(name) == 0)
