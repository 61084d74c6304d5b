"""The engine without the product: what one writes with Docker's SDK to have a container and run things in it.

The container is made from the same plan as a run's, so that the same hardening is paid for on both sides.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import docker
from docker.errors import APIError, BuildError, ImageNotFound, NotFound

from benchmarks.failure import BenchFailed
from runner.engine.contract import SandboxLimits, SandboxSpec
from runner.engine.docker_spec import ContainerPlan, container_plan

__all__ = ["LABEL", "BareDocker", "bench_spec", "to_its_end"]

LABEL = {"runner.bench": secrets.token_hex(6)}
"""On everything that this bench makes in the engine, so that it is known for its own, and not another bench's."""

_CONTROLLER = "benchmarks"  # of nobody's state folder, so that no run's sweep takes these containers for its own
_API_SECONDS = 60
_CONFLICT = 409  # the engine's answer while it removes by itself what is set to remove itself


_Result = TypeVar("_Result")


def to_its_end(act: Callable[[], _Result]) -> _Result:
    """What `act` gives. A Ctrl-C meanwhile is raised once `act` has ended, and not in the midst of it.

    A request that the engine goes on with after we have given it up would make its container when all was removed.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(act).result()


def bench_spec(image: str, limits: SandboxLimits) -> SandboxSpec:
    """A sandbox that belongs to no run."""
    deadline = int(time.time()) + limits.run_seconds
    return SandboxSpec(f"bench{secrets.token_hex(4)}", _CONTROLLER, image, limits, deadline, labels=LABEL)


class BareDocker:
    """One engine, one image, one set of limits."""

    def __init__(self, environment: Mapping[str, str], image: str, limits: SandboxLimits) -> None:
        self._client = docker.from_env(environment=dict(environment), timeout=_API_SECONDS)
        self._api: Any = self._client.api
        self._image = image
        self._limits = limits

    def start(
        self, *, image: str | None = None, argv: Sequence[str] = (), user: str | None = None, network: bool = False
    ) -> str:
        """The name of a container that was created and started, and of which nothing else is known yet.

        A run's container, unless another image, main process or user is named; `network` gives it the engine's bridge.
        """
        spec = bench_spec(image or self._image, self._limits)
        plan = container_plan(spec, seconds_to_live=self._limits.run_seconds)
        host = {**plan.host, "network_mode": "bridge"} if network else plan.host
        try:
            to_its_end(lambda: self._create(plan, [*argv] or plan.command, user or plan.user, host))
            self._api.start(plan.name)
        except BaseException:
            self.remove(plan.name)
            raise
        return plan.name

    def _create(self, plan: ContainerPlan, argv: Sequence[str], user: str, host: Mapping[str, Any]) -> None:
        self._api.create_container(
            image=plan.image,
            command=list(argv),
            name=plan.name,
            user=user,
            labels=plan.labels,
            hostname="workspace",
            working_dir="/workspace",
            environment={},
            network_disabled=host["network_mode"] == "none",
            host_config=self._api.create_host_config(**host),
        )

    def remove(self, container: str) -> None:
        """One forced removal, as `docker rm -f` asks for it; idempotent, nothing is verified."""
        with suppress(NotFound):
            try:
                self._api.remove_container(container, force=True, v=True)
            except APIError as error:
                if error.status_code != _CONFLICT:
                    raise

    @contextmanager
    def container(self) -> Iterator[str]:
        """A started container, removed afterwards."""
        started = self.start()
        try:
            yield started
        finally:
            self.remove(started)

    def exec(self, container: str, argv: Sequence[str]) -> bytes:
        """What `argv` printed, run as the workspace's user in the workspace.

        Raises:
            BenchFailed: when it did not end with 0. Asking for that is part of it: a tool must know.
        """
        created = self._api.exec_create(container, list(argv), user="agent", workdir="/workspace")
        output: bytes = self._api.exec_start(created["Id"])
        code = self._api.exec_inspect(created["Id"])["ExitCode"]
        if code != 0:
            raise BenchFailed(f"{argv[0]} ended with {code}: {output[-300:].decode('utf-8', 'replace')}")
        return output

    def address(self, container: str) -> str:
        """Its address on the engine's bridge; empty while it has none."""
        return str(self._api.inspect_container(container)["NetworkSettings"]["IPAddress"])

    @contextmanager
    def image(self, folder: Path) -> Iterator[str]:
        """An image built from the Dockerfile in the folder; gone, with its layers, when the block ends.

        Raises:
            BenchFailed: when it cannot be built.
        """
        tag = f"runner-bench:{secrets.token_hex(4)}"
        try:
            to_its_end(
                lambda: self._client.images.build(path=str(folder), tag=tag, labels=LABEL, rm=True, forcerm=True)
            )
            yield tag
        except BuildError as error:
            raise BenchFailed(f"an image could not be built: {error}") from error
        finally:
            with suppress(ImageNotFound):
                self._client.images.remove(tag, force=True)

    def processes(self, container: str) -> list[int]:
        """The host's numbers of the container's processes."""
        told = self._api.top(container)
        column = told["Titles"].index("PID")
        return [int(process[column]) for process in told["Processes"]]

    def close(self) -> None:
        """Nothing of this bench is left in the engine, whatever was interrupted; the sockets are given back."""
        mine = [f"{name}={value}" for name, value in LABEL.items()]
        for container in self._api.containers(all=True, quiet=True, filters={"label": mine}):
            self.remove(str(container["Id"]))
        for image in self._api.images(quiet=True, filters={"label": mine}):
            with suppress(ImageNotFound):
                self._api.remove_image(image, force=True)
        self._client.close()
