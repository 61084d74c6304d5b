"""`runner open`, `call`, `close`: a run that stays open between commands."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import typer

from runner.controller.held import after_end
from runner.controller.records import LOST, StateFolder
from runner.controller.spec import MAX_DEPTH, SpecFile, read_spec
from runner.doors import render
from runner.doors.asking import DEFAULT_POLICY, request_of
from runner.doors.completions import held_names, policy_names, tool_names
from runner.doors.holding.wire import NotHeld, connect, read_message, send_message
from runner.doors.narrow_option import Narrow
from runner.model.errors import ExitCode, RunnerError, UsageError
from runner.policy.strict_json import read_json
from runner.settings import Settings

__all__ = ["call", "close", "end_held", "open_command"]

Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="As `runner open` printed it, or enough of its beginning.", autocompletion=held_names
    ),
]


def open_command(
    repo: Annotated[str | None, typer.Option("--repo", help="Address or path, as `runner run --repo`.")] = None,
    ref: Annotated[str | None, typer.Option("--ref", help="Branch, tag or commit.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", min=1, max=MAX_DEPTH, help="Commits of each branch.")] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help=f"Policy file or preset [{DEFAULT_POLICY}].", autocompletion=policy_names),
    ] = None,
    narrow: Narrow = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", help="YAML with repo, ref, depth, policy, narrow, tools.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder that receives the record at its end.")] = None,
) -> None:
    """Open a run that stays open between commands, and print its name.

    A process in the background holds it until `runner close`, or until the policy's limits.runSeconds.

    Example: runner open --repo . --policy node-app
    """
    said = SpecFile() if spec is None else read_spec(spec)
    asked: dict[str, Any] = {
        "repo": repo or said.repo,
        "ref": ref or said.ref,
        "depth": depth or said.depth,
        "policy": policy or said.policy or DEFAULT_POLICY,
        "narrow": [*(said.narrow or ()), *(narrow or ())],
        "tools": said.tools,
        "out": None if out is None else os.path.abspath(out),  # noqa: PTH100 - `resolve` would follow links
    }
    request_of(**asked)  # what is wrong with it is told before anything is started
    opened = _start(asked)
    left = int(opened["seconds_left"])
    render.progress(f"open for {left} s; `runner call {opened['run']} TOOL JSON`, `runner close {opened['run']}`")
    render.line(opened["run"])


def call(
    run: Run,
    tool: Annotated[
        str, typer.Argument(metavar="TOOL", help="As `runner tools` lists them.", autocompletion=tool_names)
    ],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Its arguments; - reads standard input.")] = "{}",
    watch: Annotated[bool, typer.Option("--watch", help="Show output on standard error as it comes.")] = False,
) -> None:
    """Call a tool in an open run and print the answer, one line of JSON. A refusal is an answer: the exit code is 0.

    Ctrl-C cancels the call; the run stays open.

    Example: runner call 1f2e workspace.read_file '{"path": "README.md"}'
    """
    text = sys.stdin.buffer.read() if arguments == "-" else os.fsencode(arguments)
    try:
        given = read_json(text)
    except ValueError as error:
        raise UsageError(f"the arguments cannot be read: {error}", hint="Give one JSON object.") from None
    key = secrets.token_hex(8)
    try:
        message = _ask(run, {"op": "call", "tool": tool, "arguments": given, "key": key, "watch": watch})
    except NotHeld:
        answer = _after_its_end(run)
        if answer is None:
            raise
        message = {"answer": {"seq": None, "tool": tool, **answer, "duration_ms": 0.0}}
    except KeyboardInterrupt:
        with suppress(RunnerError):
            _ask(run, {"op": "cancel", "key": key})
        render.error_line("the call was cancelled; the run is still open.")
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    render.json_line(message["answer"])


def close(run: Run) -> None:
    """End an open run: torn down, verified, reported and sealed. The exit code is the run's, as of `runner run`.

    Example: runner close 1f2e
    """
    raise SystemExit(end_held(run, interrupt=False))


def end_held(run: str, *, interrupt: bool) -> int:
    """The exit code of a held run, which has ended. Raises UsageError when no such run is held."""
    message = _ask(run, {"op": "interrupt" if interrupt else "close"})
    if "error" in message:
        error = message["error"]
        render.error_line(f"{error['message']}.", error["hint"])
        return int(error["exit_code"])
    ending = message["ending"]
    render.progress(f"{ending['run_id']} {ending['status']}; report in {ending['out'] or ending['folder']}")
    if ending["because"]:
        render.error_line(f"the run ended early: {ending['because']}")
    return int(ending["exit_code"])


def _after_its_end(run: str) -> dict[str, Any] | None:
    """The answer of a call to a run that is not held any more, as its record has its end; None where there is none."""
    state = StateFolder(Settings.from_environment().state_dir)
    names = [name for name, _facts in state.runs() if run and name.startswith(run)]
    if len(names) != 1 or state.alive(names[0]):
        return None
    try:
        report = json.loads((state.path / "runs" / names[0] / "report.json").read_text(encoding="utf-8"))
        ended = report["ended"] or {}
        because = " ".join(filter(None, (f"{ended['message']}." if ended else "", ended.get("hint"))))
        return after_end(str(report["status"]), int(report["exit_code"]), because)
    except (OSError, ValueError, KeyError, TypeError):
        return after_end(LOST, ExitCode.LIMIT, "its controller was killed. Its log is kept as far as it goes.")


def _start(asked: dict[str, Any]) -> dict[str, Any]:
    """The holder's word that the run is open."""
    holder = subprocess.Popen(
        [sys.executable, "-I", "-m", "runner.doors.holding.holder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        with cast(BinaryIO, holder.stdin) as stdin:
            stdin.write(json.dumps(asked).encode("ascii"))
        with cast(BinaryIO, holder.stdout) as words:
            while (message := read_message(words)) is not None:
                if "progress" in message:
                    render.progress(message["progress"])
                elif "opened" in message:
                    return cast(dict[str, Any], message["opened"])
                else:
                    raise _raised(message["error"])
    except KeyboardInterrupt:
        holder.terminate()
        holder.wait()
        raise
    raise RunnerError("the process that was to hold the run ended", hint="Try `runner run`, which tells more.")


def _raised(error: dict[str, Any]) -> RunnerError:
    made = RunnerError(error["message"], hint=error["hint"], code=error["code"])
    made.exit_code = ExitCode(error["exit_code"])
    return made


def _ask(run: str, message: dict[str, Any]) -> dict[str, Any]:
    """The holder's last word on one message."""
    state = StateFolder(Settings.from_environment().state_dir)
    with connect(state.path, run) as connection, connection.makefile("rwb") as stream:
        send_message(stream, **message)
        connection.shutdown(socket.SHUT_WR)
        while (word := read_message(stream)) is not None:
            if "output" not in word:
                return word
            render.output(base64.b64decode(word["output"]["data"]))
    raise RunnerError("the holder of the run ended", hint="`runner ps` shows what there is; the record is kept.")
