"""The pure parts by themselves, under pytest-benchmark: `make bench-pure`. No engine; no part of the test suite.

They say which part moved when a figure of the whole bench did, and whether a change to one of them is worth its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.decisions import ARGV_CASES, FILE_CASES, AliasTree
from benchmarks.growing_audit import append_calls, verify
from benchmarks.ledger import FILES, file_name
from runner.engine.frames import BODY_MAX_BYTES, FrameDecoder, encode_frame
from runner.model.tree import EntryKind, ScanEntry
from runner.policy.argv import decide_argv
from runner.policy.argv_policy import argv_policy
from runner.policy.globs import GlobSet
from runner.policy.ledger import Ledger
from runner.policy.load import load_policy
from runner.policy.writes import WriteRules, decide_write

Benchmark = Callable[..., Any]

_CALLS = 1_000
_PATHS = ("src/a.ts", "packages/core/src/deep/er/index.ts", ".github/workflows/ci.yml", "a/.env.local")
_PATTERNS = tuple(f"packages/part{number}/**/*.ts" for number in range(50))
_OTHER_PROGRAMS = {
    "npm": ("npm", "run", "test", "--", "--watch=false"),
    "pnpm": ("pnpm", "--filter", "./packages/core", "run", "build"),
    "node": ("node", "--test", "--test-name-pattern=adds", "tests/total.test.mjs"),
    "mise": ("mise", "run", "lint"),
}
_COMMANDS = {**ARGV_CASES, **_OTHER_PROGRAMS}


@pytest.mark.parametrize("case", FILE_CASES)
def test_decide_a_write(benchmark: Benchmark, case: str) -> None:
    """The write rules of the preset `default`."""
    benchmark(decide_write, WriteRules.compile(load_policy("default").policy), *FILE_CASES[case])


@pytest.mark.parametrize("preset", ["default", "strict"])
@pytest.mark.parametrize("case", _COMMANDS)
def test_decide_a_command(benchmark: Benchmark, preset: str, case: str) -> None:
    """The grammar of each program, and the rules over it."""
    document, tree = load_policy(preset).policy, AliasTree()
    benchmark(decide_argv, _COMMANDS[case], argv_policy(document, WriteRules.compile(document), tree), tree)


@pytest.mark.parametrize("patterns", [("src/**", "**/*.md"), _PATTERNS], ids=["2 patterns", "50 patterns"])
def test_match_paths(benchmark: Benchmark, patterns: Sequence[str]) -> None:
    """Four paths against a set of patterns."""
    globs = GlobSet.denying(list(patterns))
    benchmark(lambda: [globs.match(path) for path in _PATHS])


def test_compile_patterns(benchmark: Benchmark) -> None:
    """Fifty patterns, as a policy is loaded."""
    benchmark(GlobSet.denying, list(_PATTERNS))


@pytest.mark.parametrize("size", [0, 4096, BODY_MAX_BYTES])
def test_encode_a_frame(benchmark: Benchmark, size: int) -> None:
    """A request with a body of `size` bytes."""
    benchmark(encode_frame, {"id": 1, "op": "write", "path": "src/a.ts"}, b"x" * size)


@pytest.mark.parametrize("size", [0, 4096, BODY_MAX_BYTES])
def test_decode_a_frame(benchmark: Benchmark, size: int) -> None:
    """The same back, from pieces of 64 KiB as they arrive."""
    whole = encode_frame({"id": 1, "kind": "content", "size": size}, b"x" * size)
    pieces = [whole[start : start + 65536] for start in range(0, len(whole), 65536)]

    def decode() -> None:
        decoder = FrameDecoder()
        for piece in pieces:
            decoder.feed(piece)
        if decoder.next() is None:
            raise ValueError("the frame is not whole")

    benchmark(decode)


def test_append_to_the_audit_log(benchmark: Benchmark, tmp_path: Path) -> None:
    """A thousand calls, each line flushed."""

    def append() -> None:
        log = tmp_path / "audit.jsonl"
        log.unlink(missing_ok=True)
        append_calls(log, _CALLS)

    benchmark(append)


def test_verify_the_audit_log(benchmark: Benchmark, tmp_path: Path) -> None:
    """The log of a thousand calls."""
    append_calls(tmp_path / "audit.jsonl", _CALLS)
    benchmark(verify, tmp_path / "audit.jsonl", _CALLS)


def test_take_a_change_into_the_ledger(benchmark: Benchmark) -> None:
    """One file of 50,000 was changed."""
    entries = tuple(_entry(file_name(number), "1") for number in range(FILES))
    ledger, stamps = Ledger(entries), iter(range(2, 10**9))
    benchmark(lambda: ledger.apply((_entry(file_name(7), str(next(stamps))),), ()))


def _entry(path: str, stamp: str) -> ScanEntry:
    return ScanEntry(path, EntryKind.FILE, 8, 0o644, stamp)
