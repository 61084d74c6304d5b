"""Calls that nobody means, to each of the ten tools: refused with the code that fits, and nothing was touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.doors.calls import parse_calls
from runner.engine.fake import FakeSandbox
from runner.model.errors import ErrorCode
from runner.tools.registry import TOOLS
from tests.support.bad_input import CALLS, LINES, nested
from tests.support.fake_run import FakeRun, code_of, fake_run

MAX_ANSWER_CHARACTERS = 4000
"""A refusal says what is wrong and repeats none of the input, however large that is."""

WATCHED = ("resolve", "read", "list", "write", "delete", "search", "spawn", "open_stream")


class WatchedSandbox(FakeSandbox):
    """Counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name not in WATCHED:
            return found

        def watched(*arguments: Any, **keys: Any) -> Any:
            self.asked.append(name)
            return found(*arguments, **keys)

        return watched


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeRun, WatchedSandbox]]:
    """One run for all of them: whatever they did to it would show in the next."""
    sandbox = WatchedSandbox()
    with fake_run(tmp_path_factory.mktemp("run"), sandbox=sandbox) as run:
        yield run, sandbox


@pytest.mark.parametrize("flaw", CALLS)
def test_a_call_that_nobody_means_is_refused_and_touches_nothing(
    flaw: str, shared: tuple[FakeRun, WatchedSandbox]
) -> None:
    (run, sandbox), bad = shared, CALLS[flaw]
    before, logged = run.snapshot(), len(run.events())
    sandbox.asked.clear()
    answer = run.raw(bad.tool, bad.arguments)
    assert code_of(answer) == bad.code
    assert len(str(answer)) < MAX_ANSWER_CHARACTERS
    assert sandbox.asked in ([], ["search"])  # a pattern's grammar is the searcher's to judge
    assert run.snapshot() == before
    assert run.pipeline.ended is None
    written = run.events()[logged:]
    assert [event["event"] for event in written][-1] == "call.finished"
    assert not any(event["event"] == "decision" and event["data"]["allowed"] for event in written)
    assert sum(len(str(event)) for event in written) < 40_000


def test_every_tool_has_calls_that_nobody_means() -> None:
    assert {bad.tool for bad in CALLS.values()} == set(TOOLS)


@pytest.mark.parametrize("flaw", LINES)
def test_a_line_that_nobody_means_is_answered_and_no_tool_hears_of_it(
    flaw: str, shared: tuple[FakeRun, WatchedSandbox]
) -> None:
    run, sandbox = shared
    sandbox.asked.clear()
    (call,) = parse_calls([LINES[flaw]])
    assert call.error is not None and call.error.code is ErrorCode.INVALID_ARGUMENTS
    assert code_of(run.pipeline.refuse(call.tool, call.error)) == ErrorCode.INVALID_ARGUMENTS
    assert sandbox.asked == []


def test_after_all_of_them_the_run_works_as_before(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for bad in CALLS.values():
            run.raw(bad.tool, bad.arguments)
        assert run.call("read_file", path="README.md")["ok"]
        assert run.call("write_file", path="src/new.txt", content="x")["ok"]


@pytest.mark.parametrize("depth", [33, 400, 990])
def test_deep_arguments_of_a_run_with_a_secret_do_not_end_it(tmp_path: Path, depth: int) -> None:
    """To hide a secret the log walks each value, which a deep one once broke."""
    with fake_run(tmp_path) as run:
        run.scrubber.hide("a-secret-of-some-length")
        assert run.call("git_push", more=nested(20))["ok"]
        assert code_of(run.call("git_push", more=nested(depth))) == ErrorCode.INVALID_ARGUMENTS
        assert run.pipeline.ended is None
