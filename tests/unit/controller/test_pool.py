"""The pool over an engine in memory: filled, handed over once, renewed, and gone at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner.controller.demand import Shape
from runner.controller.host import GateMode, Host
from runner.controller.records import StateFolder
from runner.controller.specs import CLEAN_UP_SECONDS
from runner.controller.sweep import sweep
from runner.controller.warm import WarmRun
from runner.controller.warm_up import IDLE_SECONDS, warm_up
from runner.engine.contract import SandboxLimits
from runner.engine.fake import GOOD_GUEST, FakeEngine, FakeSandbox
from tests.support.clocks import ManualClock
from tests.support.fake_run import SURE
from tests.support.warm import with_pool

LIMITS = SandboxLimits(60, 64, 1.0, 16, 64, 16, 100, 1)
SHAPE = Shape("fake:latest", "runc", LIMITS)


class Bench:
    """A host in memory with a pool."""

    def __init__(self, folder: Path, most: int = 8) -> None:
        self.engine = FakeEngine()
        self.clock = ManualClock()
        self.boot = ManualClock(7.0)
        self.state = StateFolder(folder / "state")
        self.host = Host(
            engine=self.engine,
            state=self.state,
            image="fake:latest",
            gate=GateMode.HOST,
            gate_image="fake-gate:latest",
            ssh_known_hosts=None,
            ca_file=None,
            npm_registry=None,
            secrets={},
            monotonic=self.clock,
            unix=self.clock,
        )
        _, self.pool = with_pool(self.host, self.boot, most=most)

    @property
    def records(self) -> list[str]:
        return sorted(path.name for path in (self.state.path / "runs").iterdir())

    @property
    def running(self) -> list[str]:
        return sorted(found.run_id for found in self.engine.objects())

    def filled(self, size: int = 1, shape: Shape = SHAPE) -> None:
        """So many wait, without a thread."""
        self.pool.expect(shape, size)
        assert self.pool.round(), self.pool.trouble

    def take(self, shape: Shape = SHAPE, size: int = 1) -> WarmRun | None:
        taken = self.pool.take(shape, size)
        if taken is not None:
            self.pool.own(taken)
        return taken


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.pool.close()
    assert made.engine.down or made.running == []


def test_as_many_wait_as_the_policy_says_each_under_the_id_of_a_run_that_is_held(bench: Bench) -> None:
    bench.filled(2)
    assert bench.running == bench.records and len(bench.running) == 2
    assert all(bench.state.alive(run_id) for run_id in bench.running)
    assert all(bench.state.warm(run_id) for run_id in bench.running)


def test_no_sweep_takes_what_a_living_process_keeps(bench: Bench) -> None:
    bench.filled(2)
    bench.clock.advance(10 * IDLE_SECONDS)
    assert sweep(bench.engine, bench.state, bench.clock()).removed == ()
    assert len(bench.records) == 2


def test_what_a_dead_process_kept_is_swept_with_its_record(bench: Bench) -> None:
    dead = warm_up(bench.host, SHAPE)
    dead.record.release()
    assert bench.state.warm(dead.record.run_id) is None
    assert [gone.run_id for gone in sweep(bench.engine, bench.state, bench.clock()).removed] == [dead.record.run_id]
    assert (bench.running, bench.records) == ([], [])


def test_a_record_of_a_run_that_began_is_not_dropped_with_the_warm_ones(bench: Bench) -> None:
    begun = warm_up(bench.host, SHAPE)
    begun.record.note("run.json", {})
    begun.record.release()
    sweep(bench.engine, bench.state, bench.clock())
    assert bench.records == [begun.record.run_id]


def test_one_is_handed_over_once(bench: Bench) -> None:
    bench.filled(1)
    taken = bench.take()
    assert taken is not None and bench.take() is None
    taken.discard()


def test_takers_that_come_at_once_never_get_the_same(bench: Bench) -> None:
    bench.filled(3)
    gate, taken = threading.Barrier(8), []

    def taker() -> None:
        gate.wait(SURE)
        taken.append(bench.take(size=3))

    threads = [threading.Thread(target=taker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SURE)
    got = [warm for warm in taken if warm is not None]
    assert len(taken) == 8 and len({warm.record.run_id for warm in got}) == len(got) == 3
    for warm in got:
        warm.discard()


def test_one_of_another_shape_is_not_handed_over(bench: Bench) -> None:
    bench.filled(1)
    others = [
        replace(SHAPE, image="other"),
        replace(SHAPE, runtime="other"),
        replace(SHAPE, limits=replace(LIMITS, run_seconds=61)),
        replace(SHAPE, limits=replace(LIMITS, cpus=2.0)),
    ]
    assert [bench.take(shape) for shape in others] == [None] * len(others)


def test_what_was_taken_is_replaced_by_another(bench: Bench) -> None:
    bench.filled(1)
    first = bench.take()
    assert first is not None and bench.pool.round()
    second = bench.take()
    assert second is not None and second.record.run_id != first.record.run_id
    first.discard()
    second.discard()


def test_the_labels_deadline_covers_the_wait_the_run_and_its_report(bench: Bench) -> None:
    bench.filled(1)
    (found,) = bench.engine.objects()
    assert found.deadline_unix == bench.clock() + IDLE_SECONDS + LIMITS.run_seconds + CLEAN_UP_SECONDS


@pytest.mark.parametrize(("seconds", "fits"), [(IDLE_SECONDS, True), (IDLE_SECONDS + 1, False)])
def test_one_whose_own_deadline_would_cut_the_run_is_not_handed_over(seconds: float, fits: bool, bench: Bench) -> None:
    bench.filled(1)
    bench.boot.advance(seconds)
    taken = bench.take()
    assert (taken is not None) is fits
    if taken is not None:
        taken.discard()


def test_one_whose_label_a_set_clock_has_made_too_early_is_not_handed_over(bench: Bench) -> None:
    bench.filled(1)
    bench.clock.advance(IDLE_SECONDS + 1)
    assert bench.take() is None


def test_one_that_grows_old_is_renewed_before_it_is_too_old(bench: Bench) -> None:
    bench.filled(1)
    (old,) = bench.running
    bench.boot.advance(IDLE_SECONDS - 10)
    assert bench.pool.round()
    assert len(bench.running) == 1 and bench.running != [old]
    assert bench.records == bench.running


def test_what_is_not_asked_for_any_more_goes(bench: Bench) -> None:
    bench.filled(2)
    bench.filled(0)
    assert (bench.running, bench.records) == ([], [])


def test_the_hosts_bound_caps_what_policies_ask_for(tmp_path: Path) -> None:
    small = Bench(tmp_path, most=2)
    small.filled(5)
    assert len(small.running) == 2
    small.pool.close()


def test_a_start_that_fails_leaves_nothing_and_says_why(bench: Bench) -> None:
    bench.engine.down = True
    bench.pool.expect(SHAPE, 1)
    assert not bench.pool.round()
    assert bench.take() is None and bench.pool.trouble and bench.records == []
    bench.engine.down = False
    assert bench.pool.round() and bench.pool.trouble == "" and len(bench.running) == 1


def test_a_bug_in_a_start_does_not_end_the_pools_thread(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.pool, "_warm_up", lambda _shape: 1 / 0)
    bench.pool.expect(SHAPE, 1)
    assert not bench.pool.round()
    assert "ZeroDivisionError" in bench.pool.trouble


def test_one_whose_posture_is_not_proved_never_waits(bench: Bench) -> None:
    bench.engine.guest = replace(GOOD_GUEST, seccomp_mode=0)
    bench.pool.expect(SHAPE, 1)
    assert not bench.pool.round()
    assert (bench.running, bench.records) == ([], []) and "seccomp" in bench.pool.trouble


def test_the_thread_fills_and_the_end_takes_all_down_with_it(bench: Bench) -> None:
    before, up = threading.active_count(), threading.Semaphore(0)
    bench.engine.prepare = lambda _sandbox: up.release()
    bench.pool.expect(SHAPE, 2)
    bench.pool.fill()
    for _ in range(2):
        assert up.acquire(timeout=SURE)
    bench.pool.close()
    assert (bench.running, bench.records, threading.active_count()) == ([], [], before)
    assert all(box.removed for box in bench.engine.sandboxes.values())


def test_one_that_comes_up_while_the_pool_closes_goes_too(bench: Bench) -> None:
    coming, closing = threading.Event(), threading.Event()

    def prepare(_sandbox: FakeSandbox) -> None:
        coming.set()
        assert closing.wait(SURE)

    bench.engine.prepare = prepare
    bench.pool.expect(SHAPE, 1)
    bench.pool.fill()
    assert coming.wait(SURE)
    closer = threading.Thread(target=bench.pool.close)
    closer.start()
    closing.set()
    closer.join(SURE)
    assert (closer.is_alive(), bench.running, bench.records) == (False, [], [])


def test_one_that_was_taken_and_never_owned_goes_at_the_end(bench: Bench) -> None:
    bench.filled(1)
    assert bench.pool.take(SHAPE, 1) is not None
    bench.pool.close()
    assert (bench.running, bench.records) == ([], [])


def test_one_that_a_run_owns_is_the_runs(bench: Bench) -> None:
    bench.filled(1)
    taken = bench.take()
    bench.pool.close()
    assert taken is not None and bench.running == [taken.record.run_id]
    taken.discard()


def test_what_the_engine_does_not_give_up_is_left_to_the_sweep(bench: Bench) -> None:
    bench.filled(1)
    (run_id,) = bench.running
    refused = bench.engine.sandboxes[next(iter(bench.engine.sandboxes))]
    refused.refuse_removal = True
    bench.pool.close()
    assert not bench.state.alive(run_id) and bench.running == [run_id]
    refused.refuse_removal = False
    sweep(bench.engine, bench.state, bench.clock())
    assert (bench.running, bench.records) == ([], [])


def test_nothing_is_kept_after_the_end(bench: Bench) -> None:
    bench.pool.close()
    bench.pool.expect(SHAPE, 1)
    bench.pool.fill()
    assert bench.running == []
