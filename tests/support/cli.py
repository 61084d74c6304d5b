"""Driving `runner run` as a user does: a subprocess, calls on standard input, answers as JSON Lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.audit.forms import check_line

__all__ = ["CliRun", "Invocation", "call", "run_cli", "run_runner"]

Invocation = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class CliRun:
    """What came of one `runner run`."""

    exit_code: int
    answers: list[dict[str, Any]]
    stderr: str
    out: Path
    stdout: str = ""

    @property
    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.out / "report.json").read_text(encoding="utf-8"))
        return loaded

    @property
    def audit(self) -> list[dict[str, Any]]:
        """The log; each line has its published form."""
        lines = [json.loads(line) for line in (self.out / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
        for line in lines:
            check_line(line)
        return lines


def call(tool: str, **arguments: Any) -> Invocation:
    """A call of `workspace.TOOL`, or of `git`."""
    return (tool if tool == "git" else f"workspace.{tool}", arguments)


def run_cli(
    *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None, patience_seconds: int = 240
) -> CliRun:
    """`runner ARGUMENTS` in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-m", "runner.doors.cli", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_seconds,
        env={**os.environ, **(environment or {})},
    )
    answers = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    return CliRun(finished.returncode, answers, finished.stderr, Path(), finished.stdout)


def run_runner(
    repo: Path | str,
    policy: Mapping[str, Any],
    calls: Sequence[Invocation],
    tmp_path: Path,
    *,
    ref: str | None = None,
    environment: Mapping[str, str] | None = None,
    depth: int | None = None,
    patience_seconds: int = 240,
) -> CliRun:
    """One whole run under a policy document."""
    policy_file = tmp_path / "policy.yml"
    policy_file.write_text(yaml.safe_dump(dict(policy), allow_unicode=True), encoding="utf-8")
    out = tmp_path / "out"
    lines = "".join(json.dumps({"tool": tool, "arguments": arguments}) + "\n" for tool, arguments in calls)
    options = ["run", "--repo", str(repo), "--policy", str(policy_file), "--calls", "-", "--out", str(out)]
    if ref is not None:
        options += ["--ref", ref]
    if depth is not None:
        options += ["--depth", str(depth)]
    ran = run_cli(*options, stdin=lines, environment=environment, patience_seconds=patience_seconds)
    return CliRun(ran.exit_code, ran.answers, ran.stderr, out)
