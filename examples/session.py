"""The runner as a user has it: the command line, fed with one call after the other, each answer read as it comes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Answer", "Call", "DemoFailed", "Session", "runner_json"]

ROOT = Path(__file__).resolve().parents[1]
RUNNER = (sys.executable, "-m", "runner.doors.cli")
ANSWER_SECONDS = 90.0
"""How long one answer may take, set-up included: well above commandSeconds, so that the runner's own bound counts."""


class DemoFailed(Exception):
    """The demo cannot go on, or something did not hold."""


@dataclass(frozen=True, slots=True)
class Call:
    """One line for the runner."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The runner's answer to one call, as it was printed."""

    ok: bool
    result: Any = None
    error: Mapping[str, Any] = field(default_factory=dict)
    milliseconds: float = 0.0

    @property
    def code(self) -> str:
        """The error's code, empty when the call was answered."""
        return str(self.error.get("code", ""))

    @property
    def rule(self) -> str:
        """The rule that refused; where a path was followed out of the clone, the place that noticed; else empty."""
        details = self.error.get("details", {})
        followed_out = details.get("fault") == "outside"
        return str(details.get("rule") or ("path resolution beneath the root" if followed_out else ""))

    @property
    def output(self) -> str:
        """Everything that the answer tells, as one text to look for something in."""
        return json.dumps([self.result, dict(self.error)], ensure_ascii=False)


class Session:
    """One `runner run`. Leaving the block ends the input; the runner then reports, tears down and ends."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [*RUNNER, "run", *arguments, "--calls", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            cwd=ROOT,
        )
        self._buffer = b""
        self.exit_code: int | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101 - both are pipes
        try:
            self._process.stdin.close()
            self.exit_code = self._process.wait(timeout=ANSWER_SECONDS)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.terminate()  # the runner tears down on a polite kill
            self.exit_code = self._process.wait(timeout=ANSWER_SECONDS)
        finally:
            self._process.stdout.close()

    def call(self, tool: str, **arguments: Any) -> Answer:
        """The answer to this call. Raises DemoFailed when there is none."""
        return self.send(Call(tool, arguments))

    def send(self, call: Call) -> Answer:
        """The answer to this call. Raises DemoFailed when there is none."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        line = json.dumps({"tool": call.tool, "arguments": dict(call.arguments)}) + "\n"
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise DemoFailed(f"the runner ended before {call.tool}") from None
        raw = json.loads(self._line(call.tool))
        return Answer(raw["ok"], raw.get("result"), raw.get("error", {}), raw["duration_ms"])

    def _line(self, tool: str) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([descriptor], [], [], ANSWER_SECONDS)
            chunk = os.read(descriptor, 65536) if ready else b""
            if not chunk:
                raise DemoFailed(f"{tool}: {self._why_no_answer(ended=bool(ready))}")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _why_no_answer(self, *, ended: bool) -> str:
        if not ended:
            return f"no answer within {ANSWER_SECONDS:.0f} s"
        return f"the runner ended with {self._process.wait(timeout=ANSWER_SECONDS)}; its own words are above"


def runner_json(arguments: Sequence[str], environment: Mapping[str, str]) -> Any:
    """What a runner command prints as JSON. Raises DemoFailed when it fails."""
    finished = subprocess.run(
        [*RUNNER, *arguments], env=dict(environment), cwd=ROOT, capture_output=True, check=False, timeout=ANSWER_SECONDS
    )
    if finished.returncode != 0:
        raise DemoFailed(f"runner {' '.join(arguments)}: {finished.stderr.decode('utf-8', 'replace').strip()}")
    return json.loads(finished.stdout)
