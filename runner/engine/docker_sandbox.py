"""One running workspace container: the helper's channel over a held exec, and what the engine says of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import docker
import requests
from docker.errors import DockerException

from runner.engine import seccomp
from runner.engine.channel import HelperChannel
from runner.engine.contract import EngineInfo, HostPosture
from runner.engine.docker_silence import why_silent
from runner.engine.docker_stream import DockerStream
from runner.model.errors import EngineUnavailable, SandboxLost

__all__ = ["DockerSandbox"]

_HELPER = ("/usr/bin/python3", "-I", "-S", "/opt/runner/helper.pyc")  # compiled as the image was made
_HELPER_END_SECONDS = 10.0
_RUN_BEGINS = "SIGURG"  # to the keeper; only the engine, and root, can send it one
_ENGINES_APPARMOR = "docker-default"  # what the engine loads, and puts on every container that names no other
_NAMESPACES = {"cgroup": "Cgroupns", "ipc": "Ipc", "pid": "Pid", "uts": "UTS"}
_NETWORK_SETTINGS = (*("Dns", "DnsOptions", "DnsSearch", "ExtraHosts", "Links", "PortBindings", "PublishAllPorts"),)
_NO_NEW_PRIVILEGES = ("no-new-privileges", "no-new-privileges=true")  # `=false` is an option too


class DockerSandbox(HelperChannel):
    """`Sandbox` on a started container, whose programs run as `user` in `root`. Constructed, its helper is up."""

    def __init__(
        self,
        api: docker.APIClient,
        container_id: str,
        user: str,
        root: str,
        remove: Callable[[str], None],
        engine: EngineInfo,
        named: str = "the workspace",
    ) -> None:
        self._api = api
        self._engine = engine
        self._container_id = container_id
        self._user = user
        self._root = root
        self._remove = remove
        self._called = named
        self._start_helper()

    def _start_helper(self) -> None:
        # Kills by user id are not for root, as whom the gate's containers run where the controller does.
        contained = () if self._user.startswith("0:") else ("--contained",)
        exec_id, stream = self._start_exec((*_HELPER, *contained, self._root), user=self._user)
        self._stream_of_helper = stream
        super().__init__(
            stream, named=self._called, why_silent=lambda: why_silent(self._api, self._container_id, exec_id)
        )

    def reconnect(self) -> None:
        """A fresh helper in the same workspace, once the old one has killed what ran and has ended.

        Raises:
            SandboxLost: when the old one does not end, or the workspace is gone.
        """
        # A helper that sees its stdin end kills all of its uid: the new one must not be there yet.
        if not self._stream_of_helper.end(_HELPER_END_SECONDS):
            raise SandboxLost(f"the helper of {self._called} does not end", hint="Start a new run.")
        self.close()
        self._start_helper()

    @property
    def id(self) -> str:
        """The container's id."""
        return self._container_id

    def open_stream(self, argv: Sequence[str], *, user: str) -> DockerStream:
        """A held exec of `argv` as `user`, without environment and without a terminal.

        Raises:
            EngineUnavailable: when the engine refuses.
        """
        return self._start_exec(argv, user=user)[1]

    def _start_exec(self, argv: Sequence[str], *, user: str) -> tuple[str, DockerStream]:
        """The engine's id of the exec, and its stream."""
        try:
            created = self._api.exec_create(
                self._container_id, list(argv), stdin=True, stdout=True, stderr=True, tty=False, user=user, workdir="/"
            )
            return str(created["Id"]), DockerStream(self._api.exec_start(created["Id"], socket=True, tty=False))
        except (DockerException, requests.exceptions.RequestException, OSError) as error:
            raise EngineUnavailable(
                f"the engine could not start {argv[-1]} in {self._called}: {error}",
                hint="Check the engine with `runner doctor`.",
            ) from error

    def host_posture(self) -> HostPosture:
        """What the engine says it started.

        Raises:
            EngineUnavailable: when it does not answer.
        """
        try:
            seen: dict[str, Any] = self._api.inspect_container(self._container_id)
        except (DockerException, requests.exceptions.RequestException, OSError) as error:
            raise EngineUnavailable(f"the engine does not know {self._called}: {error}") from error
        posture = _posture(seen["HostConfig"], seen["Config"], seen.get("Mounts") or [])
        # The engine's own word on what it has, and not the container's: a profile that was left off must not look as
        # if the host had none.
        security = self._engine.security
        return replace(
            posture,
            apparmor=_ENGINES_APPARMOR if "apparmor" in security else "",
            user_remapped=not {"userns", "rootless"}.isdisjoint(security),
            kernel=self._engine.kernel,
            clock_unix=int(time.time()),
        )

    def begin_run(self) -> None:
        """The keeper has been told that the run begins; it counts from there, and never longer than before.

        Raises:
            EngineUnavailable: when the engine does not pass it on.
        """
        try:
            self._api.kill(self._container_id, _RUN_BEGINS)
        except (DockerException, requests.exceptions.RequestException, OSError) as error:
            raise EngineUnavailable(f"the engine does not reach the workspace: {error}") from error

    def remove(self) -> None:
        """The container is gone, verified; idempotent.

        Raises:
            EngineUnavailable: when that cannot be proved.
        """
        self.close()
        self._remove(self._container_id)


