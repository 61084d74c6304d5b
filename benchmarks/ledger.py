"""The ledger after a command in a large tree: what every command pays for being known, in turn with `find`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from benchmarks.failure import BenchFailed
from benchmarks.interleave import Reading, interleave, timed
from benchmarks.samples import Samples
from benchmarks.stage import Stage
from runner.controller.baseline import bring_up_to_date, whole_scan
from runner.controller.environment import command_environment
from runner.engine.contract import Sandbox, SpawnRequest
from runner.policy.ledger import Ledger, LedgerDelta

__all__ = ["FILES", "file_name", "ledger_50k"]

FILES = 50_000
_FOLDERS = 500
_WARM_UP = 2
_SECONDS = 60
_OUTPUT_BYTES = 64 * 1024
_MAKE_TREE = """
import os, sys
for name in sys.stdin.read().split():
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w") as file:
        file.write(name)
"""


def file_name(number: int) -> str:
    """The path of a file of the tree: two folders deep, a hundred files in each."""
    folder = number % _FOLDERS
    return f"part{folder % 10}/folder{folder:03}/file{number:05}.txt"


def ledger_50k(stage: Stage, rounds: int) -> dict[str, Samples]:
    """Scan and ledger after a program has changed one file of 50,000; `find` looks at every inode of the same tree."""
    with stage.sandbox() as sandbox:
        _spawn(sandbox, "python3", "-I", "-S", "-c", _MAKE_TREE, stdin="\n".join(map(file_name, range(FILES))))
        ledger = Ledger(whole_scan(sandbox).entries)
        changed = _changes(sandbox)

        def ours() -> Reading:
            path = next(changed)
            found: list[LedgerDelta] = []
            reading = timed("ledger", lambda: found.append(bring_up_to_date(sandbox, ledger)))()
            if found != [LedgerDelta((), (path,), ())]:
                raise BenchFailed(f"the ledger did not see that {path} alone was changed")
            return reading

        # A size that no file has: every inode is looked at, and nothing is printed.
        find = timed("find", lambda: _spawn(sandbox, "find", ".", "-size", "+1G"))
        return interleave((ours, find), rounds, warm_up=_WARM_UP)


def _changes(sandbox: Sandbox) -> Iterator[str]:
    """Changes another file of the tree each time, by a program of its own, and says which."""
    for step in count(1):
        path = file_name(step * 997 % FILES)
        _spawn(sandbox, "truncate", "--size=+1", path)
        yield path


def _spawn(sandbox: Sandbox, *argv: str, stdin: str = "") -> None:
    chunks = [stdin.encode()] if stdin else None
    request = SpawnRequest(argv, command_environment({}), _SECONDS, _OUTPUT_BYTES, stdin=chunks)
    done = sandbox.spawn(request)
    if done.exit != 0:
        raise BenchFailed(f"{argv[0]} ended with {done.exit}: {done.stderr[-300:].decode('utf-8', 'replace')}")
