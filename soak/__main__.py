"""`python -m soak`: N runs, some at a time, a third of them hostile, in one controller that is watched meanwhile.

More threads ask for runs than there are places, as a busy server's do, so that the queue is part of it. Between its
parts nothing runs, and what the controller and the engine hold is looked at: at the start, once every kind had its
turn, in the middle, and at the end.

The last line counts; build/soak.json has all figures. Ctrl-C starts no more runs, lets those that go on end, and prints
the line too. The exit code is 0 only when every run ended as it should, nothing was left, and the controller did not
grow.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from docker.errors import DockerException

from benchmarks.machine import commit
from examples.remote import copy_sample, make_remote
from runner.app import compose
from runner.controller.host import Host
from runner.controller.records import StateFolder
from runner.controller.run import open_run
from runner.controller.spec import RunRequest
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import RunnerError
from runner.settings import Settings
from runner.tools.registry import TOOLS
from soak.crew import work_off
from soak.runs import HOSTILE, NORMAL, Kind, kind_of, policy_of
from soak.tally import Ended, Tally
from soak.watch import engine_look, leftovers, look, unverified

__all__ = ["main", "moments"]

RUNS, AT_ONCE = 500, 4
OUT = Path(__file__).resolve().parents[1] / "build" / "soak.json"
_WAITING = 2  # how many more threads than places: somebody always waits
_SAID_EVERY = 20
_SETTLED_AFTER = 3 * max(len(HOSTILE), len(NORMAL))  # every kind had its turn; before it, memory only fills up


def main(arguments: Sequence[str] | None = None, stop: threading.Event | None = None) -> int:
    """The exit code: 0 when everything held, 130 after `stop`, else 1."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("-n", "--runs", type=int, default=RUNS, help=f"how many [{RUNS}]")
    parser.add_argument("-j", "--at-once", type=int, default=AT_ONCE, help=f"how many side by side [{AT_ONCE}]")
    chosen = parser.parse_args(arguments)
    tally, stop, began = Tally(places=chosen.at_once), stop or threading.Event(), time.monotonic()
    try:
        _soak(chosen.runs, tally, stop)
    except RunnerError as error:
        tally.troubles.append(f"soak: {error.message}. {error.hint}")
    except Exception as error:  # whatever it was: what was counted is told all the same
        tally.troubles.append(f"soak: {type(error).__name__}: {error}")
    _write({"seconds": round(time.monotonic() - began), **tally.facts()})
    for line in tally.failed:
        _say(line)
    for name in tally.left:
        _say(f"left: {name}")
    sys.stdout.write(f"{tally.line()}\n")
    return 130 if stop.is_set() else int(bool(tally.failed or tally.left))


def moments(runs: int) -> Mapping[str, int]:
    """Before which run the controller is looked at, by the moment's name; few runs never settle."""
    settled = {"settled": _SETTLED_AFTER, "middle": runs // 2} if runs >= 2 * _SETTLED_AFTER else {}
    return {"start": 0, **settled, "end": runs}


def _soak(runs: int, tally: Tally, stop: threading.Event) -> None:
    with tempfile.TemporaryDirectory(prefix="runner-soak-") as scratch:
        settings = replace(Settings.from_environment(), state_dir=Path(scratch) / "state", max_runs=str(tally.places))
        remote = make_remote(Path(scratch) / "remote.git", copy_sample)
        try:
            with compose(settings) as host:
                _in_parts(runs, settings, tally, stop, _reporting(host, remote.address, tally))
        finally:
            # Only now, with the controller closed: whatever it held for later runs has to be gone too.
            _look_back(settings, tally)


def _in_parts(runs: int, settings: Settings, tally: Tally, stop: threading.Event, act: Callable[[int], None]) -> None:
    plan = moments(runs)
    _note_moment("start", settings, tally)
    for (_, first), (moment, end) in pairwise(plan.items()):
        work_off(range(first, end), tally.places + _WAITING, act, stop)
        if stop.is_set():
            _say("interrupted: what went on has ended")
            moment = "end"
        _note_moment(moment, settings, tally)
        if stop.is_set():
            return


def _note_moment(moment: str, settings: Settings, tally: Tally) -> None:
    tally.looks[moment] = look()
    try:
        tally.engine[moment] = engine_look(settings.docker)
    except DockerException as error:
        tally.troubles.append(f"the engine does not answer any more: {error}")
    _say(f"{moment}: the controller has {tally.looks[moment]}")


def _reporting(host: Host, repository: str, tally: Tally) -> Callable[[int], None]:
    """Carries out the run of a number and counts what came of it."""
    began = time.monotonic()

    def act(number: int) -> None:
        run = _carry_out(host, repository, kind_of(number), number, tally)
        count = tally.ended(run)
        if run.fault or count % _SAID_EVERY == 0:
            _say(f"[{time.monotonic() - began:5.0f} s] {count} runs" + (f"; {run.told}" if run.fault else ""))

    return act


def _carry_out(host: Host, repository: str, kind: Kind, number: int, tally: Tally) -> Ended:
    answers, milliseconds = [], dict[str, float]()
    request = RunRequest(repository, None, policy_of(kind), frozenset(TOOLS), None)
    try:
        with open_run(host, request, lambda _line: None) as run, _counted(tally):
            milliseconds = run.prepared.watch.milliseconds
            answers = [run.call(tool, arguments) for tool, arguments in kind.calls(number)]
            run.completed()
        if run.status != kind.status:
            fault = f"ended as {run.status}: {run.ended_because}"
        else:
            fault = "" if kind.held(answers) else f"answered {answers}"[:1000]
    except RunnerError as error:
        fault = f"{error.message}. {error.hint}"
    except Exception as error:  # whatever it was: it is counted, and the other runs go on
        fault = f"{type(error).__name__}: {error}"
    return Ended(number, kind, fault, milliseconds)


@contextmanager
def _counted(tally: Tally) -> Iterator[None]:
    tally.began()
    try:
        yield
    finally:
        tally.gone()


def _look_back(settings: Settings, tally: Tally) -> None:
    state = StateFolder(settings.state_dir)
    tally.troubles += [f"run {name}: its teardown was not verified" for name in unverified(state)]
    tally.left = ["unknown: the engine cannot be asked"]
    engine = DockerEngine(settings.docker)
    try:
        tally.left = leftovers(engine, state)
    finally:
        engine.close()


def _write(facts: Mapping[str, Any]) -> None:
    name, modified = commit()
    at = datetime.now(UTC).isoformat(timespec="seconds")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"commit": name, "modified": modified, "at": at, **facts}, indent=2) + "\n")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _stopped_by_signals() -> threading.Event:
    """Set by Ctrl-C or SIGTERM, also where whoever started us had the signal off, as a shell has for its background.

    No exception: it could come at any moment, and the runs of the other threads would lose their controller.
    """
    stop = threading.Event()

    def note(_number: int, _frame: object) -> None:
        if not stop.is_set():
            _say("interrupted: the runs that go on are let end")
        stop.set()

    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGTERM, note)
    return stop


if __name__ == "__main__":
    raise SystemExit(main(stop=_stopped_by_signals()))
