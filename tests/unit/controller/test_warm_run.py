"""A run that finds its containers warm: it is the run that they were started for, and no less safe than a cold one."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.controller.host import GateMode
from runner.controller.pool import Pool
from runner.controller.records import RunRecord
from runner.controller.run import keep_ready, open_run, reserve
from runner.controller.spec import RunRequest
from runner.controller.warm_up import IDLE_SECONDS
from runner.engine.contract import ImageInfo
from runner.engine.fake import GOOD_GUEST, FakeCall, FakeOutcome, FakeSandbox
from runner.model.errors import EngineUnavailable, PostureFailed, QueueLeft, RunnerError
from runner.policy.load import LoadedPolicy, policy_digest
from runner.tools.registry import TOOLS
from tests.support.clocks import ManualClock
from tests.support.fake_run import SURE
from tests.support.policies import P0, policy
from tests.support.run_bench import CHANGES, Bench
from tests.support.warm import with_pool

POOL = 1


class WarmBench(Bench):
    """The same host, with a pool that holds one run for the repository that comes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.boot = ManualClock()
        self.pool: Pool
        self.host, self.pool = with_pool(self.host, self.boot)

    def in_containers(self) -> None:
        """The gate has rooms too, in which the host's git plays that of the image."""
        self.engine.images = {
            **self.engine.images,
            "fake-gate:latest": ImageInfo("fake-gate:latest", "sha256:gate", {}, 0),
        }
        self.engine.programs = {**self.engine.programs, "gate-git.sh": _room_git}
        self.pool.close()
        self.host, self.pool = with_pool(replace(self.host, gate=GateMode.CONTAINER, pool=None), self.boot)

    def request(self, **keys: object) -> RunRequest:
        made = policy(**{**P0, "setup": "off", "pool": POOL, **keys})
        loaded = LoadedPolicy(made, "p0.yml", policy_digest(made))
        return RunRequest(str(self.repository), None, loaded, frozenset(TOOLS), self.out)

    def warm(self, **keys: object) -> FakeSandbox:
        """One waits; its workspace."""
        self.pool.fill = lambda: None  # type: ignore[method-assign]  # when the test says so, and not by itself
        keep_ready(self.host, self.request(**keys))
        assert self.pool.round(), self.pool.trouble
        held = self.pool._held[0].warm.workspace
        assert held is not None and isinstance(held.sandbox, FakeSandbox)
        return held.sandbox

    @property
    def room(self) -> FakeSandbox:
        """The transfer room that waits."""
        held = self.pool._held[0].warm.room
        assert held is not None and isinstance(held.sandbox, FakeSandbox)
        return held.sandbox

    def run(self, **keys: object) -> dict[str, Any]:
        """One whole run; its report. Afterwards nothing waits, since nothing is filled up again."""
        with self.open(None, None, **{"pool": POOL, **keys}) as run:
            assert run.call("workspace.read_file", {"path": "README.md"})["ok"]
            run.completed()
        return self.report()

    def told(self, event: str) -> list[dict[str, Any]]:
        return [line["data"] for line in self.events() if line["event"] == event]


def _room_git(call: FakeCall) -> FakeOutcome:
    done = subprocess.run(
        ["git", *call.argv[3:]], input=call.stdin, capture_output=True, check=False, env={**call.env, "HOME": "/none"}
    )
    return FakeOutcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[WarmBench]:
    made = WarmBench(tmp_path)
    yield made
    made.pool.close()


def test_a_run_gets_the_id_the_record_and_the_workspace_that_waited(bench: WarmBench) -> None:
    waiting = bench.warm()
    (run_id,) = [found.run_id for found in bench.engine.objects()]
    report = bench.run()
    assert (report["run"], report["status"]) == (run_id, "completed")
    assert report["warm"] == {"workspace": True, "gate": False, "refused": []}
    assert list(bench.engine.sandboxes.values()) == [waiting] and waiting.begun == 1
    assert [told["warm"] for told in bench.told("workspace.start")] == [True]
    bench.proved_gone()


