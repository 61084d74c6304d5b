"""What is worth keeping warm: the policy's number, for whom of late runs came, within the host's bound."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from runner.controller.demand import Demand, Place, Shape
from runner.engine.contract import SandboxLimits
from runner.gate.address import resolve_address

LIMITS = SandboxLimits(60, 64, 1.0, 16, 64, 16, 100, 1)
SHAPE = Shape("image", "runc", LIMITS)


def at(name: str, shape: Shape = SHAPE) -> Shape:
    """The shape with a room for the repository of that name."""
    address = resolve_address(f"https://code.example.com/{name}.git", cwd=PurePosixPath("/"))
    return replace(shape, place=Place(address, None, pushes=False))


def asked(*shapes: Shape, size: int = 2, most: int = 8) -> Counter[Shape]:
    demand = Demand(most)
    for shape in shapes:
        demand.ask(shape, size)
    return demand.wanted()


def test_nothing_is_wanted_before_anybody_asked() -> None:
    assert asked() == {}


def test_a_policy_that_keeps_none_gets_none() -> None:
    assert asked(SHAPE, SHAPE, size=0) == {}


def test_a_repository_that_came_once_gets_workspaces_that_fit_every_other_too() -> None:
    assert asked(at("a"), at("b"), at("c")) == {SHAPE: 2}


def test_a_repository_that_came_back_gets_rooms_of_its_own() -> None:
    assert asked(at("a"), at("a")) == {at("a"): 2}


def test_repositories_that_came_back_take_turns_the_last_one_first() -> None:
    assert asked(at("a"), at("a"), at("b"), at("b"), size=3) == {at("b"): 2, at("a"): 1}


def test_a_repository_that_did_not_come_for_long_is_forgotten() -> None:
    others = [at(f"r{number}") for number in range(15)]
    assert asked(at("a"), at("a"), *others) == {SHAPE: 2}


def test_the_hosts_bound_holds_for_all_policies_together_the_last_asked_first() -> None:
    other = replace(SHAPE, image="other")
    assert asked(SHAPE, other, size=3, most=4) == {other: 3, SHAPE: 1}
    assert asked(SHAPE, other, SHAPE, size=3, most=4) == {SHAPE: 3, other: 1}


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_more_than_the_bound_is_ever_wanted(most: int) -> None:
    shapes = [replace(SHAPE, image=f"i{number}") for number in range(100)]
    assert asked(*shapes, size=2, most=most).total() == most


def test_the_last_size_that_a_policy_said_is_the_one_that_holds() -> None:
    demand = Demand(8)
    demand.ask(SHAPE, 5)
    demand.ask(SHAPE, 1)
    assert demand.wanted() == {SHAPE: 1}
