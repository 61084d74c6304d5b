"""The command line as a user meets it: help with examples, one line for each mistake, and its exit code."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.controller.places import Places
from runner.controller.records import StateFolder
from runner.doors import cli
from runner.doors.tool_pages import ToolFormat, markdown_page, tool_schemas
from runner.model.errors import ExitCode, QueueLeft
from runner.model.version import VERSION
from runner.store import database
from runner.tools.registry import TOOLS
from tests.support.docker_daemon import Daemon, daemon

GROUPS = {"audit", "image", "policy", "token"}
VERBS = [(late.name,) for late in cli.COMMANDS if late.name not in GROUPS]
TOKEN_VERBS = [("token", verb) for verb in ("create", "ls", "revoke")]
IMAGE_VERBS = [("image", verb) for verb in ("build", "ls", "verify", "rm")]


@pytest.fixture
def command() -> CliRunner:
    return CliRunner()


def begun_runs(tmp_path: Path) -> list[Path]:
    """The runs that were begun."""
    return list((tmp_path / "runner-state" / "runs").glob("*"))


class Ended:
    """How the program ended, in this process: `main` and all, without a new interpreter."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`runner ARGUMENTS`; signal handlers are put back."""

    def run(*arguments: str) -> Ended:
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        monkeypatch.setattr(sys, "argv", ["runner", *arguments])
        try:
            with pytest.raises(SystemExit) as ended:
                cli.main()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing answers at the engine's address."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/dead.sock")
    yield
    with warnings.catch_warnings():  # the SDK leaves the socket of a failed attempt to the collector
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


# --- help


@pytest.mark.parametrize("verb", [*VERBS, *IMAGE_VERBS, *TOKEN_VERBS], ids=" ".join)
def test_the_help_of_each_verb_shows_an_example_of_that_verb(command: CliRunner, verb: tuple[str, ...]) -> None:
    shown = command.invoke(cli.command_line(), [*verb, "--help"])
    assert shown.exit_code == 0
    assert f"Example: runner {' '.join(verb)}" in " ".join(shown.output.split())


def test_the_list_of_verbs_is_whole(command: CliRunner) -> None:
    shown = command.invoke(cli.command_line(""), ["--help"]).output
    assert all(f"  {late.name} " in shown and late.summary in shown for late in cli.COMMANDS)


def test_only_the_verb_that_is_called_is_loaded() -> None:
    """A call of a tool must not wait for what a server or an image needs."""
    loaded = "import runner.doors.cli as c, sys; c.command_line('call'); print(*sys.modules)"
    asked = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert not {"fastapi", "sqlalchemy", "mcp", "runner.doors.doctor"} & set(asked.stdout.split())


def test_a_verb_whose_extra_is_missing_names_it(runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "runner.doors.http.serve_command", raising=False)
    ended = runner("serve")
    assert ended.code == ExitCode.USAGE and "FILE.whl[server]" in ended.err


def completions(runner: Any, monkeypatch: pytest.MonkeyPatch, shell: str, line: str) -> str:
    """What the shell is told when Tab is pressed at the end of the line."""
    monkeypatch.setenv("_RUNNER_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)  # zsh and fish
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setenv("COMP_WORDS", line)  # bash
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    return str(runner().out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered"), [("runner aud", "audit"), ("runner audit ver", "verify"), ("runner run --pol", "--policy")]
)
def test_a_shell_completes_verbs_and_options_of_commands_that_are_loaded_late(
    runner: Any, monkeypatch: pytest.MonkeyPatch, shell: str, line: str, offered: str
) -> None:
    assert offered in completions(runner, monkeypatch, shell, line)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("runner show aa", "aa11"),
        ("runner call bb", "bb22"),
        ("runner call bb22 workspace.rea", "workspace.read_file"),
        ("runner run --policy no", "node-app"),
    ],
)
def test_a_shell_completes_runs_tools_and_presets(
    runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, offered: str
) -> None:
    assert completions(runner, monkeypatch, "bash", "runner show aa").split() == []  # no folder is made by asking
    StateFolder(tmp_path / "runner-state").begin("aa11").release()
    (tmp_path / "runner-state" / "held").mkdir()
    for name in ("bb22.sock", ".cc33.new"):
        (tmp_path / "runner-state" / "held" / name).touch()
    assert completions(runner, monkeypatch, "bash", line).split() == [offered]


