"""What waits warm is set aside for a run that a server has written down, and for no other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from runner.controller.run import keep_ready, reserve
from runner.controller.spec import RunRequest
from runner.policy.load import LoadedPolicy, policy_digest
from runner.serving.service import Service, Wanted
from runner.store.database import Database, StoreUnavailable, default_url
from runner.store.runs import RunStore
from runner.store.tokens import Token, Verb
from runner.tools.registry import TOOLS
from tests.support.clocks import ManualClock
from tests.support.policies import P0, policy
from tests.support.run_bench import Bench
from tests.support.warm import with_pool

TOKEN = Token("t1", "tenant", frozenset({"p0"}), ("file://*",), frozenset(Verb), 0.0, 1e12, None, "")


def test_what_was_set_aside_for_a_run_that_the_database_did_not_take_waits_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    host, pool = with_pool(bench.host, ManualClock())
    made = policy(**{**P0, "setup": "off", "pool": 1})
    loaded = LoadedPolicy(made, "p0", policy_digest(made))
    request = RunRequest(str(bench.repository), None, loaded, frozenset(TOOLS), None)

    def away(*_args: object) -> None:
        raise StoreUnavailable("nobody answers")

    with closing(pool), closing(Database(default_url(bench.state.path))) as database:
        monkeypatch.setattr(pool, "fill", lambda: None)  # when the test says so, and not by itself
        keep_ready(host, request)
        assert pool.round(), pool.trouble
        waiting = {found.run_id for found in bench.engine.objects()}
        store = RunStore(database, host.unix)
        monkeypatch.setattr(store, "add", away)
        service = Service(host, store, lambda _wanted: request, runs_per_tenant=5)
        with pytest.raises(StoreUnavailable):
            service.create(TOKEN, Wanted(str(bench.repository), policy="p0"))
        assert {reserve(host, request)} == waiting
