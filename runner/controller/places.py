"""Places on this host: at most so many runs go on at once, whichever processes of one state folder they are in.

First come, first served. Whoever comes draws a ticket, a numbered file, and holds an flock on it while its run waits
and while it goes on. Whose ticket is among the first N that are held has a place. So no place is ever handed over, and
nobody has to be told: who leaves, politely or by a crash, is a lock less before the others.

A ticket says whose it is. Another process may lay a note beside it, by which whoever still waits is told to leave.
"""

from __future__ import annotations

import fcntl
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.model.errors import HostFull, QueueLeft, RunnerError

__all__ = ["DEFAULT_QUEUE_SECONDS", "Places", "Queued", "Waiting", "dismiss", "runs_that_fit", "tickets_of_runs"]

DEFAULT_QUEUE_SECONDS = 600

_NOTE = ".leave"
_RUNS_PER_CORE = 4  # most of a run's time its caller thinks
_MIB_PER_RUN = 2048  # what a policy that names no `memoryMiB` lets programs have
_NEXT_LOOK_SECONDS = 0.02  # of the first in the queue, so that a place is empty for no time that counts
_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.1, 5.0  # of the others, for each that is before them


def runs_that_fit(cores: int, memory_mib: int) -> int:
    """How many runs at once a host of that size takes where its operator does not say; at least one."""
    return max(1, min(_RUNS_PER_CORE * cores, memory_mib // _MIB_PER_RUN))


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where somebody stands: `place` counts from 1, of `length` who wait while `active` runs go on."""

    place: int
    length: int
    active: int

    def __str__(self) -> str:
        runs = "1 run is" if self.active == 1 else f"{self.active} runs are"
        return f"{_ordinal(self.place)} of {self.length} in the queue, {runs} active"


@dataclass(frozen=True, slots=True)
class Queued:
    """Somebody who waits: where, the name that the run will have (empty while it has none), and what it is of."""

    standing: Waiting
    run_id: str
    what: str


@dataclass(frozen=True, slots=True)
class _Ticket:
    number: int
    path: str
    descriptor: int

    def give_back(self) -> None:
        """Nobody waits behind it any more."""
        with suppress(OSError):  # a folder that was deleted under us, say: the lock is what counts
            Path(self.path).unlink()
            Path(f"{self.path}{_NOTE}").unlink(missing_ok=True)
        # Unlocked and not only closed: a program that is being started just now has the descriptor too, for a moment.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.close(self.descriptor)


class Places:
    """The queue of one state folder, as a process with this bound sees it; a `bound` of 0 lets everybody in.

    `patience` is how many seconds of `clock` somebody waits. Tickets are taken at any bound, so that others see them.
    """

    def __init__(
        self,
        folder: Path,
        bound: int,
        patience: float,
        clock: Callable[[], float],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._folder = folder
        self._bound = bound
        self._patience = patience
        self._clock = clock
        self._pause = pause

    @contextmanager
    def taken(
        self, what: str, progress: Callable[[str], None], wanted: Callable[[], bool] = lambda: True, run_id: str = ""
    ) -> Iterator[None]:
        """A place while the block runs, waited for; `what` and the run's name are for who looks at the queue.

        Raises:
            HostFull: none came free in time; the queue was left.
            QueueLeft: it was no longer `wanted`, or dismissed, before one came free.
            RunnerError: code `state_unwritable`.
        """
        ticket = self._draw(f"{run_id} {what}")
        try:
            self._wait(ticket.number, progress, lambda: wanted() and not Path(f"{ticket.path}{_NOTE}").exists())
            yield
        finally:
            ticket.give_back()

    def waiting(self) -> list[Queued]:
        """Who waits now, and for what, in order."""
        behind = self._held()[self._bound :] if self._bound else []
        places = (Waiting(place, len(behind), self._bound) for place in range(1, len(behind) + 1))
        return [Queued(place, *_said(self._path(number))) for place, number in zip(places, behind, strict=True)]

    def _wait(self, number: int, progress: Callable[[str], None], wanted: Callable[[], bool]) -> None:
        give_up = self._clock() + self._patience
        told: Waiting | None = None
        while (now := self._standing(number)) is not None:
            if not wanted():
                raise QueueLeft("the run was given up while it waited for a place")
            if now != told:
                progress(f"waiting for a free place: {now}")
                told = now
            left = give_up - self._clock()
            if left <= 0:
                raise HostFull(
                    f"no place for this run came free within {self._patience:g} s: it was {now}",
                    hint="Try again later, wait longer (RUNNER_QUEUE_SECONDS), or allow more runs (RUNNER_MAX_RUNS).",
                )
            self._pause(min(left, _pause_of(now.place)))

    def _standing(self, number: int) -> Waiting | None:
        """None for whoever has a place."""
        if not self._bound:
            return None
        held = self._held()
        before = bisect_left(held, number)
        return None if before < self._bound else Waiting(before - self._bound + 1, len(held) - self._bound, self._bound)

    def _draw(self, what: str) -> _Ticket:
        """The ticket after all that there are. Those of the dead go."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with self._drawing():
                numbers = self._numbers()
                # Only here, where no ticket is made meanwhile: a new one has its name before its lock.
                for number in numbers:
                    if not _is_held(self._path(number)):
                        Path(self._path(number)).unlink(missing_ok=True)
                        Path(f"{self._path(number)}{_NOTE}").unlink(missing_ok=True)
                number = max(numbers, default=0) + 1
                Path(f"{self._path(number)}{_NOTE}").unlink(missing_ok=True)  # for whoever had the number before
                return _made(number, self._path(number), what)
        except OSError as error:
            raise RunnerError(
                f"{self._folder} cannot be written: {error.strerror}",
                hint="Free space there, or choose another state folder with RUNNER_STATE_DIR.",
                code="state_unwritable",
            ) from error

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # for a few system calls only
            yield
        finally:
            os.close(descriptor)

    def _held(self) -> list[int]:
        return [number for number in self._numbers() if _is_held(self._path(number))]

    def _numbers(self) -> list[int]:
        return _numbers_in(self._folder)

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number}"


def tickets_of_runs(folder: Path) -> dict[str, str]:
    """What each run is of that holds a ticket of the queue, by its name: those that go on, and those that wait."""
    paths = [f"{folder}/{number}" for number in _numbers_in(folder)]
    found = dict(_said(path) for path in paths if _is_held(path))
    found.pop("", None)
    return found


def dismiss(folder: Path, run_id: str) -> bool:
    """Whether a ticket of that run is held; if it still waits for a place, it leaves the queue. Idempotent."""
    for number in _numbers_in(folder):
        path = f"{folder}/{number}"
        if _is_held(path) and _said(path)[0] == run_id:
            with suppress(OSError):  # it may have left just now
                Path(f"{path}{_NOTE}").touch(mode=0o600)
            return True
    return False


def _numbers_in(folder: Path) -> list[int]:
    try:
        # Names and no paths here: everybody who waits looks at all of them, again and again.
        return sorted(int(name) for name in os.listdir(folder) if name.isdecimal())  # noqa: PTH208
    except FileNotFoundError:  # nobody has ever come
        return []


def _made(number: int, path: str, what: str) -> _Ticket:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    ticket = _Ticket(number, path, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # who looks at it holds it for a moment
        os.write(descriptor, what.encode("utf-8", "replace"))
    except BaseException:
        ticket.give_back()
        raise
    return ticket


def _is_held(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look at once do not take each other for the one who holds it.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _said(path: str) -> tuple[str, str]:
    """Whose the ticket is, and what for; nothing where it has just left."""
    try:
        run_id, _, what = Path(path).read_text(encoding="utf-8", errors="replace").partition(" ")
    except FileNotFoundError:
        return "", ""
    return run_id, what


def _pause_of(place: int) -> float:
    return _NEXT_LOOK_SECONDS if place == 1 else min(_LOOK_SECONDS * place, _LONGEST_LOOK_SECONDS)


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"
