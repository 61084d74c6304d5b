"""Asks the real programs of the workspace image what an argv means: each runs in one small workspace, and what it
started has left its name in a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.controller.environment import BASE_ENVIRONMENT, OFFLINE
from runner.engine.contract import Sandbox, SpawnRequest

__all__ = ["MARKS", "Outcome", "ask", "marking", "output_of"]

MARKS = "/tmp/marks"
"""The file that everything started adds a line to, with its name."""

# The workspace is laid out afresh for every argv, so that what one wrote does not speak for the next.
_DRIVER = r"""
import json, os, shutil, subprocess, sys

MARKS = "/tmp/marks"
asked = json.load(sys.stdin)

def lay_out():
    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)
    for path, text in asked["files"].items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755 if text.startswith("#!") else 0o644)
    open(MARKS, "w").close()

def answer(argv):
    lay_out()
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env={**os.environ, **asked["env"]}, timeout=asked["seconds"])
    except subprocess.TimeoutExpired:
        return [None, open(MARKS).read(), ""]
    return [done.returncode, open(MARKS).read(), done.stderr[-300:].decode(errors="replace")]

json.dump([answer(argv) for argv in asked["argvs"]], sys.stdout)
"""


@dataclass(frozen=True)
class Outcome:
    """How one argv ended, and what it had started. `code` is None where it had to be ended."""

    argv: tuple[str, ...]
    code: int | None
    started: frozenset[str]
    errors: str


def marking(name: str) -> str:
    """A program that leaves the name."""
    return f"#!/bin/sh\necho '{name}' >>{MARKS}\n"


def ask(
    sandbox: Sandbox,
    argvs: Sequence[Sequence[str]],
    files: Mapping[str, str],
    *,
    env: Mapping[str, str] | None = None,
    seconds: float = 10.0,
) -> list[Outcome]:
    """What each argv does in a workspace with the files; `env` is added to a command's usual variables."""
    question = {"argvs": argvs, "files": files, "env": dict(env or {}), "seconds": seconds}
    done = _spawn(sandbox, ("python3", "-c", _DRIVER), json.dumps(question).encode(), {})
    answers = json.loads(done)
    return [
        Outcome(tuple(argv), code, frozenset(line.split()[0] for line in marks.splitlines() if line.split()), errors)
        for argv, (code, marks, errors) in zip(argvs, answers, strict=True)
    ]


def output_of(sandbox: Sandbox, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
    """What the program prints; it must succeed."""
    return _spawn(sandbox, argv, stdin, env or {}).decode()


def _spawn(sandbox: Sandbox, argv: tuple[str, ...], stdin: bytes, env: Mapping[str, str]) -> bytes:
    environment = {**BASE_ENVIRONMENT, **OFFLINE, "NODE_COMPILE_CACHE": "/tmp/compiled", **env}
    request = SpawnRequest(argv, environment, 250.0, 16 << 20, stdin=[stdin])
    done = sandbox.spawn(request)
    assert done.exit == 0, done.stderr[-2000:]
    return done.stdout
