"""The prompt: what a line means, what is completed, and what a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from runner.doors.shell.answers import Watched, show_answer
from runner.doors.shell.completion import WordCompleter
from runner.doors.shell.shell_command import Shell
from runner.doors.shell.words import SHORT, Misread, read_line
from runner.engine.fake import FakeOutcome
from tests.support.held import Holding

PATHS = ["README.md", "src", "src/app.mjs", "src/deep/x.mjs", "with space.txt"]


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("read a.md", "workspace.read_file", {"path": "a.md"}),
        ("read a.md 3 10", "workspace.read_file", {"path": "a.md", "startLine": 3, "limit": 10}),
        ("ls", "workspace.list_dir", {"path": "."}),
        ("  ls src ", "workspace.list_dir", {"path": "src"}),
        ("write a.md 'two words'", "workspace.write_file", {"path": "a.md", "content": "two words\n"}),
        ("edit a.md old 'new one'", "workspace.edit", {"path": "a.md", "oldString": "old", "newString": "new one"}),
        ("search x src/** '!*.md'", "workspace.search", {"pattern": "x", "globs": ["src/**", "!*.md"]}),
        ("run node -e 'a; $b | c'", "workspace.run_command", {"argv": ["node", "-e", "a; $b | c"]}),
        ("git log --oneline", "git", {"args": ["log", "--oneline"]}),
        ("commit one message", "workspace.git_commit", {"message": "one message"}),
        ("push", "workspace.git_push", {}),
        ("rm a.md", "workspace.delete_file", {"path": "a.md"}),
        ('workspace.read_file {"path": "a"}', "workspace.read_file", {"path": "a"}),
        ("workspace.search pattern=x regex=true maxResults=3", "workspace.search",
         {"pattern": "x", "regex": True, "maxResults": 3}),
    ],
)  # fmt: skip
def test_a_line_is_the_call_that_it_says(line: str, tool: str, arguments: dict[str, Any]) -> None:
    assert read_line(line) == (tool, arguments)


@pytest.mark.parametrize(
    "line",
    ["nonsense", "read", "read a b", "write a", "edit a b", "run", "git", "commit", "search", "rm", "read 'a",
     "workspace.read_file {", "workspace.read_file path"],
)  # fmt: skip
def test_a_line_that_is_no_call_says_how_it_would_be_one(line: str) -> None:
    with pytest.raises(Misread) as misread:
        read_line(line)
    assert str(misread.value)


def completed(line: str) -> list[str]:
    completer = WordCompleter(lambda: PATHS, [":diff", ":quit"])
    return [found.text for found in completer.get_completions(Document(line), CompleteEvent())]


def test_words_tools_paths_and_arguments_are_completed() -> None:
    assert completed(":d") == [":diff"]
    assert completed("re") == ["read"] and completed("workspace.read") == ["workspace.read_file"]
    assert completed("read ") == ["README.md", "src/", "'with space.txt'"]
    assert completed("read src/") == ["src/app.mjs", "src/deep/"]
    assert completed("run node src/d") == ["src/deep/"]
    assert completed("workspace.read_file st") == ["startLine="]
    assert completed("workspace.read_file path=src/a") == ["path=src/app.mjs"]
    assert completed("commit src/") == [] and completed("read a b") == []


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[Holding]:
    made = Holding(tmp_path)
    yield made
    made.end_all()


def test_a_session_shows_answers_refusals_and_mistakes_and_ends_with_quit(
    holding: Holding, capsys: pytest.CaptureFixture[str]
) -> None:
    run = holding.open(node=lambda _call: FakeOutcome(stdout=b"out\x1b[2J\n", stderr=b"warn\n", exit=2))
    lines = ["read README.md", "write README.md x", "run node src/app.mjs", "nope", ":nope", "", ":report", ":help"]
    lines += [":policy", "ls", "search red", ":quit", "read README.md"]
    Shell(run).work(iter(lines))
    out, err = capsys.readouterr()
    assert "# R0" in out and "refused: workspace_write_not_allowed" in out and "exit 2" in out and "warn" in out
    assert "\x1b" not in out and "out\\x1b[2J" in out
    assert "'nope' is no word" in err and "':nope' is no command" in err
    assert run.run_id in out and "read PATH" in out and "writeAllow" in out and "src/dup.txt:1: red" in out
    assert run.counts["calls"] == 5


def test_the_diff_is_the_runs_whole_patch_and_counts_as_no_call(
    holding: Holding, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = b":100644 100644 " + b"1" * 40 + b" " + b"2" * 40 + b" M\tsrc/app.mjs\n\ndiff --git a/x b/x\n+\x1b[2Jnew\n"
    holding.bench.engine.programs = {**holding.bench.engine.programs, "sh": lambda _call: FakeOutcome(stdout=patch)}
    run = holding.open()
    Shell(run).work(iter([":diff"]))
    assert "diff --git a/x b/x\n+\\x1b[2Jnew" in capsys.readouterr().out
    assert run.counts["calls"] == 0


def test_a_session_ends_when_the_run_has(holding: Holding, capsys: pytest.CaptureFixture[str]) -> None:
    run = holding.open()
    run.expire()
    Shell(run).work(iter(["ls", "ls"]))
    out, err = capsys.readouterr()
    assert out.count("run_limit_exceeded") == 1 and "has ended" in err


def test_what_an_answer_leaves_out_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = {"matches": [], "truncated": True}
    show_answer({"ok": True, "tool": "workspace.search", "result": found, "duration_ms": 1.0})
    assert "there is more" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tool", "result", "said"),
    [
        ("workspace.run_command", {"code": None, "timed_out": False, "killed_by": "caller"}, "cancelled\n"),
        ("workspace.run_command", {"code": None, "timed_out": True, "killed_by": "deadline"}, "its time limit"),
        ("workspace.run_command", {"code": None, "timed_out": False, "killed_by": "memory"}, "its memory limit"),
        ("git", {"exit": None, "timed_out": True}, "its time limit"),
        ("git", {"exit": None, "timed_out": False}, "cancelled, or ended by a limit"),
    ],
)
def test_a_program_that_did_not_end_by_itself_is_told_by_who_ended_it(
    tool: str, result: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {"stdout": "", "stderr": "", **result}
    show_answer({"ok": True, "tool": tool, "result": whole, "duration_ms": 1.0})
    assert said in capsys.readouterr().out


def test_what_a_program_writes_is_shown_as_it_comes_and_not_again(
    holding: Holding, capsys: pytest.CaptureFixture[str]
) -> None:
    run = holding.open(node=lambda _call: FakeOutcome(stdout="größer\n".encode(), exit=0))
    Shell(run).work(iter(["run node src/app.mjs"]))
    assert capsys.readouterr().out.count("größer") == 1
    seen = Watched()
    for piece in ("ä".encode()[:1], "ä".encode()[1:], b"\x1b[2J"):
        seen("stdout", piece)
    assert capsys.readouterr().out == "ä\\x1b[2J"


def test_each_short_word_is_a_tool_of_the_registry() -> None:
    assert len({word.tool for word in SHORT.values()}) == 10
