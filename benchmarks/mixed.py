"""A whole run of 100 calls as an agent mixes them, in turn with the same work as 100 times `docker exec`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.interleave import Reading, interleave, timed
from benchmarks.repositories import SMALL_MODULES, small_files
from benchmarks.samples import Samples
from benchmarks.stage import Stage

__all__ = ["CALLS", "MixedCall", "mixed", "mixed_calls"]

CALLS = 100
_BLOCKS = 10  # of ten calls: four reads, and one each of list, search, write, edit, git status, git --version
_WARM_UP = 1
_WRITE = 'mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1"'
_COMMIT = "git add -A && git commit --quiet -m work"
_MAKE_TREE = """set -e
git init --quiet --initial-branch=main .
git config user.name runner
git config user.email runner@localhost
while [ $# -gt 0 ]; do mkdir -p "$(dirname "$1")"; printf %s "$2" >"$1"; shift 2; done
git add -A
git commit --quiet -m first
"""


@dataclass(frozen=True, slots=True)
class MixedCall:
    """One call, and the program that does the same work where there is only `docker exec`."""

    tool: str
    program: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)


def mixed_calls() -> tuple[MixedCall, ...]:
    """The 100 calls; the last one commits what the others wrote."""
    calls = [call for block in range(_BLOCKS) for call in _block(block)]
    calls[-1] = MixedCall("workspace.git_commit", ("sh", "-c", _COMMIT), {"message": "work"})
    return tuple(calls)


def _block(number: int) -> Iterator[MixedCall]:
    note = f"notes/note{number}.txt"
    text = f"note {number}: draft\n"
    modules = [f"src/module{(4 * number + index) % SMALL_MODULES:02}.ts" for index in range(4)]
    wanted = f"value = {number};"
    yield MixedCall("workspace.list_dir", ("ls", "-la", "src"), {"path": "src"})
    yield from (MixedCall("workspace.read_file", ("cat", path), {"path": path}) for path in modules[:2])
    yield MixedCall("workspace.search", ("rg", "-n", "--fixed-strings", "--", wanted, "."), {"pattern": wanted})
    yield from (MixedCall("workspace.read_file", ("cat", path), {"path": path}) for path in modules[2:])
    yield MixedCall("workspace.write_file", ("sh", "-c", _WRITE, "sh", note, text), {"path": note, "content": text})
    edit = {"path": note, "oldString": "draft", "newString": "final"}
    yield MixedCall("workspace.edit", ("sed", "-i", "s/draft/final/", note), edit)
    for argv in (["git", "status", "--short"], ["git", "--version"]):
        yield MixedCall("workspace.run_command", tuple(argv), {"argv": argv})


def mixed(stage: Stage, rounds: int) -> dict[str, Samples]:
    """Everything from nothing to nothing: start, tree, calls, removal."""
    calls = mixed_calls()
    tree = [part for name, content in small_files().items() for part in (name, content.decode())]

    def run() -> Reading:
        started = time.perf_counter()
        with stage.open(stage.small) as opened:
            for call in calls:
                opened.call(call.tool, **call.arguments)
        total = (time.perf_counter() - started) * 1000
        return {"runner": total, **{f"phase {name}": spent for name, spent in opened.milliseconds.items()}}

    def exec_() -> None:
        with stage.bare.container() as container:
            stage.bare.exec(container, ["sh", "-c", _MAKE_TREE, "sh", *tree])
            for call in calls:
                stage.bare.exec(container, call.program)

    return interleave((run, timed("exec", exec_)), rounds, warm_up=_WARM_UP)
