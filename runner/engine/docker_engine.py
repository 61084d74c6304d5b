"""The Docker engine behind the contract. Nothing of Docker's types or errors passes this module.

Creation is one create and one start; if anything fails in between, what was made is removed. Removal is verified by
asking the engine again until it says that the object is not there.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docker
from docker.errors import NotFound

from runner.engine.contract import EngineInfo, ImageInfo, Sandbox, SandboxInfo, SandboxSpec
from runner.engine.docker_containers import DockerContainers, engine_errors
from runner.engine.docker_sandbox import DockerSandbox
from runner.engine.docker_spec import (
    LABEL_CONTROLLER,
    LABEL_DEADLINE,
    LABEL_RUN,
    called_in_errors,
    container_plan,
    root_of,
)
from runner.engine.known_flaws import Component, doubts, require_sound_engine
from runner.model.errors import EngineUnavailable

__all__ = ["DockerEngine", "components_of"]

_API_TIMEOUT_SECONDS = 30  # one engine call; a start on a loaded host takes a few seconds
_UNIX_SECONDS = re.compile(r"[0-9]{1,11}")  # up to the year 5138; a label is anybody's who may talk to the engine
_STARTS_PER_CORE = 3  # with more of them at once each takes seconds, and no more of them end
_KNOWN_SECONDS = 120.0  # an engine or runtime that is changed under a long-lived controller is noticed within them
_SOCKET = "unix:///var/run/docker.sock"
_LOCAL = "http+docker://"  # the SDK's name for a Unix socket
KEEPER_GRACE_SECONDS = 60
"""How much longer than the run the container may live: the controller ends the run first, in an orderly way."""


class DockerEngine:
    """`Engine` on a Docker daemon. `environment` gives DOCKER_HOST and its kin; the process environment is not read.

    `accepted` are names of flaws that the operator knows this engine to have, and lives with. At most `starts`
    sandboxes start at a time, as many as this host's processors bear where it is None; further ones wait.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        accepted: frozenset[str] = frozenset(),
        starts: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._socket = (environment.get("DOCKER_HOST") or _SOCKET).removeprefix("unix://")
        self._accepted = accepted
        self._starting = threading.BoundedSemaphore(starts or _STARTS_PER_CORE * (os.cpu_count() or 1))
        with engine_errors("connecting"):
            self._client = docker.from_env(environment=dict(environment), timeout=_API_TIMEOUT_SECONDS)
            if self._client.api.base_url.startswith(_LOCAL):
                # Or each request reads the whole environment for a proxy, of which a Unix socket has no use: a third
                # of what a request costs here.
                self._client.api.trust_env = False
        self._containers = DockerContainers(self._client.api)
        self._known: EngineInfo | None = None
        self._known_until, self._known_socket = 0.0, (0, 0)
        self._asking = threading.Lock()

    def info(self) -> EngineInfo:
        """What answers, and what it can do.

        Raises:
            EngineUnavailable: when nothing answers.
        """
        with engine_errors("asking for its version"):
            facts: dict[str, Any] = self._client.api.info()
            version: dict[str, Any] = self._client.api.version()
        return EngineInfo(
            name="docker",
            version=str(version.get("Version", "")),
            api_version=str(version.get("ApiVersion", "")),
            runtimes=tuple(sorted(facts.get("Runtimes") or {})),
            security=tuple(_security_name(str(option)) for option in facts.get("SecurityOptions") or ()),
            cgroup_version=str(facts.get("CgroupVersion", "1")),
            storage=str(facts.get("Driver", "")),
            components=components_of(version),
            kernel=str(facts.get("KernelVersion", "")),
        )

    def image(self, reference: str) -> ImageInfo:
        """The image, which must be present.

        Raises:
            EngineUnavailable: code `image_missing` when it is not there.
        """
        with engine_errors("looking for the image"):
            try:
                found = self._client.images.get(reference)
            except NotFound:  # by its status; whether it is an ImageNotFound, the SDK reads out of the text
                raise EngineUnavailable(
                    f"the image {reference} is not there",
                    hint="Build it with `runner image build`.",
                    code="image_missing",
                ) from None
        attributes: dict[str, Any] = found.attrs
        labels = (attributes.get("Config") or {}).get("Labels") or {}
        return ImageInfo(reference, str(found.id), dict(labels), int(attributes.get("Size", 0)))

    def start(self, spec: SandboxSpec) -> Sandbox:
        """A fresh hardened sandbox, helper up. On any failure nothing of it is left.

        Raises:
            EngineUnavailable: when it cannot be started as asked; code `engine_flawed` for an engine whose version is
                known to let containers out.
            SandboxLost: when the helper inside does not come up.
        """
        with self._starting:
            return self._start(spec)

    def _start(self, spec: SandboxSpec) -> Sandbox:
        info = self._fit_for(spec.runtime)
        plan = container_plan(
            spec,
            seconds_to_live=spec.idle_seconds + spec.limits.run_seconds + KEEPER_GRACE_SECONDS,
            remapped="userns" in info.security,
        )
        api = self._client.api
        container_id = self._containers.create(plan)
        try:
            with engine_errors("starting the workspace container"):
                api.start(container_id)
            root, called = root_of(spec), called_in_errors(spec)
            return DockerSandbox(api, container_id, spec.user, root, self._containers.remove, info, called)
        except BaseException:
            self._containers.remove(container_id)
            raise

    def _fit_for(self, runtime: str) -> EngineInfo:
        """What the engine is. Asking takes longer than all other checks of a start, so it is kept for two minutes.

        An engine that is started again makes its socket anew, and is asked again at once. A runtime that was taken
        away since is refused by the engine itself, and what a container has is seen in its posture.

        Raises:
            EngineUnavailable: it has no such runtime, or is of a version that lets containers out.
        """
        with self._asking:  # a run starts two containers at once
            known, socket = self._known, self._stamp()
            stale = self._clock() >= self._known_until or socket != self._known_socket
            if known is None or stale or runtime not in known.runtimes:
                self._known = None  # one that is refused now was perhaps fit before
                known = self.info()
                require_sound_engine(known.components, self._accepted)
                self._known_until, self._known_socket = self._clock() + _KNOWN_SECONDS, socket
        if runtime not in known.runtimes:
            raise EngineUnavailable(
                f"the engine has no runtime {runtime!r}",
                hint=f"It has: {', '.join(known.runtimes)}.",
                code="runtime_missing",
            )
        self._known = known
        return known

    def _stamp(self) -> tuple[int, int]:
        """Which socket it answers at; nothing for an engine that has none on this host."""
        try:
            facts = Path(self._socket).stat()
        except OSError:
            return 0, 0
        return facts.st_ino, facts.st_ctime_ns

    def doubts(self) -> tuple[str, ...]:
        """A line for each flaw that the engine's versions leave open; nothing is asked for it."""
        known = self._known
        return () if known is None else doubts(known.components)

    def objects(self) -> list[SandboxInfo]:
        """Every container, volume and network that carries our labels."""
        chosen = {"label": LABEL_RUN}
        with engine_errors("listing what is there"):
            containers = self._client.api.containers(all=True, filters=chosen)
            volumes = self._client.api.volumes(filters=chosen).get("Volumes") or []
            networks = self._client.api.networks(filters=chosen)
        found = [
            _info(c["Id"], "container", c.get("Labels"), c.get("State"), (c["Names"] or [c["Id"]])[0])
            for c in containers
        ]
        found += [_info(v["Name"], "volume", v.get("Labels"), "present", v["Name"]) for v in volumes]
        found += [_info(n["Id"], "network", n.get("Labels"), "present", n["Name"]) for n in networks]
        return found

    def remove(self, info: SandboxInfo) -> None:
        """That object is gone, verified.

        Raises:
            EngineUnavailable: when it cannot be removed.
        """
        if info.kind == "container":
            self._containers.remove(info.id)
            return
        remove = self._client.api.remove_volume if info.kind == "volume" else self._client.api.remove_network
        with engine_errors(f"removing a {info.kind}"), contextlib.suppress(NotFound):
            remove(info.id)

    def close(self) -> None:
        """Give back the client's sockets."""
        self._client.close()


def components_of(version: Mapping[str, Any]) -> tuple[Component, ...]:
    """The parts of the engine, from what it answers to the question for its version."""
    told = version.get("Components") or [{"Name": "Engine", "Version": version.get("Version", "")}]
    return tuple(
        Component(
            str(part.get("Name", "")),
            str(part.get("Version", "")),
            str((part.get("Details") or {}).get("GitCommit", "")),
        )
        for part in told
    )


def _security_name(option: str) -> str:
    """`seccomp` of `name=seccomp,profile=default`, as the engine writes what it has."""
    return option.partition(",")[0].removeprefix("name=")


def _info(identity: str, kind: str, labels: Mapping[str, str] | None, state: str | None, name: str) -> SandboxInfo:
    marks = labels or {}
    deadline = marks.get(LABEL_DEADLINE, "")
    return SandboxInfo(
        id=identity,
        kind=kind,
        run_id=marks.get(LABEL_RUN, ""),
        controller_id=marks.get(LABEL_CONTROLLER, ""),
        deadline_unix=int(deadline) if _UNIX_SECONDS.fullmatch(deadline) else 0,
        state=state or "",
        name=name.lstrip("/"),
    )
