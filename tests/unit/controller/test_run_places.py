"""A run and its place: waited for before anything of the run exists, and held until nothing of it is left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from runner.controller.host import Host
from runner.controller.places import Places
from runner.model.errors import EngineUnavailable, HostFull
from tests.support.run_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A host with a place for one run, where nobody waits."""
    made = Bench(tmp_path)
    made.host = replace(made.host, max_runs=1, queue_seconds=0)
    return made


def begun(bench: Bench) -> int:
    return len(list((bench.state.path / "runs").iterdir()))


def waiting_by(monkeypatch: pytest.MonkeyPatch, pause: Callable[[float], None]) -> None:
    """Runs wait a minute, in the test's way."""

    def places(host: Host) -> Places:
        return Places(host.state.path / "places", host.max_runs, 60, host.monotonic, pause)

    monkeypatch.setattr(Host, "places", property(places))


def test_of_a_run_that_got_no_place_there_is_nothing(bench: Bench) -> None:
    with bench.open() as run:
        with pytest.raises(HostFull), bench.open():
            pass
        assert begun(bench) == 1
        run.completed()
    bench.proved_gone()


def test_a_place_is_free_once_its_run_is_torn_down(bench: Bench) -> None:
    for number in (1, 2):
        with bench.open() as run:
            run.completed()
        assert begun(bench) == number


def test_a_run_that_could_not_start_gives_its_place_back(bench: Bench) -> None:
    bench.engine.down = True
    with pytest.raises(EngineUnavailable), bench.open():
        pass
    bench.engine.down = False
    with bench.open() as run:
        run.completed()


def test_a_run_without_a_workspace_needs_no_place(bench: Bench) -> None:
    with bench.open() as run, bench.open(tools=frozenset()) as other:
        other.completed()
        run.completed()


def test_a_runs_time_starts_when_it_has_its_place(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ExitStack()
    first.enter_context(bench.open()).completed()

    def ends(_seconds: float) -> None:
        bench.clock.advance(50)
        first.close()

    waiting_by(monkeypatch, ends)
    with bench.open(limits={"runSeconds": 5}) as run:
        assert run.call("workspace.list_dir", {"path": "."})["ok"]
        run.completed()
    assert "waiting for a free place: 1st of 1 in the queue, 1 run is active" in bench.said
    assert bench.report()["status"] == "completed"


def test_an_interrupted_wait_leaves_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    waiting_by(monkeypatch, interrupt)
    with bench.open() as run:
        with pytest.raises(KeyboardInterrupt), bench.open():
            pass
        assert (begun(bench), bench.host.places.waiting()) == (1, [])
        run.completed()
    bench.proved_gone()
