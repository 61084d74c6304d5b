"""The conformance cases as data: a fixture, calls, and what must be answered and hold afterwards.

An expectation is `ok`, an error code, several codes joined by `|`, or a function that asserts on the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.cli import Invocation, call
from tests.support.repos import R0, File

__all__ = ["P0", "Case", "Expect", "check", "contains", "exits", "lacks", "node", "result_is", "sh"]

Answer = dict[str, Any]
Expect = str | Callable[[Answer], None]

P0: Mapping[str, Any] = {
    "writeAllow": ["src/**", "tests/**", "docs/**", "notes/**", "scratch/**", "package.json"],
    "rewriteAllow": ["src/**", "tests/**", "package.json"],
    "writeDeny": ["src/secret/**", "**/*.lock", ".github/**", "**/.env*"],
    "appendOnly": ["notes/log.md", "docs/CHANGELOG.md"],
    "setup": [["git", "config", "core.hooksPath", ".githooks"]],
    "bindings": [{"git": {"host": "file"}}],
    "limits": {"commandSeconds": 60, "memoryMiB": 512, "workspaceMiB": 128},
}


@dataclass(frozen=True)
class Case:
    """One case. `prepare` runs in set-up, before the baseline; `inside` are calls made first, without expectation."""

    id: str
    why: str
    calls: tuple[tuple[Invocation, Expect], ...]
    policy: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, File | bytes | str | None] = field(default_factory=dict)
    prepare: tuple[tuple[str, ...], ...] = ()
    inside: tuple[Invocation, ...] = ()
    moves_remote: bool = False
    ends_run: bool = False
    ref: str = "agent/x1"
    default_branch: str = "main"
    remote: Callable[[R0], None] | None = None  # what happens to the remote before the run


def node(script: str) -> tuple[str, ...]:
    """A node one-liner as argv."""
    return ("node", "-e", script)


def sh(*argv: str) -> Invocation:
    """A run_command call."""
    return call("run_command", argv=list(argv))


def check(answer: Answer, expect: Expect) -> None:
    """The answer is as expected."""
    if callable(expect):
        expect(answer)
    elif expect == "ok":
        assert answer["ok"], answer
    else:
        assert not answer["ok"], answer
        assert answer["error"]["code"] in expect.split("|"), answer


def exits(code: int | None = 0, stdout: str | None = None) -> Callable[[Answer], None]:
    """The command ran and ended with `code`; its whole output is `stdout` when given."""

    def expect(answer: Answer) -> None:
        assert answer["ok"], answer
        assert answer["result"]["code"] == code, answer
        if stdout is not None:
            assert answer["result"]["stdout"] == stdout, answer

    return expect


def result_is(value: Any) -> Callable[[Answer], None]:
    """The call succeeded with exactly this result."""

    def expect(answer: Answer) -> None:
        assert answer["ok"], answer
        assert answer["result"] == value, answer

    return expect


def contains(*texts: str) -> Callable[[Answer], None]:
    """The call succeeded and its result has each of the texts."""

    def expect(answer: Answer) -> None:
        assert answer["ok"], answer
        for text in texts:
            assert text in str(answer["result"]), answer

    return expect


def lacks(*texts: str) -> Callable[[Answer], None]:
    """Whatever the answer is, none of the texts is in it."""

    def expect(answer: Answer) -> None:
        for text in texts:
            assert text not in str(answer), answer

    return expect
