"""Text that would rewrite what a reader sees, through every way on which the command line shows something.

Out comes what is there: each such character as an escape, and no other line than the command's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from runner.audit.log import AuditLog
from runner.doors.rows import Format, print_rows
from runner.model.hidden import is_hidden
from tests.support.sealed_run import EVENTS

HOSTILE = "a\x1b[2Jb\u202ec\u200bd\ufe0fe\u3164f\x9bg\u2028h\rX"
"""Clears the screen, turns the writing round, hides, breaks the line, and overwrites it."""

Way = Callable[[Path], str]


def said(*arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None) -> str:
    """All that `runner ARGUMENTS` puts on a terminal, as it stands."""
    ran = subprocess.run(
        [sys.executable, "-m", "runner.doors.cli", *arguments],
        input=stdin.encode("utf-8", "surrogatepass"),
        capture_output=True,
        check=False,
        timeout=240,
        env={**os.environ, **(environment or {})},
    )
    return (ran.stdout + ran.stderr).decode("utf-8")


def hidden(text: str) -> set[str]:
    """The characters in it that are not seen, line ends left out."""
    return {character for character in text if is_hidden(character)} - {"\n"}


def _policy(folder: Path, **keys: object) -> str:
    file = folder / "policy.yml"
    file.write_text(yaml.safe_dump({"version": 1, **keys}), encoding="utf-8")
    return str(file)


def _call(tool: str, **arguments: object) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


def _log(folder: Path) -> str:
    path = folder / "audit.jsonl"
    log = AuditLog(path, "run1", lambda: HOSTILE)
    for event, data in EVENTS:
        log.append(event, {**data, "note": HOSTILE})
    log.append(
        "call.started", {"seq": 2, "tool": HOSTILE, "arguments_sha256": "b" * 64, "arguments": {"path": HOSTILE}}
    )
    log.append("egress", {"host": HOSTILE, "rule": HOSTILE, "allowed": False})
    log.close()
    return str(path)


WAYS: Mapping[str, Way] = {
    "audit show": lambda folder: said("audit", "show", _log(folder)),
    "audit show as lines": lambda folder: said("audit", "show", _log(folder), "-o", "jsonl"),
    "audit show of what is not there": lambda folder: said("audit", "show", str(folder / HOSTILE)),
    "audit verify": lambda folder: said("audit", "verify", str(folder / HOSTILE)),
    "policy explain": lambda folder: said(
        "policy", "explain", "-", stdin=_call("workspace.write_file", path=HOSTILE, content="x")
    ),
    "policy explain of a command": lambda folder: said(
        "policy", "explain", "-", stdin=_call("workspace.run_command", argv=["git", "push", HOSTILE])
    ),
    "policy show": lambda folder: said("policy", "show", _policy(folder, verifyTask="x", env={"A": HOSTILE})),
    "policy lint": lambda folder: said("policy", "lint", _policy(folder, **{HOSTILE: 1})),
    "a policy that is not there": lambda folder: said("policy", "show", HOSTILE),
    "a repository that is not there": lambda folder: said(
        "run", "--repo", HOSTILE, "--policy", _policy(folder), "--calls", "-"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_shown_of_hostile_text_is_seen(way: str, tmp_path: Path) -> None:
    shown = WAYS[way](tmp_path)
    assert shown
    assert hidden(shown) == set()


@pytest.mark.parametrize("output", Format)
def test_a_listing_of_hostile_text_is_seen(output: Format, capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([{"run": HOSTILE, "state": HOSTILE}], ("run", "state"), output)
    assert hidden(capsys.readouterr().out) == set()


def test_the_address_of_an_engine_is_seen() -> None:
    assert hidden(said("doctor", environment={"DOCKER_HOST": f"tcp://{HOSTILE}:1"})) == set()
