"""Runs of a server that wait for a place: they are told where they stand, and are not waited for once given up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from runner.controller.spec import RunRequest
from runner.policy.load import LoadedPolicy, policy_digest
from runner.serving.service import Service, Wanted
from runner.store.database import Database, default_url
from runner.store.runs import RunRow, RunState, RunStore
from runner.store.tokens import Token, Verb
from runner.tools.registry import TOOLS
from tests.support.policies import P0, policy
from tests.support.run_bench import Bench

TOKEN = Token("t1", "tenant", frozenset({"p0"}), ("file://*",), frozenset(Verb), 0.0, 1e12, None, "")


class Full:
    """A server whose host has one place, which another process has, and a run that waits for it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.bench = Bench(folder)
        host = replace(self.bench.host, max_runs=1)
        database = stack.enter_context(closing(Database(default_url(self.bench.state.path))))
        made = policy(**{**P0, "setup": "off"})
        loaded = LoadedPolicy(made, "p0", policy_digest(made))
        request = RunRequest(str(self.bench.repository), None, loaded, frozenset(TOOLS), None)
        store = RunStore(database, host.unix)
        self.service = Service(host, store, lambda _wanted: request, runs_per_tenant=5)
        stack.enter_context(host.places.taken("another's", self.bench.said.append))
        self.row = self.service.create(TOKEN, Wanted(str(self.bench.repository), policy="p0"))
        while not self.service.progress(self.row.id):
            os.sched_yield()


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Full]:
    with ExitStack() as stack:
        yield Full(tmp_path, stack)


def ended(full: Full) -> RunRow:
    return full.service.end(TOKEN, full.row.id)


def interrupted(full: Full) -> RunRow:
    return full.service.end(TOKEN, full.row.id, interrupt=True)


def stopped(full: Full) -> RunRow:
    full.service.shutdown()
    return full.service.get(TOKEN, full.row.id)


@pytest.mark.parametrize("give_up", [ended, interrupted, stopped])
def test_a_run_that_is_given_up_in_the_queue_ends_there(full: Full, give_up: Callable[[Full], RunRow]) -> None:
    assert full.service.progress(full.row.id) == ["waiting for a free place: 1st of 1 in the queue, 1 run is active"]
    row = give_up(full)
    assert (row.state, row.exit_code, row.code) == (RunState.INTERRUPTED, 130, "interrupted")
    assert list((full.bench.state.path / "runs").iterdir()) == [] and full.service.live_count() == 0
