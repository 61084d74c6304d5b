"""What all measures share: a controller with a state folder of its own, two repositories, and the bare engine.

The runs are those of the product, opened through `open_run` with the preset that a run without a policy gets. Only the
exploration budget is lifted, since a measure reads one file hundreds of times; it is asked all the same.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.bare import BareDocker, bench_spec
from benchmarks.failure import BenchFailed
from benchmarks.peers import Peers, open_peers
from benchmarks.repositories import LARGE_FILE_BYTES, QUICK_FILE_BYTES, large_files, make_repository, small_files
from runner.app import compose
from runner.controller.host import Host
from runner.controller.prepare import Prepared
from runner.controller.run import Run, open_run
from runner.controller.spec import RunRequest
from runner.engine.contract import ImageInfo, Sandbox, SandboxLimits
from runner.model.errors import ExitCode
from runner.policy.document import Budget
from runner.policy.load import LoadedPolicy, load_policy
from runner.settings import Settings
from runner.tools.registry import TOOLS

__all__ = ["GIT", "ROOT", "OpenRun", "Stage", "open_stage"]

ROOT = Path(__file__).resolve().parents[1]
GIT = shutil.which("git") or "/usr/bin/git"
_INSTALL_SECONDS = {False: 300.0, True: 30.0}  # for each of two; by whether the bench is a quick one
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


class OpenRun:
    """One run of the product that is ready for calls."""

    def __init__(self, run: Run, prepared: Prepared) -> None:
        self.run = run
        self.sandbox: Sandbox = prepared.sandbox
        self.milliseconds = prepared.watch.milliseconds  # goes on to fill: the teardown's phase is there at the end
        self.mirror = prepared.host.state.mirrors

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a call. Raises BenchFailed when it is refused: a refusal is quicker than the act."""
        answer = self.run.call(tool, arguments)
        if not answer["ok"]:
            raise BenchFailed(f"{tool}: {answer['error']}")
        return answer["result"]


@dataclass(frozen=True)
class Stage:
    """The controller, a folder for repositories, and one in memory for what the host does in comparison."""

    host: Host
    policy: LoadedPolicy
    image: ImageInfo
    image_name: str
    bare: BareDocker
    home: Path
    memory: Path
    git_environment: dict[str, str]
    stack: ExitStack  # closed with the stage
    quick: bool

    @cached_property
    def peers(self) -> Peers:
        """Other products, started when first asked for: an installation and an image take their time."""
        return self.stack.enter_context(open_peers(self.bare, self.image_name, _INSTALL_SECONDS[self.quick]))

    def versions(self) -> dict[str, str]:
        """Of the other products, as far as a measure has asked for them."""
        peers: Peers | None = self.__dict__.get("peers")  # where a cached property lies once it was asked for
        return {} if peers is None else {peer.name: peer.version for peer in peers.there}

    @cached_property
    def small(self) -> Path:
        """A bare repository of some twenty files."""
        return self.repository("small", small_files())

    @cached_property
    def large(self) -> Path:
        """A bare repository of 5,000 files and 42 MB, of 2 MB for a quick bench."""
        return self.repository("large", large_files(QUICK_FILE_BYTES if self.quick else LARGE_FILE_BYTES))

    def repository(self, name: str, files: Mapping[str, bytes]) -> Path:
        """A bare repository of its own, with one commit of these files."""
        return make_repository(self.home / f"{name}.git", files, GIT, self.git_environment)

    @contextmanager
    def open(self, repository: Path, policy: LoadedPolicy | None = None) -> Iterator[OpenRun]:
        """A run on `repository`, torn down and verified when the block ends. Raises BenchFailed when it was not."""
        request = RunRequest(str(repository), None, policy or self.policy, frozenset(TOOLS), None)
        with open_run(self.host, request, lambda _line: None) as run:
            if run.prepared is None:
                raise BenchFailed("the run has no workspace")
            yield OpenRun(run, run.prepared)
            run.completed()
        if run.exit_code is not ExitCode.COMPLETED:
            raise BenchFailed(f"the run ended early: {run.ended_because}")

    @contextmanager
    def sandbox(self) -> Iterator[Sandbox]:
        """A sandbox with an empty workspace, limited as a run's and without a run; removed when the block ends."""
        started = self.host.engine.start(bench_spec(self.image.id, _limits(self.policy)))
        try:
            yield started
        finally:
            started.remove()


@contextmanager
def open_stage(*, quick: bool = False) -> Iterator[Stage]:
    """Everything is ready to measure; nothing of it is left afterwards.

    Raises:
        RunnerError: when there is no engine or no image.
    """
    settings = Settings.from_environment()
    with tempfile.TemporaryDirectory(prefix="runner-bench-") as scratch, _memory(Path(scratch)) as memory:
        home = Path(scratch)
        environment = _git_environment(home)
        policy = _policy()
        with compose(replace(settings, state_dir=home / "state", max_runs="0")) as host:
            image = host.engine.image(settings.image)
            with closing(BareDocker(settings.docker, image.id, _limits(policy))) as bare, ExitStack() as stack:
                yield Stage(
                    host=host,
                    policy=policy,
                    image=image,
                    image_name=settings.image,
                    bare=bare,
                    home=home,
                    memory=memory,
                    git_environment=environment,
                    stack=stack,
                    quick=quick,
                )


@contextmanager
def _memory(otherwise: Path) -> Iterator[Path]:
    """A folder in memory, as the workspace is; where the host has none, one on its disk."""
    base = _MEMORY if os.access(_MEMORY, os.W_OK) else otherwise
    with tempfile.TemporaryDirectory(prefix="runner-bench-", dir=base) as folder:
        yield Path(folder)


def _policy() -> LoadedPolicy:
    loaded = load_policy("default")
    lifted = loaded.policy.model_copy(update={"budget": Budget(distinct=None, rereads=None)})
    return replace(loaded, policy=lifted)


def _limits(policy: LoadedPolicy) -> SandboxLimits:
    """The limits that a run under this policy gives its container."""
    limits = policy.policy.limits
    return SandboxLimits(**{field.name: getattr(limits, field.name) for field in fields(SandboxLimits)})


def _git_environment(home: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