def _posture(host: dict[str, Any], config: dict[str, Any], mounts: list[dict[str, Any]]) -> HostPosture:
    options = [str(option) for option in host.get("SecurityOpt") or ()]
    bound = [
        f"{mount.get('Source')}:{mount.get('Destination')}:{'rw' if mount.get('RW') else 'ro'}"
        for mount in mounts
        if mount.get("Type") != "tmpfs"
    ]
    return HostPosture(
        privileged=bool(host.get("Privileged")),
        capabilities_dropped_all=[str(c).upper() for c in host.get("CapDrop") or ()] == ["ALL"],
        capabilities_added=tuple(str(c) for c in host.get("CapAdd") or ()),
        no_new_privileges=any(option.replace(":", "=") in _NO_NEW_PRIVILEGES for option in options),
        seccomp=seccomp.named(options),
        apparmor="",
        kernel="",
        user_remapped=False,
        root_read_only=bool(host.get("ReadonlyRootfs")),
        network_none=host.get("NetworkMode") == "none",
        binds=tuple([str(b) for b in host.get("Binds") or ()] + bound),
        log_driver=str((host.get("LogConfig") or {}).get("Type", "")),
        user=str(config.get("User", "")),
        init=bool(host.get("Init")),
        memory_bytes=int(host.get("Memory") or 0),
        memory_swap_bytes=int(host.get("MemorySwap") or 0),
        pids_limit=int(host.get("PidsLimit") or 0),
        nano_cpus=int(host.get("NanoCpus") or 0),
        runtime=str(host.get("Runtime", "")),
        groups_added=tuple(str(group) for group in host.get("GroupAdd") or ()),
        devices=_devices(host),
        namespaces_shared=_shared(host),
        masked_paths=frozenset(str(path) for path in host.get("MaskedPaths") or ()),
        read_only_paths=frozenset(str(path) for path in host.get("ReadonlyPaths") or ()),
        memory_killer_off=bool(host.get("OomKillDisable")) or int(host.get("OomScoreAdj") or 0) < 0,
        shm_bytes=int(host.get("ShmSize") or 0),
        control_group_parent=str(host.get("CgroupParent") or ""),
        kernel_settings=tuple(f"{name}={value}" for name, value in sorted((host.get("Sysctls") or {}).items())),
        network_settings=_network_settings(host, config),
        removed_at_end=bool(host.get("AutoRemove")),
        restarted=str((host.get("RestartPolicy") or {}).get("Name") or "no").removeprefix("no"),
        clock_unix=0,
    )


def _devices(host: dict[str, Any]) -> tuple[str, ...]:
    mapped = [f"{d.get('PathOnHost')}:{d.get('PathInContainer')}" for d in host.get("Devices") or ()]
    rules = [f"rule {rule}" for rule in host.get("DeviceCgroupRules") or ()]
    return tuple([*mapped, *rules, *(f"request {one.get('Driver')}" for one in host.get("DeviceRequests") or ())])


def _shared(host: dict[str, Any]) -> tuple[str, ...]:
    """Kinds of namespaces that are not the container's own; users are seen from inside, and the network elsewhere."""
    said = {name: str(host.get(f"{key}Mode") or "") for name, key in _NAMESPACES.items()}
    own = {"cgroup": ("private",), "ipc": ("private", "none"), "pid": ("",), "uts": ("",)}
    return tuple(f"{name}={whose or 'not said'}" for name, whose in said.items() if whose not in own[name])


def _network_settings(host: dict[str, Any], config: dict[str, Any]) -> tuple[str, ...]:
    enabled = [] if config.get("NetworkDisabled") else ["NetworkEnabled"]
    return tuple([*enabled, *(name for name in _NETWORK_SETTINGS if host.get(name))])
