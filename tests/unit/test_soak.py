"""The soak's own rules: who is hostile, what counts as held, what counts as growth, and how it ends."""

from __future__ import annotations

import json
import threading
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from runner.tools.base import parse_arguments
from runner.tools.registry import TOOLS
from soak.__main__ import main, moments
from soak.crew import work_off
from soak.runs import HOSTILE, NORMAL, Kind, kind_of, policy_of
from soak.tally import Ended, Tally
from soak.watch import TOLERANCE, Look, grown, look
from tests.support.docker_daemon import daemon


def test_every_third_run_is_hostile_and_every_kind_has_its_turn() -> None:
    kinds = [kind_of(number) for number in range(3 * len(HOSTILE))]
    assert [number for number, kind in enumerate(kinds) if kind in HOSTILE] == list(range(2, 3 * len(HOSTILE), 3))
    assert {kind.name for kind in kinds} == {kind.name for kind in (*NORMAL, *HOSTILE)}


@pytest.mark.parametrize("kind", [*NORMAL, *HOSTILE], ids=lambda kind: kind.name)
def test_what_a_run_calls_are_calls_of_tools_that_there_are(kind: Kind) -> None:
    for tool, arguments in kind.calls(7):
        parse_arguments(TOOLS[tool], arguments)


@pytest.mark.parametrize("kind", [*NORMAL, *HOSTILE], ids=lambda kind: kind.name)
def test_no_kind_holds_when_all_is_answered_in_the_wrong_way(kind: Kind) -> None:
    wrong: dict[str, Any] = {"ok": False, "error": {"code": "internal_error"}}
    fine: dict[str, Any] = {"ok": True, "result": {"stdout": "42\n", "limits_hit": []}}
    count = len(kind.calls(0))
    assert not kind.held([wrong] * count)
    assert kind in NORMAL or not kind.held([fine] * count)


@pytest.mark.parametrize("kind", [*NORMAL, *HOSTILE], ids=lambda kind: kind.name)
def test_only_runs_that_never_end_by_themselves_have_a_short_time(kind: Kind) -> None:
    assert (policy_of(kind).policy.limits.command_seconds < 60) == (kind.name == "never ends")


SETTLED = Look(50.0, 60.0, 20, 5)


def test_growth_within_its_tolerance_is_none_and_beyond_it_is_named() -> None:
    within = Look(*(getattr(SETTLED, f.name) + TOLERANCE.get(f.name, 500) for f in fields(Look)))
    assert grown(SETTLED, within) == []
    beyond = Look(within.own_mib + 1, within.resident_mib, within.descriptors + 1, within.threads + 1)
    assert [name.split()[0] for name in grown(SETTLED, beyond)] == list(TOLERANCE)


def test_what_the_controller_holds_is_seen() -> None:
    before = look()
    with Path("/dev/null").open("rb"), Path("/dev/null").open("rb"):
        assert look().descriptors == before.descriptors + 2
    assert 0 < before.own_mib < before.resident_mib and before.threads >= 1


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (20, ["start", "end"]),
        (47, ["start", "end"]),
        (48, ["start", "settled", "middle", "end"]),
        (500, ["start", "settled", "middle", "end"]),
    ],
)
def test_the_controller_is_looked_at_once_every_kind_had_its_turn(runs: int, names: list[str]) -> None:
    planned = moments(runs)
    assert list(planned) == names and list(planned.values()) == sorted(planned.values())
    assert (planned["start"], planned["end"]) == (0, runs)
    kinds = {kind_of(number).name for number in range(planned.get("settled", runs))}
    assert "settled" not in planned or kinds == {kind.name for kind in (*NORMAL, *HOSTILE)}


def test_each_number_is_worked_off_once() -> None:
    done: list[int] = []
    work_off(range(50), 6, done.append, threading.Event())
    assert sorted(done) == list(range(50))


def test_after_a_stop_nothing_more_is_begun_and_what_was_begun_has_ended() -> None:
    begun, ended, stop = list[int](), list[int](), threading.Event()

    def act(number: int) -> None:
        begun.append(number)
        if number == 5:
            stop.set()
        ended.append(number)

    work_off(range(1000), 3, act, stop)
    assert sorted(begun) == sorted(ended) and 6 <= len(begun) <= 8


def tally_of(*faults: str) -> Tally:
    tally = Tally(places=1)
    for number, fault in enumerate(faults):
        tally.ended(Ended(number, kind_of(number), fault, {"calls": 2.0 + number}))
    return tally


def test_the_last_line_counts_runs_hostile_ones_failures_and_leftovers() -> None:
    assert tally_of("", "", "").line() == "soak: 3 runs, 1 hostile, 0 failed, 0 leftovers"
    tally = tally_of("", "it broke", "")
    tally.troubles.append("the engine does not answer any more")
    tally.left.append("container runner-1")
    assert tally.line() == "soak: 3 runs, 1 hostile, 2 failed, 1 leftovers"


def test_a_controller_that_grew_has_failed() -> None:
    tally = tally_of("")
    tally.looks |= {"start": Look(0, 0, 0, 0), "settled": SETTLED, "end": replace(SETTLED, threads=100)}
    assert tally.line() == "soak: 1 runs, 0 hostile, 1 failed, 0 leftovers"
    tally.looks["settled"] = tally.looks["end"]
    assert tally.failed == []


def test_more_runs_at_once_than_there_are_places_have_failed() -> None:
    tally = tally_of()
    tally.began()
    tally.gone()
    tally.began()
    assert (tally.failed, tally.most_at_once) == ([], 1)
    tally.began()
    assert (len(tally.failed), tally.most_at_once) == (1, 2)


def test_the_record_has_the_medians_of_the_runs_that_meant_well() -> None:
    facts = tally_of(*[""] * 9).facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["median_ms"]["first third"] == {"calls": 2.5, "whole run": 2.5}  # of 0 and 1: the third is hostile
    assert facts["median_ms"]["last third"] == {"calls": 8.5, "whole run": 8.5}


def test_a_soak_without_an_engine_says_its_line_and_writes_its_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("soak.__main__.OUT", tmp_path / "build" / "soak.json")
    with daemon(tmp_path) as made:
        monkeypatch.setenv("DOCKER_HOST", made.environment["DOCKER_HOST"])
        made.answer("GET /info", (500, {"message": "broken"}))
        assert main(["-n", "3"]) == 1
    line = capsys.readouterr().out
    assert line.startswith("soak: 3 runs, 1 hostile, ") and line.endswith(" 1 leftovers\n")
    assert json.loads((tmp_path / "build" / "soak.json").read_text())["line"] == line.strip()


def test_a_soak_that_is_stopped_says_its_line_and_that_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("soak.__main__.OUT", tmp_path / "build" / "soak.json")
    stop = threading.Event()
    stop.set()
    with daemon(tmp_path) as made:
        monkeypatch.setenv("DOCKER_HOST", made.environment["DOCKER_HOST"])
        made.answer("GET /info", (200, {"NGoroutines": 1, "NFd": 1, "Containers": 0}))
        made.answer("GET /containers/json", (200, []))
        made.answer("GET /volumes", (200, {"Volumes": []}))
        made.answer("GET /networks", (200, []))
        assert main(["-n", "3"], stop) == 130
    assert capsys.readouterr().out == "soak: 0 runs, 0 hostile, 0 failed, 0 leftovers\n"
