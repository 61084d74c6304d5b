"""A run held open between calls, by whichever door: it ends when it is closed, at its deadline, or when given up.

A door that answers one call after another (a server, a session of a protocol, a Python program) has no block of code
around its run, as `runner run` has. This keeps the promise of such a block: from `open` on, exactly one of `close`,
`interrupt` and the deadline tears the run down, whoever comes first; all others get the same ending. Calls are taken
one at a time, from any thread; a call that comes after the end answers `run_ended` like any other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from runner.controller.host import Host
from runner.controller.run import Progress, Run, open_run
from runner.controller.run_changes import write_changes
from runner.controller.spec import RunRequest
from runner.engine.contract import OutputSink
from runner.model.errors import ErrorCode, ExitCode, RunLimitReached, ToolError

__all__ = ["Ending", "HeldRun", "Timer", "after_end", "silent"]

_CANCEL_AGAIN_SECONDS = 0.05  # a call may start several programs, one after the other: each is cancelled


def silent(_message: str) -> None:
    """Progress that nobody wants to see."""


class Timer(Protocol):
    """What ends a run at its deadline: `threading.Timer`, or a test's own."""

    def start(self) -> None:
        """The seconds run from here on."""

    def cancel(self) -> None:
        """Nothing will happen any more."""


class _Wait(threading.Timer):
    daemon = True  # the interpreter's end is not held up by a run's time; what is left then is swept


class _Flight:
    """A call that is being answered."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self.landed = threading.Event()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. `status` is completed, interrupted, lost or failed; `because` is empty when it completed."""

    run_id: str
    status: str
    exit_code: ExitCode
    code: str | None
    because: str
    folder: Path
    out: Path | None


