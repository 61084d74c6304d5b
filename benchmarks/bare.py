"""The engine without the product: what one writes with Docker's SDK to have a container and run things in it.

The container is made from the same plan as a run's, so that the same hardening is paid for on both sides.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, BuildError, ImageNotFound, NotFound

from benchmarks.failure import BenchFailed
from runner.engine.contract import SandboxLimits, SandboxSpec
from runner.engine.docker_spec import container_plan

__all__ = ["LABEL", "BareDocker", "bench_spec"]

LABEL = {"runner.bench": "true"}
"""On everything that the bench makes in the engine, so that it is known for its own."""

_CONTROLLER = "benchmarks"  # of nobody's state folder, so that no run's sweep takes these containers for its own
_API_SECONDS = 60
_CONFLICT = 409  # the engine's answer while it removes by itself what is set to remove itself


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
        """The id of a container that was created and started, and of which nothing else is known yet.

        A run's container, unless another image, main process or user is named; `network` gives it the engine's bridge.
        """
        spec = bench_spec(image or self._image, self._limits)
        plan = container_plan(spec, seconds_to_live=self._limits.run_seconds)
        host = {**plan.host, "network_mode": "bridge"} if network else plan.host
        created = self._api.create_container(
            image=plan.image,
            command=list(argv) or plan.command,
            name=plan.name,
            user=user or plan.user,
            labels=plan.labels,
            hostname="workspace",
            working_dir="/workspace",
            environment={},
            network_disabled=not network,
            host_config=self._api.create_host_config(**host),
        )
        container = str(created["Id"])
        try:
            self._api.start(container)
        except BaseException:
            self.remove(container)
            raise
        return container

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
            self._client.images.build(path=str(folder), tag=tag, labels=LABEL, rm=True, forcerm=True, pull=False)
            yield tag
        except BuildError as error:
            raise BenchFailed(f"an image could not be built: {error}") from error
        finally:
            with suppress(ImageNotFound):
                self._client.images.remove(tag, force=True)

    def close(self) -> None:
        """The client's sockets are given back."""
        self._client.close()
