"""Making and removing a container so that none is left which nobody knows of.

An answer that is lost is not a request that is lost: the engine goes on with what it was asked for. Removal is verified
by asking the engine again until it says that the container is not there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_exponential

from runner.engine.docker_spec import ContainerPlan
from runner.model.errors import EngineUnavailable

__all__ = ["DockerContainers", "engine_errors"]

_REMOVE_SECONDS = 30.0  # the bound of a verified removal


class _StillThere(Exception):
    """Removal is under way; ask again."""


# Removal is idempotent, so it may be asked for again: an engine that is already removing (auto-remove) says 409.
_until_gone = retry(
    retry=retry_if_exception_type(_StillThere),
    wait=wait_exponential(multiplier=0.005, max=0.5),
    stop=stop_after_delay(_REMOVE_SECONDS),
    reraise=True,
)


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


class DockerContainers:
    """Containers of the engine behind `api`, by plan and by id."""

    def __init__(self, api: docker.APIClient) -> None:
        self._api = api

    def create(self, plan: ContainerPlan) -> str:
        """The id of a container that is made and not started yet; none is left when this raises.

        In a thread of its own: an interrupt would give up the answer and not the request, and the engine would make a
        container that a tear-down has already looked for.
        """
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(self._made, plan)
            try:
                return asked.result()
            except KeyboardInterrupt:
                with contextlib.suppress(Exception):  # then nothing was made
                    self.remove(asked.result())
                raise

    def _made(self, plan: ContainerPlan) -> str:
        try:
            with engine_errors("creating the workspace container"):
                return self._ask_for(plan)
        except EngineUnavailable as error:
            if not isinstance(error.__cause__, APIError):  # it answered; without an answer it may be at it still
                with contextlib.suppress(EngineUnavailable):  # the tear-down asks it again, and names what is left
                    self._unmake(plan)
            raise

    def _ask_for(self, plan: ContainerPlan) -> str:
        made = self._api.create_container(
            image=plan.image,
            command=plan.command,
            name=plan.name,
            user=plan.user,
            labels=plan.labels,
            hostname="workspace",
            working_dir="/",
            environment={},
            network_disabled=plan.network_disabled,
            host_config={**self._api.create_host_config(**plan.host), **plan.bare_host},
        )
        return str(made["Id"])

    def _unmake(self, plan: ContainerPlan) -> None:
        """What the engine was asked for and gave no answer to is not there, and will not come.

        It goes on when nobody listens, and lists a container only once it is whole; but its name is taken from the
        first moment. So the name is free once it can be had, and whoever had it before is removed.

        Raises:
            EngineUnavailable: when the engine does not answer now either.
        """
        with engine_errors("looking for a container that it may have made"):
            try:
                self._remove_until_gone(self._ask_until_made(plan))
            except _StillThere:
                raise EngineUnavailable(f"the name {plan.name} did not come free") from None

    @_until_gone
    def _ask_until_made(self, plan: ContainerPlan) -> str:
        try:
            return self._ask_for(plan)
        except APIError as error:
            if error.status_code != requests.codes.conflict:
                raise
        with contextlib.suppress(APIError):  # it is being made, and not to be found yet; or being removed
            self._api.remove_container(plan.name, force=True, v=True)
        raise _StillThere

    def remove(self, container_id: str) -> None:
        """It is gone, verified; idempotent.

        Raises:
            EngineUnavailable: code `teardown_failed` when it is still there after half a minute.
        """
        with engine_errors("removing the workspace container"):
            try:
                self._remove_until_gone(container_id)
            except _StillThere:
                raise EngineUnavailable(
                    f"the container {container_id[:12]} could not be removed within {_REMOVE_SECONDS:.0f} s",
                    hint="Run `runner gc` once the engine is well again.",
                    code="teardown_failed",
                ) from None

    @_until_gone
    def _remove_until_gone(self, container_id: str) -> None:
        try:
            self._api.remove_container(container_id, force=True, v=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != requests.codes.conflict:
                raise
        try:
            self._api.inspect_container(container_id)
        except NotFound:
            return
        raise _StillThere