def test_a_missing_extra_does_not_end_completion(runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "runner.doors.http.serve_command", raising=False)
    assert {"serve", "show"} <= set(completions(runner, monkeypatch, "bash", "runner s").split())


def test_without_a_verb_the_help_is_shown_and_it_is_a_usage_error(command: CliRunner) -> None:
    shown = command.invoke(cli.command_line(), [])
    assert shown.exit_code == ExitCode.USAGE and "Usage" in shown.output


# --- mistakes: exit 2, nothing started


REPO, CALLS = ("--repo", "{folder}"), ("--calls", "{folder}/calls.jsonl")
MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "a misspelt key of the policy": ((*REPO, *CALLS, "--policy", "{folder}/misspelt.yml"), "writeAllow"),
    "a policy that is not there": ((*REPO, *CALLS, "--policy", "{folder}/absent.yml"), "absent.yml"),
    "a preset that is not there": ((*REPO, *CALLS, "--policy", "defualt"), "default"),
    "a narrowing that is not there": ((*REPO, *CALLS, "--narrow", "{folder}/absent.yml"), "absent.yml"),
    "a narrowing that widens": ((*REPO, *CALLS, "--narrow", "{folder}/wider.yml"), "wider.yml:2: field `limits.pids`"),
    "a second narrowing that widens the first": (
        (*REPO, *CALLS, "--narrow", "{folder}/narrow.yml", "--narrow", "{folder}/less.yml"),
        "less.yml:1: field `limits.pids`",
    ),
    "a spec with a narrowing that widens": (
        (*CALLS, "--spec", "{folder}/narrows.yml"),
        "wider.yml:2: field `limits.pids`",
    ),
    "a calls file that is not there": ((*REPO, "--calls", "{folder}/absent.jsonl"), "absent.jsonl"),
    "a folder as calls file": ((*REPO, "--calls", "{folder}"), "cannot be read"),
    "a spec that is not there": ((*REPO, *CALLS, "--spec", "{folder}/absent.yml"), "absent.yml"),
    "a spec with an unknown tool": ((*REPO, *CALLS, "--spec", "{folder}/tools.yml"), "workspace.reed_file"),
    "a spec with an unknown key": ((*REPO, *CALLS, "--spec", "{folder}/misspelt.yml"), "writeAlow"),
    "no repository": (CALLS, "--repo"),
    "no repository in the spec either": ((*CALLS, "--spec", "{folder}/bare.yml"), "--repo"),
    "an out folder that is a file": ((*REPO, *CALLS, "--out", "{folder}/calls.jsonl"), "--out"),
    "no calls": (REPO, "--calls"),
    "an unknown option": ((*REPO, *CALLS, "--polcy", "default"), "--polcy"),
}


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize(("arguments", "named"), MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_is_named_exits_2_and_starts_nothing(
    runner: Any, tmp_path: Path, arguments: tuple[str, ...], named: str
) -> None:
    (tmp_path / "calls.jsonl").write_text("")
    (tmp_path / "misspelt.yml").write_text("writeAlow: [src/**]\n")
    (tmp_path / "tools.yml").write_text("tools: [workspace.reed_file]\n")
    (tmp_path / "bare.yml").write_text("ref: main\n")
    (tmp_path / "wider.yml").write_text("limits:\n  pids: 5000\n")
    (tmp_path / "narrow.yml").write_text("limits: {pids: 50}\n")
    (tmp_path / "less.yml").write_text("limits: {pids: 51}\n")
    (tmp_path / "narrows.yml").write_text(f"repo: {tmp_path}\nnarrow: [{tmp_path}/wider.yml]\n")
    ended = runner("run", *(argument.format(folder=tmp_path) for argument in arguments))
    assert (ended.code, ended.out) == (ExitCode.USAGE, "")
    assert named in ended.err and "Traceback" not in ended.err
    assert begun_runs(tmp_path) == []


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("verb", ["open", "shell", "mcp"])
def test_no_command_opens_a_run_under_what_would_widen_its_policy(runner: Any, tmp_path: Path, verb: str) -> None:
    (tmp_path / "wider.yml").write_text("limits:\n  pids: 5000\n")
    ended = runner(verb, "--repo", str(tmp_path), "--narrow", str(tmp_path / "wider.yml"))
    assert (ended.code, ended.out) == (ExitCode.USAGE, "")
    assert "wider.yml:2: field `limits.pids`" in ended.err
    assert begun_runs(tmp_path) == []


@pytest.mark.parametrize("arguments", [("frobnicate",), ("ps", "-o", "xml"), ("tools", "--format", "yaml")])
def test_a_word_that_the_program_does_not_know_is_a_usage_error(runner: Any, arguments: tuple[str, ...]) -> None:
    ended = runner(*arguments)
    assert ended.code == ExitCode.USAGE and arguments[-1] in ended.err


@pytest.mark.usefixtures("no_engine")
def test_a_state_folder_that_cannot_be_used_is_a_usage_error(
    runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RUNNER_STATE_DIR", str(tmp_path / "file" / "state"))
    ended = runner("ps")
    assert ended.code == ExitCode.USAGE and "RUNNER_STATE_DIR" in ended.err


# --- no engine: exit 3


@pytest.mark.usefixtures("no_engine")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK's socket of a failed attempt
@pytest.mark.parametrize(
    "arguments",
    [
        ("ps",),
        ("ps", "-o", "json"),
        ("gc",),
        ("gc", "--dry-run"),
        ("run", "--repo", ".", "--calls", os.devnull),
        ("image", "ls"),
    ],
    ids=" ".join,
)
def test_an_engine_that_is_down_exits_3_with_one_line_that_names_the_mend(
    runner: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ended = runner(*arguments)
    assert (ended.code, ended.out) == (ExitCode.ENGINE, "")
    assert len(ended.err.splitlines()) == 1 and ended.err.startswith("runner: ") and "DOCKER_HOST" in ended.err
    assert begun_runs(tmp_path) == []


# --- what needs no engine


def test_the_version_is_printed(runner: Any) -> None:
    ended = runner("version")
    assert (ended.code, ended.out, ended.err) == (0, f"runner {VERSION}\n", "")


@pytest.mark.parametrize("form", ["json", "openai", "anthropic", "mcp"])
def test_tools_for_programs_are_one_line_of_json(runner: Any, form: str) -> None:
    ended = runner("tools", "--format", form)
    assert (ended.code, ended.out.count("\n")) == (0, 1)
    assert json.loads(ended.out) == tool_schemas(ToolFormat(form))


def test_tools_for_people_are_a_table_or_the_reference_page(runner: Any) -> None:
    table = runner("tools").out
    assert all(name in table for name in TOOLS) and "startLine?" in table and "\x1b" not in table
    assert runner("tools", "--format", "markdown").out == markdown_page()


# --- with an engine that answers


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Daemon]:
    """An engine that holds one object of another controller, long over its deadline, and one that is still young."""
    with daemon(tmp_path) as made:
        monkeypatch.setenv("DOCKER_HOST", made.environment["DOCKER_HOST"])
        old = {"runner.run": "r-old", "runner.controller": "other", "runner.deadline": "1000"}
        young = {"runner.run": "r-young", "runner.controller": "other", "runner.deadline": "99999999999"}
        made.answer(
            "GET /containers/json",
            (200, [container("c1", "exited\x1b[2J", old), container("c2", "running", young)]),
        )
        made.answer("GET /volumes", (200, {"Volumes": []}))
        made.answer("GET /networks", (200, []))
        made.answer("DELETE /containers/c1", (204, None))
        yield made


def container(identity: str, status: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"Id": identity, "Names": [f"/runner-{identity}"], "State": status, "Labels": labels}


@pytest.mark.usefixtures("engine")
def test_ps_lists_what_is_there_and_says_what_is_an_orphan(runner: Any) -> None:
    rows = json.loads(runner("ps", "-o", "json").out)
    assert [(row["run"], row["orphan"]) for row in rows] == [("r-old", True), ("r-young", False)]
    assert rows[0]["deadline"] == "1970-01-01T00:16:40+00:00"
    assert [json.loads(line) for line in runner("ps", "-o", "jsonl").out.splitlines()] == rows
    table = runner("ps").out
    assert "\x1b" not in table and "\\x1b[2J" in table


@pytest.mark.usefixtures("engine")
def test_ps_shows_who_waits_for_a_place(runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RUNNER_MAX_RUNS", "1")
    said: list[str] = []
    places = Places(StateFolder(tmp_path / "runner-state").path / "places", 0, 0, time.monotonic)
    with places.taken("file:///a", said.append), places.taken("file:///b", said.append, run_id="cc33"):
        last = json.loads(runner("ps", "-o", "json").out)[-1]
        shown = json.loads(runner("show", "cc", "-o", "json").out)
    assert (last["run"], last["kind"], last["state"]) == ("cc33", "queue", "waits, 1 of 1")
    assert shown["status"] == "waits for a place" and shown["repository"] == last["repository"] == "file:///b"
    assert "no run 'cc'" in runner("show", "cc").err


def test_a_run_that_waits_for_a_place_is_taken_out_of_the_queue_by_its_name(runner: Any, tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "runner-state").path / "places"
    waits = threading.Event()

    def wait() -> None:
        with Places(folder, 1, 60, time.monotonic).taken("b", lambda _line: waits.set(), run_id="cc33"):
            raise AssertionError("it had a place")

    with Places(folder, 1, 0, time.monotonic).taken("a", lambda _line: None), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        assert waits.wait(60)
        ended = runner("kill", "cc33")
        with pytest.raises(QueueLeft):
            waiting.result(60)
    assert ended.code == 0 and "it waited for a place" in ended.err


def test_a_database_that_another_program_holds_locked_exits_3_with_the_mend(
    runner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_MILLISECONDS", 1)
    asked = ("token", "create", "--tenant", "a", "--repo", "*")
    assert runner(*asked).code == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "runner-state" / "server.sqlite3")) as other:
        other.execute("BEGIN IMMEDIATE")
        ended = runner(*asked)
    assert ended.code == ExitCode.ENGINE and "hold it locked" in ended.err


def test_the_version_is_told_as_an_option_and_as_data(runner: Any) -> None:
    assert runner("--version").out == runner("version").out == f"runner {VERSION}\n"
    for form in ("json", "jsonl"):
        told = json.loads(runner("version", "-o", form).out)
        assert (told if form == "jsonl" else told[0]) == {"version": VERSION}


def test_tools_are_told_a_line_each(runner: Any) -> None:
    lines = [json.loads(line) for line in runner("tools", "-o", "jsonl").out.splitlines()]
    assert lines == tool_schemas(ToolFormat.JSON) == tool_schemas(ToolFormat.JSONL)


LIMIT = {"code": "run_limit_exceeded", "message": "the run used up its 9 s", "hint": "Raise it."}
OVER = {
    "closed": ({"status": "completed", "exit_code": 0, "ended": None}, "run_ended", "The run has ended. Open"),
    "at its limit": ({"status": "failed", "exit_code": 5, "ended": LIMIT}, "run_limit_exceeded", "used up its 9 s"),
    "lost": (None, "run_ended", "its controller was killed"),
}


@pytest.mark.parametrize("how", OVER)
def test_a_call_after_the_end_of_a_held_run_is_told_its_cause(runner: Any, tmp_path: Path, how: str) -> None:
    report, code, said = OVER[how]
    record = StateFolder(tmp_path / "runner-state").begin("bb22")
    record.note("run.json", {"run": "bb22"})
    if report is not None:
        record.note("report.json", report)
    record.release()
    ended = runner("call", "bb", "git", "{}")
    answer = json.loads(ended.out)
    assert (ended.code, answer["ok"], answer["error"]["code"]) == (0, False, code)
    assert said in answer["error"]["message"] and answer["error"]["details"] == {"lost": how == "lost"}


def test_a_call_to_a_run_that_never_was_is_a_mistake_of_the_command_line(runner: Any) -> None:
    ended = runner("call", "nosuch", "git", "{}")
    assert ended.code == ExitCode.USAGE and "no held run is called 'nosuch'" in ended.err


def test_a_run_whose_controller_was_killed_is_lost(runner: Any, tmp_path: Path) -> None:
    record = StateFolder(tmp_path / "runner-state").begin("bb22")
    record.note("run.json", {"run": "bb22"})
    record.release()
    assert json.loads(runner("show", "bb22", "-o", "json").out)["status"] == "lost"
    assert "Its controller was killed" in runner("show", "bb22").out


@pytest.mark.usefixtures("engine")
def test_ps_with_all_names_runs_that_ended_and_how(runner: Any, tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "runner-state")
    for name, status in (("aa11", "completed"), ("bb22", None)):
        record = state.begin(name)
        record.note("run.json", {"run": name, "repository": f"file:///{name}"})
        if status is not None:
            record.note("report.json", {"status": status})
        record.release()
    alive = state.begin("cc33")
    alive.note("run.json", {"run": "cc33", "repository": "file:///cc33"})
    rows = [row for row in json.loads(runner("ps", "--all", "-o", "json").out) if row["kind"] == "record"]
    alive.release()
    assert {(row["run"], row["state"], row["repository"]) for row in rows} == {
        ("aa11", "completed", "file:///aa11"),
        ("bb22", "lost", "file:///bb22"),
    }
    assert not any(row["kind"] == "record" for row in json.loads(runner("ps", "-o", "json").out))


def test_gc_removes_orphans_alone_and_a_dry_run_removes_nothing(runner: Any, engine: Daemon) -> None:
    dry = runner("gc", "--dry-run", "-o", "json")
    assert [row["run"] for row in json.loads(dry.out)] == ["r-old"]
    assert not any(request.startswith("DELETE") for request in engine.asked)
    assert [row["run"] for row in json.loads(runner("gc", "-o", "json").out)] == ["r-old"]
    assert [request for request in engine.asked if request.startswith("DELETE")] == ["DELETE /containers/c1"]


def test_gc_that_could_not_remove_one_says_which_and_exits_3(runner: Any, engine: Daemon) -> None:
    engine.answer("DELETE /containers/c1", (500, {"message": "device busy"}))
    ended = runner("gc", "-o", "json")
    assert ended.code == ExitCode.ENGINE and "runner-c1" in ended.err and json.loads(ended.out) == []


def test_an_image_that_is_not_there_exits_3_and_leaves_a_record_of_the_failed_run(
    runner: Any, engine: Daemon, tmp_path: Path
) -> None:
    ended = runner("run", "--repo", str(tmp_path), "--calls", os.devnull)
    assert ended.code == ExitCode.ENGINE and "runner image build" in ended.err
    (run,) = begun_runs(tmp_path)
    report = json.loads((run / "report.json").read_text())
    assert (report["status"], report["exit_code"], report["ended"]["code"]) == ("failed", 3, "image_missing")
    assert not any(request.startswith("POST") for request in engine.asked)


# --- signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_with_130(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as listening, contextlib.ExitStack() as stack:
        listening.bind(str(path))
        listening.listen()
        program = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "runner.doors.cli", "ps"],
                env={**os.environ, "DOCKER_HOST": f"unix://{path}"},
                stderr=subprocess.PIPE,
            )
        )
        asking, _ = listening.accept()  # it waits for the engine's answer now
        with asking:
            assert asking.recv(1) == b"G"
            program.send_signal(number)
            assert program.wait(timeout=60) == ExitCode.INTERRUPTED
        assert program.stderr is not None and b"Traceback" not in program.stderr.read()
