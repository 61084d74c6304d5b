"""Each judge of containment holds on the evidence of containment, and falls on each kind of escape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from examples import containment
from examples.session import Answer
from examples.verdict import Judge, Scene

Make = Callable[..., Answer]
MakeScene = Callable[..., Scene]

MIB = 1024 * 1024
BROKEN = {"code": 1}  # changes: the command failed


@pytest.fixture
def held(scene: MakeScene) -> Callable[..., bool]:
    return lambda own, *answers: bool(own(scene(*answers)).held)


Held = Callable[..., bool]


def test_no_network_holds_when_nothing_has_a_route_or_a_name(held: Held, command: Make) -> None:
    outcomes = {"192.0.2.1:22": "ENETUNREACH", "example.com": "EAI_AGAIN"}
    assert held(containment.no_network, command({"outcomes": outcomes}))


@pytest.mark.parametrize("outcome", ["connected", "ECONNREFUSED", "timeout", "resolved to 192.0.2.7"])
def test_one_address_that_was_reached_or_not_ruled_out_is_an_escape(held: Held, command: Make, outcome: str) -> None:
    outcomes = {"192.0.2.1:22": "ENETUNREACH", "192.0.2.1:80": outcome}
    assert not held(containment.no_network, command({"outcomes": outcomes}))


def test_a_probe_that_tried_nothing_proves_no_network_isolation(held: Held, command: Make) -> None:
    assert not held(containment.no_network, command({"outcomes": {}}))
    assert not held(containment.no_network, command(None, **BROKEN))


def test_a_push_from_inside_has_to_fail_each_time(held: Held, command: Make) -> None:
    failed, went_through = command({"status": 128}), command({"status": 0})
    assert held(containment.no_push_from_inside, failed, failed)
    assert not held(containment.no_push_from_inside, failed, went_through)
    assert not held(containment.no_push_from_inside, command({"status": None}))


def test_a_payload_that_never_ran_proves_nothing(held: Held, command: Make) -> None:
    assert held(containment.payload_stayed_inside, command({"ran": True}))
    assert not held(containment.payload_stayed_inside, command({"ran": False}))


def test_memory_holds_when_the_program_was_killed_and_the_next_call_works(held: Held, command: Make) -> None:
    own = containment.bounded_memory(512)
    killed = command(None, code=137, killed_by="memory")
    assert held(own, killed, command())
    assert not held(own, killed, command(None, **BROKEN))
    assert not held(own, command({"mebibytes": 4096}), command())
    assert not held(own, command(None, code=137, killed_by="deadline"), command())


def test_a_run_that_ends_naming_the_memory_limit_is_contained(held: Held, refusal: Make) -> None:
    own = containment.bounded_memory(512)
    ended = Answer(False, None, {"code": "run_limit_exceeded", "message": "The run has ended: memory.", "details": {}})
    assert held(own, ended, refusal("run_ended"))
    assert not held(own, refusal("run_ended"), refusal("run_ended"))


@pytest.mark.parametrize(
    "facts",
    [
        {"started": 1000, "error": None},
        {"started": 128, "error": "EAGAIN"},
        {"started": 0, "error": "EAGAIN"},
        {"started": 100, "error": "ENOMEM"},
        {"started": True, "error": None},
    ],
)
def test_processes_at_or_beyond_the_limit_are_an_escape(held: Held, command: Make, facts: dict[str, Any]) -> None:
    own = containment.bounded_processes(128)
    assert held(own, command({"started": 118, "error": "EAGAIN"}), command())
    assert not held(own, command(facts), command())


def test_a_workspace_that_took_more_than_its_size_is_an_escape(held: Held, command: Make) -> None:
    own = containment.bounded_disk(256)
    assert held(own, command({"bytes": 255 * MIB, "error": "ENOSPC"}), command())
    assert not held(own, command({"bytes": 257 * MIB, "error": "ENOSPC"}), command())
    assert not held(own, command({"bytes": 255 * MIB, "error": "EIO"}), command())
    assert not held(own, command({"bytes": 4096 * MIB, "error": None}), command())


def test_a_flood_that_comes_through_is_an_escape(held: Held, command: Make) -> None:
    own = containment.bounded_output(64)
    cut = {"code": 137, "truncated": True, "killed_by": "output"}
    assert held(own, command(None, **{**cut, "stdout": "x" * 65536}), command())
    assert not held(own, command(None, **{**cut, "stdout": "x" * 65537}), command())
    assert not held(own, command(None, **{**cut, "truncated": False}), command())
    assert not held(own, command(None, **{**cut, "killed_by": None}), command())


def test_a_program_that_outlives_its_deadline_is_an_escape(held: Held, command: Make) -> None:
    own = containment.bounded_time(15)
    assert held(own, command(None, code=None, timed_out=True, killed_by="deadline"), command())
    assert not held(own, command(None, code=0), command())
    assert not held(own, command(None, code=None, timed_out=True, killed_by="deadline"), command(None, **BROKEN))


def test_a_process_that_is_still_there_is_an_escape(held: Held, command: Make) -> None:
    left = command({"pid": 77})
    assert held(containment.nothing_left_behind, left, command({"seen": 4, "sleeping": []}))
    assert not held(containment.nothing_left_behind, left, command({"seen": 5, "sleeping": [77]}))
    assert not held(containment.nothing_left_behind, left, command({"seen": 0, "sleeping": []}))
    assert not held(containment.nothing_left_behind, command(None, **BROKEN), command({"seen": 4, "sleeping": []}))


def test_an_engine_socket_or_a_canary_inside_is_an_escape(held: Held, command: Make, scene: MakeScene) -> None:
    canary = scene().canary
    clean = {"own": ["HOME"], "environments": {"9": ["HOME=/home/agent"]}, "sockets": []}
    assert held(containment.nothing_secret, command(clean))
    assert not held(containment.nothing_secret, command({**clean, "sockets": ["/run/docker.sock"]}))
    assert not held(containment.nothing_secret, command({**clean, "environments": {"1": [f"SECRET={canary}"]}}))
    assert not held(containment.nothing_secret, command({**clean, "environments": {}}))


@pytest.mark.parametrize(
    "own",
    [
        containment.no_network,
        containment.no_push_from_inside,
        containment.payload_stayed_inside,
        containment.nothing_left_behind,
        containment.nothing_secret,
        containment.bounded_disk(256),
        containment.bounded_memory(512),
        containment.bounded_output(64),
        containment.bounded_processes(128),
        containment.bounded_time(15),
    ],
)
def test_a_run_that_is_gone_proves_no_containment(held: Held, refusal: Make, own: Judge) -> None:
    assert not held(own, refusal("run_ended"), refusal("run_ended"))