def test_its_posture_is_proved_anew_and_is_in_the_record(bench: WarmBench) -> None:
    waiting = bench.warm()
    asked = [0, 0]
    guest, host = waiting.guest_posture, waiting.host_posture

    def count(side: int, answer: Any, *words: Any) -> Any:
        asked[side] += 1
        return answer(*words)

    waiting.guest_posture = lambda *words: count(0, guest, *words)  # type: ignore[method-assign]  # it is asked
    waiting.host_posture = lambda: count(1, host)  # type: ignore[method-assign]  # the same
    report = bench.run()
    assert asked == [1, 1]
    assert all(check["active"] for check in report["posture"])
    assert bench.told("posture")[0]["checks"] == report["posture"]


def test_a_run_of_a_policy_that_keeps_none_starts_cold_and_leaves_the_others_alone(bench: WarmBench) -> None:
    waiting = bench.warm()
    report = bench.run(pool=0)
    assert report["warm"] == {"workspace": False, "gate": False, "refused": []}
    assert not waiting.removed and waiting.begun == 0


def test_a_run_with_other_limits_starts_cold(bench: WarmBench) -> None:
    waiting = bench.warm()
    assert bench.run(limits={"pids": 333})["warm"]["workspace"] is False
    assert not waiting.removed


def test_one_whose_posture_has_changed_is_destroyed_and_told_and_the_run_starts_cold(bench: WarmBench) -> None:
    waiting = bench.warm()
    waiting.change(guest=replace(waiting.guest_posture(), interfaces=("lo", "eth0")))
    report = bench.run()
    assert (report["status"], waiting.removed) == ("completed", True)
    assert report["warm"] == {
        "workspace": False,
        "gate": False,
        "refused": [{"role": "workspace", "reason": "posture"}],
    }
    (refused,) = bench.told("warm.refused")
    assert [check["control"] for check in refused["checks"]] == ["no network interface"]
    assert [told["warm"] for told in bench.told("workspace.start")] == [True, False]
    assert all(check["active"] for check in report["posture"])
    assert any("WARNING" in line for line in bench.said)
    bench.proved_gone()


@pytest.mark.parametrize(
    ("side", "change"),
    [
        ("host", {"privileged": True}),
        ("host", {"network_none": False}),
        ("host", {"memory_bytes": 1 << 40}),
        ("host", {"pids_limit": 0}),
        ("guest", {"seccomp_mode": 0}),
        ("guest", {"routes": 1}),
        ("guest", {"workspace_bytes": 1 << 50}),
    ],
)
def test_whatever_control_is_off_by_then_is_seen(side: str, change: dict[str, Any], bench: WarmBench) -> None:
    waiting = bench.warm()
    if side == "host":
        waiting.change(host=replace(waiting.host_posture(), **change))
    else:
        waiting.change(guest=replace(waiting.guest_posture(), **change))
    assert bench.run()["warm"]["refused"] == [{"role": "workspace", "reason": "posture"}]
    assert waiting.removed


def test_a_cold_start_that_is_no_safer_ends_the_run(bench: WarmBench) -> None:
    waiting = bench.warm()
    bench.engine.guest = replace(GOOD_GUEST, seccomp_mode=0)
    waiting.change(guest=bench.engine.guest)
    with pytest.raises(PostureFailed):
        bench.run()
    assert bench.report()["exit_code"] == 6
    bench.proved_gone()


def test_one_that_has_ended_is_not_used(bench: WarmBench) -> None:
    waiting = bench.warm()
    waiting.lose()
    report = bench.run()
    assert report["warm"]["refused"] == [{"role": "workspace", "reason": "lost"}]
    bench.proved_gone()


