"""One container of the workspace image for all that a file asks of its programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from runner.engine.contract import Sandbox
from runner.engine.docker_engine import DockerEngine
from tests.conftest import TEST_LIMITS, sandbox_spec


@pytest.fixture(scope="module")
def box(docker_engine: DockerEngine) -> Iterator[Sandbox]:
    """A sandbox with an empty workspace, removed after the last test of the file."""
    sandbox = docker_engine.start(sandbox_spec("grammar", replace(TEST_LIMITS, run_seconds=1200)))
    try:
        yield sandbox
    finally:
        sandbox.remove()
