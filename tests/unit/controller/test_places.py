"""The queue before a host's places, over real locks: in order, over processes and threads, and whoever crashes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO

import pytest

from runner.controller.places import Places, Queued, Waiting, dismiss, runs_that_fit, tickets_of_runs
from runner.model.errors import ExitCode, HostFull, QueueLeft, RunnerError
from tests.support.clocks import ManualClock
from tests.support.fake_run import SURE

ROOT = Path(__file__).resolve().parents[3]
TAKES_ONE = """
import sys, time
from pathlib import Path
from runner.controller.places import Places
places = Places(Path(sys.argv[1]), int(sys.argv[2]), 60, time.monotonic, lambda _seconds: sys.stdin.readline())
with places.taken("another process", lambda _line: print("waits", flush=True)):
    print("in", flush=True)
    sys.stdin.read()
"""
COMES_AGAIN = """
import os, sys, time
from pathlib import Path
from runner.controller.places import Places
places = Places(Path(sys.argv[1]), int(sys.argv[2]), 60, time.monotonic, lambda _seconds: os.sched_yield())
for _ in range(25):
    with places.taken("x", lambda _line: None):
        os.write(1, b"+")
        os.sched_yield()
        os.write(1, b"-")
"""


Steps = Iterator[Callable[[], object]]


def one_after_the_other(steps: Steps) -> Callable[[float], None]:
    """A pause in each of which the next step is done."""

    def pause(_seconds: float) -> None:
        next(steps)()

    return pause


def nobody(_line: str) -> None:
    """Progress that nobody reads."""


def never(_seconds: float) -> None:
    raise AssertionError("whoever has a place does not wait")


class Queue:
    """One folder, and the processes that were started over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "places"
        self.clock = ManualClock()
        self.processes = ExitStack()

    def of(self, bound: int, pause: Callable[[float], None] = never, patience: float = 60) -> Places:
        return Places(self.folder, bound, patience, self.clock, pause)

    def process(self, bound: int, says: bytes) -> subprocess.Popen[bytes]:
        """Another process that comes; it has said so."""
        made = self.processes.enter_context(self.start(TAKES_ONE, bound, subprocess.PIPE))
        self.processes.callback(made.kill)
        assert made.stdout is not None and made.stdout.readline() == says
        return made

    def start(self, script: str, bound: int, out: int | IO[bytes]) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", script, str(self.folder), str(bound)]
        return subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=out)

    def tickets(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} - {"lock"}


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    made = Queue(tmp_path)
    with closing(made.processes):
        yield made


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def killed(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(SURE)


# --- in order


def test_as_many_as_the_bound_go_in_and_the_next_waits_for_the_first_that_ends(queue: Queue) -> None:
    said: list[str] = []
    first = ExitStack()
    first.enter_context(queue.of(2).taken("a", nobody))
    with queue.of(2).taken("b", nobody), queue.of(2, lambda _seconds: first.close()).taken("c", said.append):
        assert len(queue.tickets()) == 2
    assert said == ["waiting for a free place: 1st of 1 in the queue, 2 runs are active"]
    assert queue.tickets() == set()


def test_everybody_who_waits_gets_in_in_the_order_of_coming(queue: Queue) -> None:
    order: list[int] = []
    waits, first = [threading.Event() for _ in range(8)], ExitStack()
    first.enter_context(queue.of(1).taken("first", nobody))

    def come(number: int) -> None:
        with queue.of(1, lambda _seconds: os.sched_yield()).taken("next", lambda _line: waits[number].set()):
            order.append(number)

    threads = [threading.Thread(target=come, args=(number,)) for number in range(8)]
    for thread, told in zip(threads, waits, strict=True):
        thread.start()
        assert told.wait(SURE)
    first.close()
    for thread in threads:
        thread.join(SURE)
    assert order == list(range(8))


def test_a_newcomer_does_not_pass_those_who_wait(queue: Queue) -> None:
    first = ExitStack()
    first.enter_context(queue.of(1).taken("a", nobody))

    def overtaken(_seconds: float) -> None:
        first.close()  # a place is free, and the one who waits has not seen it yet
        with pytest.raises(HostFull), queue.of(1, patience=0).taken("c", nobody):
            pass

    with queue.of(1, overtaken).taken("b", nobody):
        pass


def test_a_place_in_the_queue_is_told_again_only_when_it_changed(queue: Queue) -> None:
    said: list[str] = []
    others = [ExitStack() for _ in range(3)]
    others[0].enter_context(queue.of(1).taken("a", nobody))
    steps: Steps = iter(
        [
            lambda: None,
            lambda: others[1].enter_context(queue.of(0).taken("behind", nobody)),
            lambda: others[1].close(),
            lambda: others[0].close(),
        ]
    )
    with queue.of(1, one_after_the_other(steps)).taken("b", said.append):
        pass
    assert [line.partition(": ")[2].partition(" in ")[0] for line in said] == ["1st of 1", "1st of 2", "1st of 1"]
    assert next(steps, None) is None


@pytest.mark.parametrize(
    ("waiting", "text"),
    [
        (Waiting(1, 1, 1), "1st of 1 in the queue, 1 run is active"),
        (Waiting(2, 5, 4), "2nd of 5 in the queue, 4 runs are active"),
        (Waiting(3, 5, 4), "3rd of 5 in the queue, 4 runs are active"),
        (Waiting(4, 9, 4), "4th of 9 in the queue, 4 runs are active"),
        (Waiting(11, 30, 4), "11th of 30 in the queue, 4 runs are active"),
        (Waiting(22, 112, 4), "22nd of 112 in the queue, 4 runs are active"),
        (Waiting(113, 113, 4), "113th of 113 in the queue, 4 runs are active"),
    ],
)
def test_a_place_is_told_as_one_says_it(waiting: Waiting, text: str) -> None:
    assert str(waiting) == text


def test_who_waits_and_for_what_can_be_seen(queue: Queue) -> None:
    seen: list[Queued] = []
    first = ExitStack()
    first.enter_context(queue.of(1).taken("a", nobody))

    def look(_seconds: float) -> None:
        seen.extend(queue.of(1).waiting())
        first.close()

    assert queue.of(1).waiting() == []
    with queue.of(1, look).taken("file:///b c", nobody, run_id="aa11"):
        assert queue.of(1).waiting() == []
    assert seen == [Queued(Waiting(1, 1, 1), "aa11", "file:///b c")]


def test_who_is_dismissed_leaves_the_queue_and_who_has_a_place_stays(queue: Queue) -> None:
    with queue.of(1).taken("a", nobody, run_id="aa11"):
        assert dismiss(queue.folder, "aa11")

        def dismissed(_seconds: float) -> None:
            assert tickets_of_runs(queue.folder) == {"aa11": "a", "bb22": "b"}
            assert dismiss(queue.folder, "bb22") and not dismiss(queue.folder, "cc33")

        with pytest.raises(QueueLeft), queue.of(1, dismissed).taken("b", nobody, run_id="bb22"):
            pass
        assert tickets_of_runs(queue.folder) == {"aa11": "a"}
    assert queue.tickets() == set() and not dismiss(queue.folder, "aa11")


def test_a_note_that_came_too_late_does_not_send_the_next_one_away(queue: Queue) -> None:
    with queue.of(1).taken("a", nobody):
        (queue.folder / "2.leave").touch()
        with pytest.raises(HostFull), queue.of(1, patience=0).taken("b", nobody):
            pass


# --- bounds


def test_no_bound_lets_everybody_in_and_is_seen_by_others(queue: Queue) -> None:
    with queue.of(0).taken("a", nobody), queue.of(0).taken("b", nobody):
        assert queue.of(0).waiting() == []
        with pytest.raises(HostFull), queue.of(2, patience=0).taken("c", nobody):
            pass
        with queue.of(3).taken("d", nobody):
            pass


@pytest.mark.parametrize(
    ("cores", "memory_mib", "runs"), [(2, 24_000, 8), (2, 7_900, 3), (1, 900, 1), (64, 256_000, 125)]
)
def test_the_default_is_what_processors_and_memory_take(cores: int, memory_mib: int, runs: int) -> None:
    assert runs_that_fit(cores, memory_mib) == runs


def test_who_waited_too_long_is_told_so_and_leaves_nothing(queue: Queue) -> None:
    said: list[str] = []
    began = queue.clock()
    with queue.of(1).taken("a", nobody):
        with pytest.raises(HostFull) as full, queue.of(1, queue.clock.advance, 7).taken("b", said.append):
            pass
        assert len(queue.tickets()) == 1
    assert (full.value.code, full.value.exit_code) == ("host_full", ExitCode.ENGINE)
    assert "1st of 1 in the queue" in full.value.message and "RUNNER_MAX_RUNS" in full.value.hint
    assert queue.clock() - began == pytest.approx(7) and len(said) == 1


def test_who_does_not_want_to_wait_is_told_at_once(queue: Queue) -> None:
    with queue.of(1).taken("a", nobody), pytest.raises(HostFull), queue.of(1, patience=0).taken("b", nobody):
        pass


def test_a_folder_that_cannot_be_written_is_told(queue: Queue) -> None:
    queue.folder.write_text("in the way")
    with pytest.raises(RunnerError) as refused, queue.of(1).taken("a", nobody):
        pass
    assert refused.value.code == "state_unwritable"


# --- interrupts and crashes


def test_an_interrupt_leaves_the_queue(queue: Queue) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    with queue.of(1).taken("a", nobody):
        with pytest.raises(KeyboardInterrupt), queue.of(1, interrupt).taken("b", nobody):
            pass
        assert len(queue.tickets()) == 1


def test_who_is_no_longer_wanted_leaves_the_queue_and_whoever_has_a_place_keeps_it(queue: Queue) -> None:
    wanted = [True]

    def gives_up(_seconds: float) -> None:
        wanted[0] = False

    with queue.of(1).taken("a", nobody, lambda: False):
        with pytest.raises(QueueLeft) as left, queue.of(1, gives_up).taken("b", nobody, lambda: wanted[0]):
            pass
        assert len(queue.tickets()) == 1
    assert (left.value.code, left.value.exit_code) == ("interrupted", ExitCode.INTERRUPTED)


def test_a_run_that_fails_gives_its_place_back(queue: Queue) -> None:
    with pytest.raises(ValueError, match="its own"), queue.of(1).taken("a", nobody):
        raise ValueError("its own")
    with queue.of(1).taken("b", nobody):
        pass


def test_a_process_that_is_killed_in_its_place_keeps_nobody_waiting(queue: Queue) -> None:
    holder = queue.process(1, b"in\n")
    said: list[str] = []
    with queue.of(1, lambda _seconds: killed(holder)).taken("b", said.append):
        pass
    assert len(said) == 1


def test_a_process_that_is_killed_while_it_waits_is_no_longer_counted(queue: Queue) -> None:
    said: list[str] = []
    first = ExitStack()
    first.enter_context(queue.of(1).taken("a", nobody))
    waiter = queue.process(1, b"waits\n")
    steps: Steps = iter([lambda: killed(waiter), first.close])
    with queue.of(1, one_after_the_other(steps)).taken("c", said.append):
        pass
    assert [line.partition(": ")[2].partition(" in ")[0] for line in said] == ["2nd of 2", "1st of 1"]


def test_what_the_dead_left_goes_when_the_next_one_comes(queue: Queue) -> None:
    killed(queue.process(1, b"in\n"))
    assert len(queue.tickets()) == 1
    with queue.of(1).taken("a", nobody):
        assert len(queue.tickets()) == 1
    assert queue.tickets() == set()


def test_a_program_that_was_started_meanwhile_holds_no_place(queue: Queue) -> None:
    with ExitStack() as stack:
        with queue.of(1).taken("a", nobody):
            child = stack.enter_context(subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE))
        with queue.of(1).taken("b", nobody):
            assert child.poll() is None
        assert child.stdin is not None
        child.stdin.close()


# --- many at once


def test_threads_that_come_again_and_again_all_get_in_and_never_too_many(queue: Queue) -> None:
    inside, most, times, lock = [0], [0], [0], threading.Lock()
    places = Places(queue.folder, 2, SURE, time.monotonic, lambda _seconds: os.sched_yield())

    def come() -> None:
        for _ in range(10):
            with places.taken("x", nobody):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                os.sched_yield()
                with lock:
                    inside[0] -= 1
                    times[0] += 1

    before = descriptors()
    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SURE)
    assert (times, most) == ([60], [2])
    assert queue.tickets() == set() and descriptors() == before


def test_processes_that_come_again_and_again_all_get_in_and_never_too_many(queue: Queue, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab") as out:
        processes = [queue.processes.enter_context(queue.start(COMES_AGAIN, 2, out)) for _ in range(3)]
    assert [process.wait(SURE) for process in processes] == [0, 0, 0]
    steps = [1 if byte == ord("+") else -1 for byte in log.read_bytes()]
    inside = [sum(steps[: end + 1]) for end in range(len(steps))]
    assert len(steps) == 150 and inside[-1] == 0 and max(inside) <= 2
