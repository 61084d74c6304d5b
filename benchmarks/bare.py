"""The engine without the product: what one writes with Docker's SDK to have a container and run things in it.

The container is made from the same plan as a run's, so that the same hardening is paid for on both sides.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import docker
from docker.errors import APIError, NotFound

from benchmarks.failure import BenchFailed
from runner.engine.contract import SandboxLimits, SandboxSpec
from runner.engine.docker_spec import container_plan

__all__ = ["BareDocker", "bench_spec"]

_CONTROLLER = "benchmarks"  # of nobody's state folder, so that no run's sweep takes these containers for its own
_API_SECONDS = 60
_CONFLICT = 409  # the engine's answer while it removes by itself what is set to remove itself


def bench_spec(image: str, limits: SandboxLimits) -> SandboxSpec:
    """A sandbox that belongs to no run."""
    deadline = int(time.time()) + limits.run_seconds
    return SandboxSpec(f"bench{secrets.token_hex(4)}", _CONTROLLER, image, limits, deadline)


class BareDocker:
    """One engine, one image, one set of limits."""

    def __init__(self, environment: Mapping[str, str], image: str, limits: SandboxLimits) -> None:
        self._client = docker.from_env(environment=dict(environment), timeout=_API_SECONDS)
        self._api: Any = self._client.api
        self._image = image
        self._limits = limits

    def start(self) -> str:
        """The id of a container that was created and started, and of which nothing else is known yet."""
        spec = bench_spec(self._image, self._limits)
        plan = container_plan(spec, seconds_to_live=self._limits.run_seconds)
        created = self._api.create_container(
            image=plan.image,
            command=plan.command,
            name=plan.name,
            user=plan.user,
            labels=plan.labels,
            hostname="workspace",
            working_dir="/workspace",
            environment={},
            network_disabled=True,
            host_config=self._api.create_host_config(**plan.host),
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

    def close(self) -> None:
        """The client's sockets are given back."""
        self._client.close()
