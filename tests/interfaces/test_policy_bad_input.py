"""`runner policy` given what nobody means: exit 2 and one short line, or the code that a run would answer with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from runner.audit.canonical import canonical
from runner.audit.chain import FIRST_PREV
from runner.audit.log import AuditLog
from runner.doors import cli, local_tree
from runner.doors.local_tree import LocalTree
from runner.model.errors import RunnerError
from tests.support.bad_input import CALLS, DOCUMENTS, LINES, nested

SOME = ("100,000 lines", "an anchor bomb", "lists 500,000 deep", "a key twice", "a number of 5,000 digits", "NUL bytes")
MAX_SAID = 1000  # characters of an error; the temporary folder's name is in it


def policy_command(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(cli.command_line(), ["policy", *arguments], input=stdin)


def refused_with_2(result: Result) -> None:
    """As `main` would end: a known error, told in one short line, or lint's own exit."""
    if isinstance(result.exception, RunnerError):
        assert int(result.exception.exit_code) == 2
        assert len(result.exception.message) < MAX_SAID and "\n" not in result.exception.message
    else:
        assert result.exit_code == 2 and isinstance(result.exception, SystemExit)


@pytest.fixture
def bad(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    path = tmp_path / "bad.yml"
    path.write_bytes(DOCUMENTS[request.param])
    return str(path)


@pytest.mark.parametrize("bad", SOME, indirect=True)
def test_a_policy_that_nobody_means_is_refused_by_every_verb(bad: str, tmp_path: Path) -> None:
    call = '{"tool": "git", "arguments": {"args": "status"}}'
    log = tmp_path / "audit.jsonl"
    AuditLog(log, "run1", lambda: "now").close()
    for arguments in (
        ("lint", bad),
        ("lint", bad, "-o", "json"),
        ("test", bad),
        ("test", "default", "--examples", bad),
        ("explain", call, "--policy", bad),
        ("show", bad),
        ("diff", bad, "default"),
        ("diff", "default", bad),
        ("replay", "--policy", bad, str(log)),
    ):
        refused_with_2(policy_command(*arguments))


@pytest.mark.parametrize("flaw", CALLS)
def test_a_call_that_nobody_means_is_explained_with_the_code_of_a_run(flaw: str) -> None:
    bad = CALLS[flaw]
    result = policy_command("explain", "-", "--policy", "default", "-o", "json", stdin=bad.line)
    if isinstance(result.exception, RunnerError):  # a line that is no call is the user's to mend
        assert bad.code == "invalid_arguments"
        refused_with_2(result)
        return
    told = json.loads(result.stdout)
    assert told["code"] == bad.code or bad.code == "search_pattern_invalid", told  # a pattern is the searcher's to read
    assert len(result.stdout) < 10_000


@pytest.mark.parametrize("flaw", LINES)
def test_a_line_that_nobody_means_is_not_explained(flaw: str) -> None:
    refused_with_2(policy_command("explain", "-", stdin=LINES[flaw]))


@pytest.mark.parametrize(
    "fact",
    ["=existed", "a\0b=existed", "a/" * 5000 + "x=existed", "x" * 100_000, "a=existed=", "../x=existed", "\udcff=link"],
)
def test_a_fact_that_nobody_means_is_refused(fact: str) -> None:
    call = '{"tool": "workspace.write_file", "arguments": {"path": "a", "content": ""}}'
    refused_with_2(policy_command("explain", call, "--fact", fact))


LOGS: dict[str, bytes] = {
    "no JSON": b"x\n",
    "NUL bytes": b"\0" * 1000,
    "100,000 lists in each other": b"[" * 100_000 + b"]" * 100_000,
    "a million digits": b"9" * 1_000_000,
    "a number": b"7\n",
    "bytes that are no text": b'{"a": "\xff"}\n',
    "no chain": canonical({"seq": 1, "prev": FIRST_PREV, "hash": "0" * 64}) + b"\n",
}


@pytest.mark.parametrize("flaw", LOGS)
def test_a_log_that_nobody_wrote_is_refused_by_replay_and_diff(flaw: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(LOGS[flaw])
    refused_with_2(policy_command("replay", "--policy", "default", str(path)))
    refused_with_2(policy_command("diff", "default", "read-only", "--audit", str(path)))


@pytest.mark.parametrize("data", [{"seq": 1, "tool": "git", "deep": nested(60)}, {"seq": 10**30, "tool": "git"}])
def test_a_log_with_a_whole_chain_is_still_read_with_bounds(data: dict[str, Any], tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", "run1", lambda: "now")
    log.append("call.started", data)
    log.close()
    refused_with_2(policy_command("replay", "--policy", "default", str(log.path)))


def test_a_pipe_is_no_policy_no_examples_and_no_log(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yml"
    os.mkfifo(pipe)
    for arguments in (
        ("lint", str(pipe)),
        ("show", str(pipe)),
        ("test", "default", "--examples", str(pipe)),
        ("replay", "--policy", "default", str(pipe)),
    ):
        refused_with_2(policy_command(*arguments))


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A tree of 400 folders in each other, with a link back to the top at its end."""
    top = tmp_path / "deep"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.symlink("/workspace/" + "a/" * 400 + "again", "again", dir_fd=here)
    os.close(here)
    yield top


def test_each_folder_of_a_deep_path_is_opened_once(deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, opened, real = LocalTree(deep), 0, os.open
    monkeypatch.setattr(local_tree, "_MAX_OPENED", 1000)  # a link at the end of 400 folders, 40 times, would be 16,000

    def counted(*arguments: Any, **keys: Any) -> int:
        nonlocal opened
        opened += 1
        return real(*arguments, **keys)

    monkeypatch.setattr(os, "open", counted)
    try:
        assert tree.place("a/" * 400 + "x").real_path == "a/" * 400 + "x"
        assert opened <= 401
        opened = 0
        assert tree.place("a/" * 400 + "again/x").real_path is None
        assert opened <= 1500
        opened = 0
        tree.place("a/" * 400 + "../" * 300 + "x")
        assert opened <= 1500
    finally:
        tree.close()


def test_a_deep_tree_is_explained_and_stays_as_it_is(deep: Path) -> None:
    path = "a/" * 400 + "x"
    call = json.dumps({"tool": "workspace.write_file", "arguments": {"path": path, "content": ""}})
    result = policy_command("explain", "-", "--repo", str(deep), "-o", "json", stdin=call)
    assert json.loads(result.stdout)["allowed"]
    assert [entry.name for entry in deep.iterdir()] == ["a"]
