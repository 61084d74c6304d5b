"""A `runner run` that is held open: calls go in one by one, progress is watched, signals are sent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from tests.support.cli import Invocation

__all__ = ["LiveRun"]

_END_SECONDS = 60


class LiveRun:
    """The process and its pipes. Leaving the block kills what is left of it."""

    def __init__(
        self,
        repo: Path | str,
        policy: Mapping[str, Any],
        tmp_path: Path,
        *,
        ref: str = "agent/x1",
        depth: int | None = None,
    ) -> None:
        policy_file = tmp_path / "live-policy.yml"
        policy_file.write_text(yaml.safe_dump(dict(policy)), encoding="utf-8")
        self.out = tmp_path / "live-out"
        options = ["--repo", str(repo), "--ref", ref, "--policy", str(policy_file), "--calls", "-"]
        if depth is not None:
            options += ["--depth", str(depth)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runner.doors.cli", "run", *options, "--out", str(self.out)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, call: Invocation) -> None:
        """The call is on its way; nobody waits for its answer."""
        assert self.process.stdin is not None
        tool, arguments = call
        self.process.stdin.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.rest()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def call(self, call: Invocation) -> dict[str, Any]:
        """The answer of a call."""
        self.send(call)
        return self.answer()

    def wait_for_progress(self, text: str) -> None:
        """A progress line with `text` has been printed."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if text in line:
                return
        raise AssertionError(f"{text!r} was never said")

    def signal(self, number: signal.Signals) -> None:
        """The process has been sent the signal."""
        self.process.send_signal(number)

    def end(self) -> int:
        """No more calls; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None
        return self.process.wait(_END_SECONDS)

    def rest(self) -> str:
        """What is still on standard error; the process has ended or been killed."""
        self.process.kill()
        return self.process.communicate()[1]

    @property
    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.out / "report.json").read_text(encoding="utf-8"))
        return loaded
