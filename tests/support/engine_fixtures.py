"""Fixtures of engines that are not as they should be: other flags, and the tests' own second engine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from runner.engine import docker_engine, docker_spec
from runner.engine.contract import SandboxSpec
from runner.settings import Settings
from tests.conftest import IMAGE, REQUIRE_DOCKER
from tests.support.private_engine import PrivateEngine

__all__ = ["asking_for", "second_engine"]

# gVisor: the platform that needs nothing of the host, and no network, which runs have none of; an older release looks
# for one in a way that newer kernels mislead.
_RUNTIMES = {
    "crun": {"path": "crun"},
    "runsc": {"path": "runsc", "runtimeArgs": ["--platform=ptrace", "--network=none"]},
    "runsc-by-name": {"path": "runc"},
    "kata-by-name": {"path": "runc"},
}
_PROGRAMS = ("crun", "dockerd", "nsenter", "runc", "runsc", "unshare")


@pytest.fixture
def asking_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What is put here goes into the plan of each container that is started.

    By the name that the SDK or engine has, or that the plan has: `user` and `network_disabled` are no host settings.
    """
    changes: dict[str, Any] = {}

    def plan(spec: SandboxSpec, **how: Any) -> docker_spec.ContainerPlan:
        made = docker_spec.container_plan(spec, **how)
        own = {name: value for name, value in changes.items() if name in ("user", "network_disabled")}
        bare = {name: value for name, value in changes.items() if name in made.bare_host}
        host = {name: value for name, value in changes.items() if name not in {*own, *bare}}
        return replace(made, host={**made.host, **host}, bare_host={**made.bare_host, **bare}, **own)

    monkeypatch.setattr(docker_engine, "container_plan", plan)
    yield changes


@contextmanager
def second_engine() -> Iterator[PrivateEngine]:
    """An engine that remaps users, with the images of the first one and runtimes, of which two are misnamed.

    Without what it needs the test is skipped, or fails where Docker is required.
    """
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        reason = f"a second engine needs root, and {', '.join(missing) or 'nothing else'}"
        if os.environ.get(REQUIRE_DOCKER) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    engine = PrivateEngine(_RUNTIMES)
    try:
        for image in (IMAGE, Settings.from_environment().gate_image):
            engine.take_image(image)
        yield engine
    finally:
        engine.close()
