"""Two things at once: an interrupt at any moment leaves no container, and no failure hides another's removal."""

from __future__ import annotations

import signal
import threading

import pytest

from runner.controller.aside import Aside, Leaving, Starting, remove_all
from runner.engine.contract import Sandbox, SandboxLimits, SandboxSpec
from runner.engine.fake import FakeEngine
from runner.model.errors import EngineUnavailable
from tests.support.fake_run import SURE

SPEC = SandboxSpec("run1", "ctrl1", "fake:latest", SandboxLimits(60, 64, 1.0, 16, 64, 1, 100, 1), 1000)


class Slow(FakeEngine):
    """Says when it is starting, and goes on when it may; with `interrupting`, Ctrl-C is pressed meanwhile."""

    def __init__(self, *, interrupting: bool = False) -> None:
        super().__init__()
        self.interrupting = interrupting
        self.asked, self.may, self.done = threading.Event(), threading.Event(), threading.Event()

    def start(self, spec: SandboxSpec) -> Sandbox:  # type: ignore[override]  # the fake's own is wrapped
        self.asked.set()
        if self.interrupting:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        assert self.may.wait(SURE)
        sandbox = super().start(spec)
        removed = sandbox.remove

        def remove() -> None:
            removed()
            self.done.set()

        sandbox.remove = remove  # type: ignore[method-assign]
        return sandbox


class Thing:
    """Counts how often it is removed; `stuck` is what it says to that."""

    def __init__(self, stuck: Exception | None = None) -> None:
        self.stuck = stuck
        self.removals = 0

    def remove(self) -> None:
        self.removals += 1
        if self.stuck is not None:
            raise self.stuck


def begun(engine: FakeEngine) -> Starting:
    starting = Starting(engine, SPEC)
    starting.begin()
    return starting


def test_a_sandbox_that_started_aside_is_given_when_it_is_up() -> None:
    engine = Slow()
    starting = begun(engine)
    assert engine.asked.wait(SURE) and engine.objects() == []
    engine.may.set()
    assert starting.sandbox().id == engine.objects()[0].id


def test_a_start_that_fails_says_so_to_who_waits_and_has_nothing_to_be_removed() -> None:
    engine = FakeEngine(down=True)
    starting = begun(engine)
    with pytest.raises(EngineUnavailable):
        starting.sandbox()
    starting.remove()


def test_what_never_began_is_gone() -> None:
    Starting(FakeEngine(), SPEC).remove()


def test_a_sandbox_on_its_way_is_waited_for_and_removed() -> None:
    engine = Slow()
    starting = begun(engine)
    engine.may.set()
    starting.remove()
    starting.remove()
    assert engine.objects() == [] and engine.done.is_set()


def test_an_interrupted_wait_is_over_at_once_and_can_be_taken_up_again() -> None:
    engine = Slow(interrupting=True)
    starting = Starting(engine, SPEC)
    with pytest.raises(KeyboardInterrupt):
        starting.begin()
        starting.sandbox()
    assert engine.objects() == []
    engine.may.set()
    assert starting.sandbox().id == engine.objects()[0].id


def test_a_removal_that_was_interrupted_still_waits_for_the_start_when_it_is_asked_for_again() -> None:
    engine = Slow(interrupting=True)
    starting = Starting(engine, SPEC)
    with pytest.raises(KeyboardInterrupt):
        starting.begin()
        starting.remove()
    engine.may.set()
    starting.remove()
    assert len(engine.sandboxes) == 1 and engine.objects() == []


def test_a_sandbox_that_nobody_waits_for_any_more_is_removed_by_who_started_it() -> None:
    engine = Slow()
    starting = begun(engine)
    assert engine.asked.wait(SURE)
    starting._given_up = True  # as `remove` notes before it waits, were it interrupted right there
    engine.may.set()
    assert engine.done.wait(SURE) and engine.objects() == []


def test_every_thing_is_removed_though_one_of_them_is_stuck() -> None:
    things = [Thing(EngineUnavailable("it is stuck")), Thing(), Thing()]
    with pytest.raises(EngineUnavailable):
        remove_all(things)
    assert [thing.removals for thing in things] == [1, 1, 1]


def test_nothing_to_be_removed_is_removed_at_once() -> None:
    remove_all([])


def test_what_is_on_its_way_out_is_gone_once_that_is_asked_and_is_removed_once() -> None:
    things = [Thing(), Thing()]
    leaving = Leaving(things)
    leaving.begin()
    leaving.remove()
    leaving.remove()
    assert [thing.removals for thing in things] == [1, 1]


def test_what_did_not_go_is_told_and_removed_when_that_is_asked_for_again() -> None:
    thing = Thing(EngineUnavailable("it is stuck"))
    leaving = Leaving([thing])
    leaving.begin()
    with pytest.raises(EngineUnavailable):
        leaving.remove()
    assert thing.removals == 1
    with pytest.raises(EngineUnavailable):
        leaving.remove()
    thing.stuck = None
    leaving.remove()
    assert thing.removals == 3


def test_what_was_to_go_and_never_began_to_is_removed_all_the_same() -> None:
    thing = Thing()
    Leaving([thing]).remove()
    assert thing.removals == 1


def test_what_is_done_aside_gives_its_answer_each_time_it_is_asked() -> None:
    aside = Aside(lambda: 7)
    aside.begin()
    assert (aside.answer(), aside.answer()) == (7, 7)
