"""What to look at when a control is not active: a sentence for each that the posture proof can name."""

from __future__ import annotations

__all__ = ["MENDS", "REACHABLE", "mend_of"]

REACHABLE = "host reachable: "
"""How the control of one allowed host begins; the host and its port follow."""

_CAPABILITIES = "Look whether a wrapper around the engine or its runtime adds capabilities."
_FILTER = "Look with `docker info` whether the engine has seccomp, and whether its runtime applies what it is given."
_NETWORK = "Look whether a plug-in or wrapper of the engine attaches containers to a network that asked for none."
_ENGINE_ADDS = "The engine was not asked for it: look at its configuration, plug-ins and wrappers for what adds it."
_CGROUPS = (
    "Look at `runner doctor` for limits that the engine cannot set; on version 1 the controllers must be mounted."
)
_TMPFS = "Look whether the runtime sets size and nr_inodes of tmpfs mounts."
_ULIMITS = "Look whether the runtime sets resource limits, and whether the engine itself has lower ones."

MENDS = {
    "not privileged": _ENGINE_ADDS,
    "capabilities dropped": _CAPABILITIES,
    "capabilities inside": _CAPABILITIES,
    "capability bounding set": _CAPABILITIES,
    "no-new-privileges": "Look whether the runtime is older than the kernel's no-new-privileges, or takes it away.",
    "seccomp filter": _FILTER,
    "seccomp profile": _FILTER,
    "system calls refused": f"{_FILTER} On another processor than x86-64 or ARM64 the probes are not known.",
    "apparmor": "Load the profile docker-default on the engine's host (`aa-status` lists it), and restart the engine.",
    "user namespace": "Look at `userns-remap` in the engine's configuration, and for `userns=host` in a wrapper.",
    "own namespaces": f"{_ENGINE_ADDS} A kernel before 4.6 has none for control groups.",
    "user": "Look whether the engine or its runtime changes the user that programs are started as.",
    "non-root user": "Look whether the engine or its runtime changes the user that programs are started as.",
    "no further groups": "Look at /etc/group of the image and at wrappers of the engine for groups that are added.",
    "main process not root": "Look whether the engine or its runtime changes the user that containers are started as.",
    "clock": "Set the engine's host by NTP, or, where programs can set it, look for what gives them CAP_SYS_TIME.",
    "root file system read-only": "Look whether the engine's storage driver or its runtime leaves the root writable.",
    "host mounts": "Look at the engine's configuration and its runtime's hooks for mounts that they add or leave out.",
    "no host mounts": "Look at the engine's configuration, its plug-ins and its runtime's hooks for mounts they add.",
    "no other writable mounts": "Look at the image for volumes, and at the runtime's hooks for mounts that they add.",
    "control groups read-only": "Look whether the runtime mounts control groups read-only, as it was asked.",
    "mount options": "Look whether the runtime applies nosuid, nodev and noexec to tmpfs mounts.",
    "no devices": "Look at the runtime's hooks and the engine's device plug-ins (CDI) for devices that they add.",
    "kernel files masked": "Look whether the runtime applies the engine's list of masked paths.",
    "kernel files read-only": "Look whether the runtime applies the engine's list of read-only paths.",
    "kernel settings untouched": _ENGINE_ADDS,
    "no engine socket": "Take the engine's socket out of the image, or out of what the runtime's hooks mount.",
    "no network interface": _NETWORK,
    "no route": _NETWORK,
    "network none": _NETWORK,
    "no network settings": _ENGINE_ADDS,
    "gateway unreachable": _NETWORK,
    "metadata unreachable": f"{_NETWORK} Whoever reaches this address may read the machine's credentials.",
    "name servers unreachable": f"{_NETWORK} Names that are looked up carry data out.",
    "log driver off": "Look whether a wrapper of the engine replaces the log driver that is asked for.",
    "init process": "Install the engine's init (docker-init, of the package tini or docker-init).",
    "removed at its end": "Look whether a wrapper of the engine takes auto-remove away.",
    "never restarted": "Look whether a wrapper of the engine adds a restart policy.",
    "runtime": "Look at the engine's default runtime and its list of runtimes.",
    "kernel": "Look what program the engine has under the name of the runtime, and whether it starts.",
    "processes limit": _CGROUPS,
    "memory limit": _CGROUPS,
    "no swap growth": "Turn on swap accounting (swapaccount=1 on the kernel's command line), or have no swap.",
    "memory killer on": _ENGINE_ADDS,
    "cpu limit": _CGROUPS,
    "own control group": "Look at `cgroup-parent` in the engine's configuration.",
    "open files limit": _ULIMITS,
    "file size limit": _ULIMITS,
    "no core dumps": _ULIMITS,
    "workspace size": _TMPFS,
    "workspace inodes": _TMPFS,
    "home size": _TMPFS,
    "temporary files size": _TMPFS,
    "shared memory size": "Look whether the runtime sets the size of /dev/shm, and at its hooks for mounts there.",
    "hooks path": "Let the set-up point core.hooksPath to a folder of the clone.",
}

_HOST = (
    "Look whether the host is up, and whether this machine resolves and reaches it at that port; or take it out of "
    "`network.run.allow`."
)


def mend_of(control: str) -> str:
    """The sentence for a control that is not active."""
    return _HOST if control.startswith(REACHABLE) else MENDS[control]