class HeldRun:
    """One run, ready for calls once it is constructed. `on_end` is told its ending once, whoever ended it.

    Raises:
        RunnerError: when the run cannot be brought to that point; then nothing of it is left.
    """

    def __init__(
        self,
        host: Host,
        request: RunRequest,
        progress: Progress = silent,
        *,
        run_id: str | None = None,
        wanted: Callable[[], bool] = lambda: True,
        on_end: Callable[[Ending], None] = lambda _ending: None,
        timer: Callable[[float, Callable[[], object]], Timer] = _Wait,
    ) -> None:
        self.request = request
        self._on_end = on_end
        self._stack = ExitStack()
        self._turn = threading.Lock()  # one call at a time, and none beside the tear-down
        self._closing = threading.Lock()
        self._marking = threading.Lock()  # which call is in flight does not change while one is cancelled
        self._seq = 0
        self._flight: _Flight | None = None
        self._cut_short = False  # whoever waits for a turn gets none any more
        self._gone: Ending | None = None
        self._run: Run = self._stack.enter_context(open_run(host, request, progress, run_id, wanted))
        self._timer = timer(self._run.prepared.remaining(), self.expire)
        self._timer.start()

    @property
    def run_id(self) -> str:
        """The run's name, as `runner ps` and its record have it."""
        return self._run.prepared.record.run_id

    @property
    def folder(self) -> Path:
        """The run's record in the state folder: `audit.jsonl` grows there while it is open."""
        return self._run.prepared.record.folder

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of it so far, as the report will have it: image, repository, posture, set-up."""
        return dict(self._run.prepared.facts)

    @property
    def counts(self) -> dict[str, int]:
        """Calls so far: all, those that were answered, those that were refused."""
        pipeline = self._run.pipeline
        return {} if pipeline is None else dict(pipeline.counts)

    def paths(self) -> list[str]:
        """The paths of the tree by the host's account of it, which no call is needed for. Untrusted names."""
        return self._run.prepared.baseline.ledger.paths()

    def patch(self) -> bytes:
        """What differs from the base commit now, committed or not, as `changes.patch` would have it. Untrusted bytes.

        No call: it is in no log, and no budget counts it. Empty once the run has ended.

        Raises:
            SandboxLost: when the workspace is gone.
        """
        with self._turn, TemporaryDirectory(prefix="runner-patch-") as folder:
            if self._gone is not None or self._cut_short:
                return b""
            write_changes(self._run.prepared, Path(folder))
            return (Path(folder) / "changes.patch").read_bytes()

    @property
    def seconds_left(self) -> float:
        """Until its own limit ends it; zero once it has ended."""
        prepared = self._run.prepared
        return 0.0 if self.ended else max(0.0, prepared.deadline - prepared.host.monotonic())

    @property
    def ended(self) -> bool:
        """Whether it takes no calls any more."""
        return self._gone is not None

    @property
    def busy(self) -> bool:
        """Whether a call is in flight."""
        return self._flight is not None

    def call(self, tool: str, arguments: object, *, on_output: OutputSink | None = None) -> dict[str, Any]:
        """The answer of one call, with its `seq`, `tool` and `duration_ms`.

        `on_output` is told of a command's output as it comes, untrusted bytes, from this thread; it must not raise.
        """
        return self._answer(tool, lambda: self._run.call(tool, arguments), on_output)

    def refuse(self, tool: str, error: ToolError) -> dict[str, Any]:
        """The answer of a call that a door could not even read; it counts and is audited like any other."""
        return self._answer(tool, lambda: self._run.refuse(tool, error), None)

    def cancel(self, seq: int | None = None) -> bool:
        """Whether a call was in flight and has ended, each program that it had started killed with its descendants.

        `seq` means that call and no later one; None whichever is in flight. A read or write takes milliseconds and is
        waited for; so is a push, which has limits of its own.
        """
        flight = self._flight
        if flight is None or seq not in (None, flight.seq):
            return False
        while not flight.landed.is_set():
            with self._marking:
                if self._flight is flight:
                    self._run.prepared.sandbox.cancel()
            flight.landed.wait(_CANCEL_AGAIN_SECONDS)
        return True

    def close(self) -> Ending:
        """The run has ended, completed; it is torn down, reported and sealed. Idempotent.

        Raises:
            UsageError: when `--out` cannot be written; the record in the state folder is complete all the same.
        """
        return self._end(lambda run: run.completed())

    def interrupt(self) -> Ending:
        """The same for a run that somebody gave up: what is in flight is cancelled, the status is `interrupted`."""

        def given_up(run: Run) -> None:
            run.interrupted = run.ended is None

        return self._end(given_up, now=True)

    def expire(self) -> Ending:
        """The same at the run's own limit. The timer's doing; idempotent."""
        seconds = self.request.policy.policy.limits.run_seconds

        def used_up(run: Run) -> None:
            hint = "Raise limits.runSeconds in the policy."
            run.failure = run.failure or RunLimitReached(f"the run used up its {seconds} s", hint=hint)

        return self._end(used_up, now=True)

    def _answer(self, tool: str, act: Callable[[], dict[str, Any]], on_output: OutputSink | None) -> dict[str, Any]:
        with self._turn:
            self._seq += 1
            started = time.monotonic()
            if self._gone is not None:
                answer = after_end(self._gone.status, self._gone.exit_code, self._gone.because)
            elif self._cut_short:
                answer = _refused("The run is being ended.", ErrorCode.RUN_ENDED, lost=False)
            else:
                with self._in_flight(on_output):
                    answer = act()
            milliseconds = round((time.monotonic() - started) * 1000, 3)
            return {"seq": self._seq, "tool": tool, **answer, "duration_ms": milliseconds}

    @contextmanager
    def _in_flight(self, on_output: OutputSink | None) -> Iterator[None]:
        flight = _Flight(self._seq)
        self._run.prepared.on_output = on_output
        self._flight = flight
        try:
            yield
        finally:
            with self._marking:
                self._flight = None
            flight.landed.set()
            self._run.prepared.on_output = None

    def _end(self, how: Callable[[Run], None], *, now: bool = False) -> Ending:
        with self._closing:
            if self._gone is not None:
                return self._gone
            self._timer.cancel()
            self._cut_short = now
            while not self._turn.acquire(timeout=_CANCEL_AGAIN_SECONDS if now else -1):
                self.cancel()
            try:
                how(self._run)
                try:
                    self._stack.close()
                finally:
                    self._gone = self._ending()
                    self._on_end(self._gone)
            finally:
                self._turn.release()
            return self._gone

    def _ending(self) -> Ending:
        run = self._run
        out = self.request.out
        code = None if run.ended is None else run.ended.code
        return Ending(self.run_id, run.status, run.exit_code, code, run.ended_because, self.folder, out)


def after_end(status: str, exit_code: int, because: str) -> dict[str, Any]:
    """The answer of a call to a run that has ended so."""
    lost = status == "lost"
    limit = exit_code == ExitCode.LIMIT and not lost
    why = f": {because}" if because else "."
    code = ErrorCode.RUN_LIMIT_EXCEEDED if limit else ErrorCode.RUN_ENDED
    return _refused(f"The run has ended{why} Open another run.", code, lost=lost)


def _refused(message: str, code: ErrorCode, *, lost: bool) -> dict[str, Any]:
    return {"ok": False, "error": {"code": str(code), "message": message, "details": {"lost": lost}}}
