"""A program on the host with a deadline, bounded output and nothing left behind.

Rules: argv is a list and no shell is involved; the environment is exactly what is given; the program leads a process
group of its own, and the whole group is killed at the deadline and again when the program has ended; standard error is
kept up to a bound. What the program is, and what its failure means, is the caller's matter.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO

__all__ = ["Ending", "HostProgram", "Output", "run_program"]

_CHUNK_BYTES = 65536  # one default pipe buffer
_STDERR_CAP_BYTES = 65536  # what a person may read of a failure; a flood of more says nothing new
_ADDRESS_SPACE_BYTES = 8 << 30  # an inflated object is held in memory once; this ends a decompression bomb
_STRAGGLER_SECONDS = 5.0  # a daemon that left the group may hold standard error open for ever


@dataclass(frozen=True, slots=True)
class Ending:
    """How the program ended. `exit` is 128 + N after signal N. `stderr` is cut at 64 KiB."""

    exit: int
    stderr: bytes
    timed_out: bool


@dataclass(frozen=True, slots=True)
class Output:
    """A program's whole run. `overflowed` says that it was killed because it wrote more than the bound."""

    exit: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    overflowed: bool


class HostProgram:
    """A running program, to be used as a context manager; leaving it kills whatever is still there."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        deadline_seconds: float,
        stdin: Iterable[bytes] = (),
        pass_fds: Sequence[int] = (),
        max_file_bytes: int | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
        self._limit(max_file_bytes)
        self._timed_out = threading.Event()
        self._input_failure: BaseException | None = None
        self._stderr = bytearray()
        self._timer = threading.Timer(deadline_seconds, self._expire)
        self._timer.daemon = True
        self._feeder = threading.Thread(target=self._feed, args=(iter(stdin),), daemon=True)
        self._drainer = threading.Thread(target=self._drain, daemon=True)
        for thread in (self._timer, self._feeder, self._drainer):
            thread.start()

    def __enter__(self) -> HostProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._collect()

    def read(self) -> bytes:
        """The next bytes of standard output; `b""` at its end."""
        return os.read(_pipe(self._process.stdout).fileno(), _CHUNK_BYTES)

    def kill(self) -> None:
        """The whole process group is dead. Does nothing once the program was collected."""
        if self._process.returncode is None:
            _kill_group(self._process.pid)

    def finish(self) -> Ending:
        """Wait for the end. Standard output must have been read to its end, or the program been killed.

        Raises:
            BaseException: whatever the `stdin` iterable raised; the program was killed then.
        """
        self._collect()
        if self._input_failure is not None:
            raise self._input_failure
        code = self._process.returncode
        return Ending(
            exit=code if code >= 0 else 128 - code,
            stderr=bytes(self._stderr),
            timed_out=self._timed_out.is_set(),
        )

    def _collect(self) -> None:
        if self._process.returncode is None:
            # Left unreaped until the group was killed: only then its number cannot belong to somebody else by now.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            _kill_group(self._process.pid)
            self._process.wait()
        self._timer.cancel()
        self._feeder.join()
        _pipe(self._process.stdout).close()
        self._drainer.join(_STRAGGLER_SECONDS)
        if not self._drainer.is_alive():
            _pipe(self._process.stderr).close()

    def _expire(self) -> None:
        self._timed_out.set()
        self.kill()

    def _feed(self, chunks: Iterator[bytes]) -> None:
        pipe = _pipe(self._process.stdin)
        try:
            for chunk in chunks:
                pipe.write(chunk)
            pipe.close()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the program ended first; its exit status says why
        except BaseException as failure:  # carried to finish(); a half-written input must not look complete
            self._input_failure = failure
            self.kill()
        finally:
            _close_quietly(pipe)

    def _drain(self) -> None:
        pipe = _pipe(self._process.stderr)
        while chunk := os.read(pipe.fileno(), _CHUNK_BYTES):
            self._stderr += chunk[: max(0, _STDERR_CAP_BYTES - len(self._stderr))]

    def _limit(self, max_file_bytes: int | None) -> None:
        """Bounds that the program and all that it starts inherit; set before it has read a byte of its input."""
        bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: _ADDRESS_SPACE_BYTES}
        if max_file_bytes is not None:
            bounds[resource.RLIMIT_FSIZE] = max_file_bytes
        try:
            for which, bound in bounds.items():
                _, hard = resource.prlimit(self._process.pid, which)
                ceiling = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
                resource.prlimit(self._process.pid, which, (ceiling, ceiling))
        except ProcessLookupError:
            pass  # it has ended already


def run_program(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    deadline_seconds: float,
    max_stdout_bytes: int,
    stdin: Iterable[bytes] = (),
    pass_fds: Sequence[int] = (),
    max_file_bytes: int | None = None,
) -> Output:
    """The program has ended, by itself or killed at a bound, and none of its group is left.

    Raises:
        OSError: it could not be started.
    """
    collected = bytearray()
    with HostProgram(
        argv,
        env=env,
        deadline_seconds=deadline_seconds,
        stdin=stdin,
        pass_fds=pass_fds,
        max_file_bytes=max_file_bytes,
    ) as program:
        while (chunk := program.read()) and len(collected) <= max_stdout_bytes:
            collected += chunk
        overflowed = len(collected) > max_stdout_bytes
        if overflowed:
            program.kill()
        ending = program.finish()
    return Output(
        exit=ending.exit,
        stdout=bytes(collected[:max_stdout_bytes]),
        stderr=ending.stderr,
        timed_out=ending.timed_out,
        overflowed=overflowed,
    )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("all three streams are pipes")
    return stream


def _close_quietly(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        pass  # closing flushes, and the program has gone


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # nobody is left
