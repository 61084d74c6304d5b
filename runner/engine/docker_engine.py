"""The Docker engine behind the contract. Nothing of Docker's types or errors passes this module.

Creation is one create and one start; if anything fails in between, what was made is removed. Removal is verified by
asking the engine again until it says that the object is not there.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_exponential

from runner.engine.contract import EngineInfo, ImageInfo, Sandbox, SandboxInfo, SandboxSpec
from runner.engine.docker_sandbox import DockerSandbox
from runner.engine.docker_spec import (
    LABEL_CONTROLLER,
    LABEL_DEADLINE,
    LABEL_RUN,
    ContainerPlan,
    called_in_errors,
    container_plan,
    root_of,
)
from runner.engine.known_flaws import Component, require_sound_engine
from runner.model.errors import EngineUnavailable

__all__ = ["DockerEngine", "components_of", "engine_errors"]

_API_TIMEOUT_SECONDS = 30  # one engine call; a start on a loaded host takes a few seconds
_REMOVE_SECONDS = 30.0  # the bound of a verified removal
_UNIX_SECONDS = re.compile(r"[0-9]{1,11}")  # up to the year 5138; a label is anybody's who may talk to the engine
_STARTS_PER_CORE = 3  # with more of them at once each takes seconds, and no more of them end
KEEPER_GRACE_SECONDS = 60
"""How much longer than the run the container may live: the controller ends the run first, in an orderly way."""


class _StillThere(Exception):
    """Removal is under way; ask again."""


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn whatever the SDK raises into EngineUnavailable that says what was being done.

    Raises:
        EngineUnavailable: instead of any error of Docker, requests or the socket.
    """
    try:
        yield
    # ValueError: what the SDK lets through of an address whose port is no port.
    except (DockerException, requests.exceptions.RequestException, OSError, ValueError) as error:
        reason = _reason(error)
        raise EngineUnavailable(
            f"the Docker engine failed while {doing}: {reason}",
            hint="Check it with `runner doctor`; start Docker, or name its address in DOCKER_HOST.",
        ) from error


def _reason(error: Exception) -> str:
    """The cause in a few words: what the SDK wraps around a refused connection tells a reader nothing."""
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "FileNotFoundError" in said or "ConnectionRefused" in said or "Connection refused" in said:
        return "nothing answers at its address"
    if "PermissionError" in said:
        return "this user may not use its socket"
    return said[:300]


class DockerEngine:
    """`Engine` on a Docker daemon. `environment` gives DOCKER_HOST and its kin; the process environment is not read.

    `accepted` are names of flaws that the operator knows this engine to have, and lives with. At most `starts`
    sandboxes start at a time, as many as this host's processors bear where it is None; further ones wait.
    """

    def __init__(
        self, environment: Mapping[str, str], accepted: frozenset[str] = frozenset(), starts: int | None = None
    ) -> None:
        self._accepted = accepted
        self._starting = threading.BoundedSemaphore(starts or _STARTS_PER_CORE * (os.cpu_count() or 1))
        with engine_errors("connecting"):
            self._client = docker.from_env(environment=dict(environment), timeout=_API_TIMEOUT_SECONDS)
        self._known: EngineInfo | None = None
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
        container_id = self._create(plan)
        try:
            with engine_errors("starting the workspace container"):
                api.start(container_id)
            root, called = root_of(spec), called_in_errors(spec)
            return DockerSandbox(api, container_id, spec.user, root, self._remove_container, info, called)
        except BaseException:
            self._remove_container(container_id)
            raise

    def _create(self, plan: ContainerPlan) -> str:
        """The id of a container that is made and not started yet; none is left when this raises.

        In a thread of its own: an interrupt would give up the answer and not the request, and the engine would make a
        container that a tear-down has already looked for.
        """
        api = self._client.api
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(
                api.create_container,
                image=plan.image,
                command=plan.command,
                name=plan.name,
                user=plan.user,
                labels=plan.labels,
                hostname="workspace",
                working_dir="/",
                environment={},
                network_disabled=True,
                host_config={**api.create_host_config(**plan.host), **plan.bare_host},
            )
            try:
                with engine_errors("creating the workspace container"):
                    return str(asked.result()["Id"])
            except KeyboardInterrupt:
                with contextlib.suppress(Exception):  # then nothing was made
                    self._remove_container(str(asked.result()["Id"]))
                raise

    def _fit_for(self, runtime: str) -> EngineInfo:
        """What the engine is, asked for once: asking takes longer than all other checks of a start.

        A runtime that was taken away since is refused by the engine itself, and what a container has is seen in its
        posture.

        Raises:
            EngineUnavailable: it has no such runtime, or is of a version that lets containers out.
        """
        with self._asking:  # a run starts two containers at once
            known = self._known
            if known is None or runtime not in known.runtimes:
                known = self.info()
                require_sound_engine(known.components, self._accepted)
        if runtime not in known.runtimes:
            raise EngineUnavailable(
                f"the engine has no runtime {runtime!r}",
                hint=f"It has: {', '.join(known.runtimes)}.",
                code="runtime_missing",
            )
        self._known = known
        return known

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
            self._remove_container(info.id)
            return
        remove = self._client.api.remove_volume if info.kind == "volume" else self._client.api.remove_network
        with engine_errors(f"removing a {info.kind}"), contextlib.suppress(NotFound):
            remove(info.id)

    def close(self) -> None:
        """Give back the client's sockets."""
        self._client.close()

    def _remove_container(self, container_id: str) -> None:
        with engine_errors("removing the workspace container"):
            try:
                self._remove_until_gone(container_id)
            except _StillThere:
                raise EngineUnavailable(
                    f"the container {container_id[:12]} could not be removed within {_REMOVE_SECONDS:.0f} s",
                    hint="Run `runner gc` once the engine is well again.",
                    code="teardown_failed",
                ) from None

    # Removal is idempotent, so it may be asked for again: an engine that is already removing (auto-remove) says 409.
    @retry(
        retry=retry_if_exception_type(_StillThere),
        wait=wait_exponential(multiplier=0.005, max=0.5),
        stop=stop_after_delay(_REMOVE_SECONDS),
        reraise=True,
    )
    def _remove_until_gone(self, container_id: str) -> None:
        try:
            self._client.api.remove_container(container_id, force=True, v=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != requests.codes.conflict:
                raise
        try:
            self._client.api.inspect_container(container_id)
        except NotFound:
            return
        raise _StillThere


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
