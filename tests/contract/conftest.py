"""Every implementation of the sandbox's contract, for the suite to run over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.boxes import Box, FakeBox, RealBox
from tests.support.local_stream import local_sandbox

DOCKER = pytest.param("docker", marks=pytest.mark.docker)


def _box(request: pytest.FixtureRequest) -> Iterator[Box]:
    if request.param == "fake":
        yield FakeBox()
    elif request.param == "local":
        with local_sandbox() as sandbox:
            yield RealBox(sandbox)
    else:
        yield RealBox(request.getfixturevalue("docker_sandbox"))


@pytest.fixture(params=["fake", "local", DOCKER])
def box(request: pytest.FixtureRequest) -> Iterator[Box]:
    """Any sandbox."""
    yield from _box(request)


@pytest.fixture(params=["local", DOCKER])
def real(request: pytest.FixtureRequest) -> Iterator[Box]:
    """Any sandbox with real files and processes."""
    yield from _box(request)