def test_one_of_an_image_that_was_built_anew_is_not_used(bench: WarmBench) -> None:
    bench.warm()
    bench.engine.images = {"fake:latest": ImageInfo("fake:latest", "sha256:newer", {}, 0)}
    report = bench.run()
    assert report["warm"]["refused"] == [{"role": "workspace", "reason": "image"}]
    assert report["image"]["id"] == "sha256:newer"
    bench.proved_gone()


def test_a_refused_one_that_cannot_be_removed_ends_the_run(bench: WarmBench) -> None:
    waiting = bench.warm()
    waiting.lose()
    waiting.refuse_removal = True
    with pytest.raises(RunnerError):
        bench.run()
    assert bench.report()["teardown"]["verified"] is False


def test_a_run_that_cannot_be_written_down_leaves_nothing_of_what_it_took(
    bench: WarmBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = bench.warm()

    def full(_record: RunRecord, _name: str, _facts: object) -> None:
        raise RunnerError("the disk is full", hint="", code="state_unwritable")

    monkeypatch.setattr(RunRecord, "note", full)
    with pytest.raises(RunnerError):
        bench.run()
    assert waiting.removed and bench.engine.objects() == []
    assert list((bench.state.path / "runs").iterdir()) == []


def test_an_engine_that_fails_in_the_background_is_said_and_the_run_starts_cold(bench: WarmBench) -> None:
    bench.engine.down = True
    with pytest.raises(AssertionError):
        bench.warm()
    bench.engine.down = False
    assert bench.run()["status"] == "completed"
    assert any("no workspaces are kept warm" in line for line in bench.said)


def test_the_pool_is_filled_once_the_run_is_ready_and_no_thread_is_left(bench: WarmBench) -> None:
    before, up = threading.active_count(), threading.Semaphore(0)
    arrange = bench.engine.prepare

    def prepare(sandbox: FakeSandbox) -> None:
        arrange(sandbox)
        up.release()

    bench.engine.prepare = prepare
    with bench.open(None, None, pool=POOL) as run:
        for _ in range(2):  # the run's own, and one for the next run
            assert up.acquire(timeout=SURE)
        run.completed()
    bench.pool.close()
    assert (bench.engine.objects(), threading.active_count()) == ([], before)


def test_a_name_that_is_told_before_the_run_is_that_of_the_one_that_waits(bench: WarmBench) -> None:
    bench.warm()
    (run_id,) = [found.run_id for found in bench.engine.objects()]
    assert reserve(bench.host, bench.request()) == run_id
    other = reserve(bench.host, bench.request())
    assert other != run_id
    for name, warm in ((run_id, True), (other, False)):
        with open_run(bench.host, bench.request(), bench.said.append, name) as run:
            run.completed()
        assert (bench.report()["run"], bench.report()["warm"]["workspace"]) == (name, warm)


def test_what_was_set_aside_for_a_run_that_never_came_goes(bench: WarmBench) -> None:
    waiting = bench.warm()
    name = reserve(bench.host, bench.request())
    assert bench.pool.round() and len(bench.engine.objects()) == 2  # another waits by now
    bench.boot.advance(IDLE_SECONDS + 1)
    assert bench.pool.round() and waiting.removed
    assert bench.pool.reserved(name) is None


def test_what_was_set_aside_for_a_run_that_gets_no_place_waits_for_another_one(bench: WarmBench) -> None:
    """Else every request that is given up in the queue would leave a container beyond every bound."""
    waiting = bench.warm()
    bench.host = replace(bench.host, max_runs=1)
    with bench.host.places.taken("other", bench.said.append, lambda: True):
        name = reserve(bench.host, bench.request())
        for _ in range(2):
            with (
                pytest.raises(QueueLeft),
                open_run(bench.host, bench.request(), bench.said.append, name, lambda: False),
            ):
                raise AssertionError("it has no place")
    assert bench.pool.reserved(name) is None and not waiting.removed
    assert reserve(bench.host, bench.request()) == name


def test_a_run_that_comes_too_late_for_what_was_set_aside_starts_cold_under_its_name(bench: WarmBench) -> None:
    waiting = bench.warm()
    name = reserve(bench.host, bench.request())
    bench.boot.advance(IDLE_SECONDS + 1)
    with open_run(bench.host, bench.request(), bench.said.append, name) as run:
        run.completed()
    assert (bench.report()["run"], bench.report()["warm"]["workspace"], waiting.removed) == (name, False, True)
    bench.proved_gone()


def test_nothing_is_kept_ready_for_a_policy_that_says_nothing_of_it(bench: WarmBench) -> None:
    keep_ready(bench.host, bench.request(pool=0))
    assert bench.pool.round() and bench.engine.objects() == []


def test_the_gates_room_is_handed_over_with_the_workspace(bench: WarmBench) -> None:
    bench.in_containers()
    bench.warm()
    room = bench.room
    report = bench.run()
    assert report["warm"] == {"workspace": True, "gate": True, "refused": []}
    assert room.begun == 1 and len(bench.engine.sandboxes) == 2
    assert [told["warm"] for told in bench.told("gate.start")] == [True]
    assert [proof["role"] for proof in report["gate"]["rooms"]] == ["gate"]
    bench.proved_gone()


def test_the_gates_room_goes_while_the_patch_is_made(bench: WarmBench) -> None:
    bench.in_containers()
    gone = threading.Event()

    def making(_call: FakeCall) -> FakeOutcome:
        return FakeOutcome(stdout=CHANGES) if gone.wait(SURE) else FakeOutcome(exit=1)

    bench.engine.programs = {**bench.engine.programs, "sh": making}
    with bench.open(None, None) as run:
        workspace, room = bench.engine.sandboxes.values()
        if room.id == run.prepared.sandbox.id:
            workspace, room = room, workspace
        removed = room.remove

        def remove() -> None:
            removed()
            gone.set()

        room.remove = remove  # type: ignore[method-assign]
        run.completed()
    assert (bench.report()["changes"]["failed"], workspace.removed) == (False, True)
    bench.proved_gone()


def test_a_room_that_does_not_go_at_first_is_gone_at_the_end(bench: WarmBench) -> None:
    bench.in_containers()
    with bench.open(None, None) as run:
        (room,) = (each for each in bench.engine.sandboxes.values() if each.id != run.prepared.sandbox.id)
        removed, asked = room.remove, []

        def remove() -> None:
            asked.append(1)
            if len(asked) == 1:
                raise EngineUnavailable("it is stuck")
            removed()

        room.remove = remove  # type: ignore[method-assign]
        run.completed()
    assert len(asked) == 2
    bench.proved_gone()


def test_a_room_whose_mirror_was_taken_away_meanwhile_is_not_used(bench: WarmBench) -> None:
    bench.in_containers()
    bench.warm()
    room = bench.room
    (mirror,) = bench.state.mirrors.iterdir()
    mirror.rename(mirror.with_name("elsewhere"))
    report = bench.run()
    assert report["warm"] == {"workspace": True, "gate": False, "refused": [{"role": "gate", "reason": "mounts"}]}
    assert room.removed
    bench.proved_gone()


def test_a_room_whose_posture_has_changed_is_not_used(bench: WarmBench) -> None:
    bench.in_containers()
    bench.warm()
    room = bench.room
    room.change(host=replace(room.host_posture(), binds=(*room.host_posture().binds, "/:/host:rw")))
    report = bench.run()
    assert report["warm"]["refused"] == [{"role": "gate", "reason": "posture"}]
    assert [check["control"] for check in bench.told("warm.refused")[0]["checks"]] == ["host mounts"]
    bench.proved_gone()


def test_a_run_that_must_not_push_does_not_get_a_room_that_may(bench: WarmBench) -> None:
    bench.in_containers()
    bench.warm(bindings=[{"git": {"host": "file"}}])
    waiting = bench.room
    report = bench.run()
    assert report["warm"] == {"workspace": False, "gate": False, "refused": []} and not waiting.removed
