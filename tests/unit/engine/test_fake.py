"""The fake as users' tests meet it; its sandbox's behaviour is proved by the contract suite."""

from __future__ import annotations

import pytest

from runner.engine.contract import Engine, Sandbox, SandboxLimits, SandboxSpec, SpawnRequest
from runner.engine.fake import FakeCall, FakeEngine, FakeOutcome, FakeSandbox
from runner.model.errors import EngineUnavailable, SandboxLost

LIMITS = SandboxLimits(
    run_seconds=60,
    memory_mib=256,
    cpus=1.5,
    pids=64,
    open_files=256,
    workspace_mib=1,
    workspace_inodes=1000,
    file_mib=1,
)
SPEC = SandboxSpec("run1", "me", "fake:latest", LIMITS, deadline_unix=5)


def test_the_fake_is_an_engine_and_a_sandbox() -> None:
    engine: Engine = FakeEngine()
    sandbox: Sandbox = engine.start(SPEC)
    assert sandbox.resolve(".").exists


def test_a_started_sandbox_is_an_object_until_it_is_removed() -> None:
    engine = FakeEngine()
    sandbox = engine.start(SPEC)
    (info,) = engine.objects()
    assert (info.id, info.run_id, info.controller_id, info.deadline_unix) == (sandbox.id, "run1", "me", 5)
    engine.remove(info)
    engine.remove(info)
    assert engine.objects() == []
    with pytest.raises(SandboxLost):
        sandbox.resolve(".")


def test_the_posture_is_that_of_the_limits() -> None:
    sandbox = FakeEngine().start(SPEC)
    guest, host = sandbox.guest_posture(), sandbox.host_posture()
    assert (guest.pids_max, guest.memory_max_bytes, guest.workspace_bytes) == (64, 257 << 20, 1 << 20)
    assert (host.pids_limit, host.nano_cpus, host.network_none) == (64, 1_500_000_000, True)


def test_an_unknown_image_and_an_engine_that_is_down_are_unavailable() -> None:
    engine = FakeEngine()
    with pytest.raises(EngineUnavailable) as unknown:
        engine.image("other")
    assert unknown.value.code == "image_missing"
    engine.down = True
    with pytest.raises(EngineUnavailable):
        engine.start(SPEC)


def test_a_scripted_program_sees_its_call_and_may_change_the_tree() -> None:
    def formatter(call: FakeCall) -> FakeOutcome:
        call.tree.put_file("out.txt", call.stdin.upper())
        return FakeOutcome(stdout=" ".join(call.argv).encode())

    sandbox = FakeSandbox({"fmt": formatter})
    result = sandbox.spawn(SpawnRequest(("fmt", "-w"), {}, 1.0, 100, stdin=[b"a", b"b"]))
    assert (result.exit, result.stdout) == (0, b"fmt -w")
    assert sandbox.read("out.txt", max_bytes=9).data == b"AB"
    assert sandbox.spawned == [("fmt", "-w")]


def test_a_lost_sandbox_stays_lost() -> None:
    sandbox = FakeSandbox()
    sandbox.lose()
    for _ in range(2):
        with pytest.raises(SandboxLost):
            sandbox.list(".", max_entries=1)
