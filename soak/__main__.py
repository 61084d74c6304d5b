"""`python -m soak`: N runs, some at a time, a third of them hostile, in one controller that is watched meanwhile.

The last line counts. Ctrl-C starts no more runs, lets those that go on end, and prints the line too. The exit code is 0
only when every run ended as it should, nothing was left, and the controller did not grow.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from examples.remote import copy_sample, make_remote
from runner.app import compose
from runner.controller.host import Host
from runner.controller.run import open_run
from runner.controller.spec import RunRequest
from runner.model.errors import RunnerError
from runner.policy.load import LoadedPolicy, parse_policy
from runner.settings import Settings
from runner.tools.registry import TOOLS
from soak.runs import HOSTILE, NORMAL, POLICY, Kind, kind_of
from soak.watch import Look, engine_answers, grown, leftovers, look, unverified

__all__ = ["main"]

RUNS, AT_ONCE = 500, 4
_SAID_EVERY = 20
_SETTLED_AFTER = 3 * max(len(HOSTILE), len(NORMAL))  # every kind had its turn; before it, memory only fills up


@dataclass
class Tally:
    """What came of the runs so far; its lock is held for each change."""

    ended: int = 0
    hostile: int = 0
    failed: list[str] = field(default_factory=list)
    settled: Look | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 when everything held, 130 after Ctrl-C, else 1."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("-n", "--runs", type=int, default=RUNS, help=f"how many [{RUNS}]")
    parser.add_argument("-j", "--at-once", type=int, default=AT_ONCE, help=f"how many side by side [{AT_ONCE}]")
    chosen = parser.parse_args(arguments)
    tally, interrupted, left = Tally(), False, ["unknown: the engine cannot be asked"]
    try:
        with tempfile.TemporaryDirectory(prefix="runner-soak-") as scratch, _stage(Path(scratch)) as (host, requests):
            interrupted = _soak(host, requests, chosen.runs, chosen.at_once, tally)
            left = _look_back(host, tally)
    except RunnerError as error:
        tally.failed.append(f"soak: {error.message}")
    for line in (*tally.failed, *left):
        _say(line)
    count = f"soak: {tally.ended} runs, {tally.hostile} hostile, {len(tally.failed)} failed, {len(left)} leftovers"
    sys.stdout.write(f"{count}\n")
    return 130 if interrupted else int(bool(tally.failed or left))


@contextmanager
def _stage(folder: Path) -> Iterator[tuple[Host, RunRequest]]:
    """A controller with a state folder of its own, and what is asked of it again and again."""
    remote = make_remote(folder / "remote.git", copy_sample)
    policy: LoadedPolicy = parse_policy(POLICY.encode(), source="soak")
    request = RunRequest(remote.address, None, policy, frozenset(TOOLS), None)
    with compose(replace(Settings.from_environment(), state_dir=folder / "state")) as host:
        yield host, request


def _soak(host: Host, request: RunRequest, runs: int, at_once: int, tally: Tally) -> bool:
    """Whether it was interrupted; all runs that were begun have ended."""
    numbers, stop, began = itertools.count(), threading.Event(), time.monotonic()

    def work() -> None:
        while not stop.is_set() and (number := next(numbers)) < runs:
            kind = kind_of(number)
            _note(tally, kind, number, _carry_out(host, request, kind, number), began)

    workers = [threading.Thread(target=work, name=f"soak-{number}") for number in range(at_once)]
    for worker in workers:
        worker.start()
    interrupted = False
    while any(worker.is_alive() for worker in workers):
        try:
            for worker in workers:
                worker.join()
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
            _say("interrupted: the runs that go on are let end")
    return interrupted


def _carry_out(host: Host, request: RunRequest, kind: Kind, number: int) -> str:
    """Why the run did not end as it should, empty when it did."""
    answers = []
    try:
        with open_run(host, request, lambda _line: None) as run:
            answers = [run.call(tool, arguments) for tool, arguments in kind.calls(number)]
            run.completed()
    except RunnerError as error:
        return f"{error.message}. {error.hint}"
    except Exception as error:  # whatever it was: it is counted, and the other runs go on
        return f"{type(error).__name__}: {error}"
    if run.status != kind.status:
        return f"ended as {run.status}: {run.ended_because}"
    return "" if kind.held(answers) else f"answered {answers}"[:1000]


def _note(tally: Tally, kind: Kind, number: int, fault: str, began: float) -> None:
    with tally.lock:
        tally.ended += 1
        tally.hostile += kind in HOSTILE
        if fault:
            tally.failed.append(f"run {number} ({kind.name}): {fault}")
        if tally.ended == _SETTLED_AFTER:
            tally.settled = look()
        if tally.ended % _SAID_EVERY == 0:
            _say(f"[{time.monotonic() - began:5.0f} s] {tally.ended} runs, {len(tally.failed)} failed; {look()}")


def _look_back(host: Host, tally: Tally) -> list[str]:
    """What is left; what grew, and an engine that is not well, count as failures."""
    if not engine_answers(host):
        tally.failed.append("the engine does not answer any more")
    if tally.settled is not None:
        tally.failed += [f"the controller: {growth}" for growth in grown(tally.settled, look())]
    tally.failed += [f"run {name}: its teardown was not verified" for name in unverified(host)]
    return leftovers(host)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    # Also where whoever started us had turned the signal off, as a shell does for what runs behind it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise SystemExit(main())
