"""What all tests share: a hermetic environment, and the engine, which is asked for only by tests that need it."""

from __future__ import annotations

import gc
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from runner.engine.contract import Sandbox, SandboxLimits, SandboxSpec
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import RunnerError
from runner.settings import Settings
from tests.support.fault_report import count_fault, pytest_terminal_summary
from tests.support.parallel import FilesOrSingleTests, slow_first

__all__ = ["count_fault", "pytest_terminal_summary"]

REQUIRE_DOCKER = "RUNNER_REQUIRE_DOCKER"
"""Set by `make test` and CI: a test that needs Docker and can't have it fails instead of being skipped."""

IMAGE = Settings.from_environment().image
"""RUNNER_IMAGE, so that two checkouts can be tested on one engine."""

_WITHOUT_TMP_PATH = itertools.count()
# For `make fuzz`. No deadline, since a slow input is no finding; nothing kept that the usual tests would meet.
settings.register_profile("fuzz", max_examples=1000, deadline=None, database=None)

TEST_LIMITS = SandboxLimits(
    run_seconds=300,
    memory_mib=512,
    cpus=2.0,
    pids=256,
    open_files=1024,
    workspace_mib=256,
    workspace_inodes=100_000,
    file_mib=128,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow_first(items)


def pytest_collection_finish() -> None:
    """No collection of garbage looks again at what lives to the end: ten thousand tests, and the modules of all."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # `-p no:xdist` knows no such hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return FilesOrSingleTests(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(autouse=True)
def _hermetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No git of the developer's, no state folder of the developer's."""
    for name in [name for name in os.environ if name.startswith("GIT_") and name != "GIT_SSL_CAINFO"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("RUNNER_STATE_DIR", str(_own_state_folder(request)))


def _own_state_folder(request: pytest.FixtureRequest) -> Path:
    """Nobody else's, and not made yet: in `tmp_path`, which is not made for tests that do not ask for it."""
    if "tmp_path" in request.fixturenames:
        folder: Path = request.getfixturevalue("tmp_path")
        return folder / "runner-state"
    factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    return factory.getbasetemp() / f"runner-state-of-{next(_WITHOUT_TMP_PATH)}"


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """The engine with the built image; its absence skips the test, or fails it where Docker is required."""
    try:
        engine = DockerEngine(Settings.from_environment().docker)
        engine.image(IMAGE)
    except RunnerError as error:
        reason = f"Docker or the image is not there: {error.message}"
        if os.environ.get(REQUIRE_DOCKER) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    yield engine
    engine.close()


def sandbox_spec(name: str, limits: SandboxLimits = TEST_LIMITS) -> SandboxSpec:
    """A sandbox of the tests' own, so that no sweep of a real controller takes it for its own."""
    return SandboxSpec(
        run_id=f"test{name}{os.getpid()}{time.monotonic_ns() % 10**9}",
        controller_id="tests",
        image=IMAGE,
        limits=limits,
        deadline_unix=int(time.time()) + limits.run_seconds,
    )


@pytest.fixture
def docker_sandbox(docker_engine: DockerEngine) -> Iterator[Sandbox]:
    """A fresh sandbox with an empty workspace, removed afterwards."""
    sandbox = docker_engine.start(sandbox_spec("box"))
    try:
        yield sandbox
    finally:
        sandbox.remove()
