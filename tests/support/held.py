"""Runs held open over the host in memory, for tests of what holds them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.controller.held import HeldRun
from runner.controller.spec import RunRequest
from runner.engine.fake import FakeCall, FakeOutcome
from runner.policy.load import LoadedPolicy, policy_digest
from runner.tools.registry import TOOLS
from tests.support.policies import P0, policy
from tests.support.run_bench import Bench

__all__ = ["NODE", "Holding", "ManualTimer", "write"]

NODE = {"argv": ["node", "src/app.mjs"]}


class ManualTimer:
    """A timer that a test lets go off."""

    def __init__(self, seconds: float, act: Callable[[], object]) -> None:
        self.seconds, self.act = seconds, act
        self.running = False

    def start(self) -> None:
        self.running = True

    def cancel(self) -> None:
        self.running = False


class Holding:
    """A bench whose runs are held. Whoever makes one ends its runs with `end_all`."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)
        self.timers: list[ManualTimer] = []
        self.begun = threading.Event()  # a program that waits to be cancelled has started
        self.runs: list[HeldRun] = []

    def _timer(self, seconds: float, act: Callable[[], object]) -> ManualTimer:
        self.timers.append(ManualTimer(seconds, act))
        return self.timers[-1]

    def request(self, repository: str | None = None, **keys: object) -> RunRequest:
        made = policy(**{**P0, "setup": "off", **keys})
        loaded = LoadedPolicy(made, "p0.yml", policy_digest(made))
        return RunRequest(repository or str(self.bench.repository), None, loaded, frozenset(TOOLS), self.bench.out)

    def open(
        self,
        repository: str | None = None,
        node: Callable[[FakeCall], FakeOutcome] | None = None,
        options: dict[str, Any] | None = None,
        **keys: object,
    ) -> HeldRun:
        if node is not None:
            self.bench.engine.programs = {**self.bench.engine.programs, "node": node}
        asked = self.request(repository, **keys)
        made = HeldRun(self.bench.host, asked, self.bench.said.append, timer=self._timer, **(options or {}))
        self.runs.append(made)
        return made

    def waits(self, _call: FakeCall) -> FakeOutcome:
        """A program that runs until it is cancelled."""
        self.begun.set()
        return FakeOutcome(stdout=b"begun\n", until_cancelled=True)

    def end_all(self) -> None:
        for run in self.runs:
            run.interrupt()


def write(run: HeldRun) -> dict[str, Any]:
    return run.call("workspace.write_file", {"path": "src/n.txt", "content": "x"})
