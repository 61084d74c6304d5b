"""The sweep: what nobody holds goes, what somebody may hold stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.controller.records import RunRecord, StateFolder
from runner.controller.sweep import FOREIGN_GRACE_SECONDS, is_orphan, sweep
from runner.engine.contract import SandboxInfo, SandboxLimits, SandboxSpec
from runner.engine.fake import FakeEngine
from runner.gate.folders import remove_tree
from runner.model.errors import EngineUnavailable

LIMITS = SandboxLimits(60, 64, 1.0, 16, 64, 1, 100, 1)
DEADLINE = 1_000
NOW = float(DEADLINE)


def started(engine: FakeEngine, state: StateFolder, deadline: int = DEADLINE) -> tuple[RunRecord, SandboxInfo]:
    """A run of `state` whose sandbox is up and whose record is held."""
    record = state.begin()
    engine.start(SandboxSpec(record.run_id, state.controller_id, "fake:latest", LIMITS, deadline))
    return record, next(found for found in engine.objects() if found.run_id == record.run_id)


def test_what_a_dead_controller_left_goes_and_a_living_ones_stays(tmp_path: Path) -> None:
    engine, state = FakeEngine(), StateFolder(tmp_path)
    living, stays = started(engine, state)
    dead, goes = started(engine, state)
    dead.release()
    swept = sweep(engine, state, NOW)
    assert (swept.removed, swept.failed, engine.objects()) == ((goes,), (), [stays])
    living.release()


def test_a_living_run_over_its_deadline_is_still_its_controllers(tmp_path: Path) -> None:
    engine, state = FakeEngine(), StateFolder(tmp_path)
    record, _ = started(engine, state)
    assert sweep(engine, state, NOW + 10 * FOREIGN_GRACE_SECONDS).removed == ()
    record.release()


def test_two_controllers_never_sweep_each_others_runs_before_deadline_and_grace(tmp_path: Path) -> None:
    engine, ours, theirs = FakeEngine(), StateFolder(tmp_path / "a"), StateFolder(tmp_path / "b")
    record, found = started(engine, theirs)
    record.release()
    for now in (0.0, NOW, NOW + FOREIGN_GRACE_SECONDS):
        assert not is_orphan(replace(found, state="exited"), ours, now)
    assert is_orphan(replace(found, state="exited"), ours, NOW + FOREIGN_GRACE_SECONDS + 1)


@pytest.mark.parametrize("jump", [-1e9, 0.0, 1e9])
def test_a_clock_that_jumped_takes_no_run_that_is_going_on(jump: float, tmp_path: Path) -> None:
    engine, ours, theirs = FakeEngine(), StateFolder(tmp_path / "a"), StateFolder(tmp_path / "b")
    mine, _ = started(engine, ours)
    others, _ = started(engine, theirs)
    assert sweep(engine, ours, NOW + jump).removed == ()
    mine.release()
    others.release()


def test_a_foreign_object_without_a_deadline_is_never_swept(tmp_path: Path) -> None:
    found = SandboxInfo("id", "volume", "run", "somebody", 0, "present", "name")
    assert not is_orphan(found, StateFolder(tmp_path), 1e12)


@pytest.mark.parametrize("run_id", ["", "../../etc", "gone"])
def test_an_object_of_ours_whose_run_has_no_record_is_an_orphan(tmp_path: Path, run_id: str) -> None:
    state = StateFolder(tmp_path)
    assert is_orphan(SandboxInfo("id", "container", run_id, state.controller_id, 0, "running", "n"), state, 0.0)


def test_one_that_cannot_be_removed_is_named_and_does_not_keep_the_others(tmp_path: Path) -> None:
    class Stuck(FakeEngine):
        def remove(self, info: SandboxInfo) -> None:
            if info.id == "fake-1":
                raise EngineUnavailable("it is stuck")
            super().remove(info)

    engine, state = Stuck(), StateFolder(tmp_path)
    first, stuck = started(engine, state)
    second, goes = started(engine, state)
    first.release()
    second.release()
    swept = sweep(engine, state, NOW)
    assert (swept.removed, swept.failed) == ((goes,), ((stuck, "it is stuck"),))


def test_an_engine_that_is_down_cannot_be_swept(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable):
        sweep(FakeEngine(down=True), StateFolder(tmp_path), NOW)


def test_drafts_of_a_killed_push_go_and_those_of_a_living_run_stay(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    living, dead = state.begin(), state.begin()
    for record in (living, dead):
        (record.folder / "quarantine" / "objects").mkdir(parents=True)
        record.note("run.json", {})
    dead.release()
    sweep(FakeEngine(), state, NOW)
    assert (living.folder / "quarantine" / "objects").is_dir()
    assert not (dead.folder / "quarantine").exists() and (dead.folder / "run.json").exists()
    living.release()


def test_a_sweep_looks_into_each_run_that_ended_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = StateFolder(tmp_path)
    living, ended = state.begin(), state.begin()
    ended.release()
    assert state.unswept() == [ended.folder]
    sweep(FakeEngine(), state, NOW)
    asked: list[str] = []

    def noted(run_id: str) -> bool:
        asked.append(run_id)
        return True

    monkeypatch.setattr(state, "alive", noted)
    sweep(FakeEngine(), state, NOW)
    assert asked == [living.run_id]
    monkeypatch.undo()
    living.release()
    assert StateFolder(tmp_path).unswept() == [living.folder]


def test_a_run_whose_record_was_deleted_is_no_trouble_for_a_sweep(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    record = state.begin()
    record.release()
    remove_tree(record.folder)
    sweep(FakeEngine(), state, NOW)
    assert state.unswept() == []
