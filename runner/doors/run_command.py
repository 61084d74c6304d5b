"""`runner run`: one whole run from a calls file, answers as JSON Lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from runner.app import compose
from runner.controller.run import Run, open_run
from runner.controller.spec import MAX_DEPTH, RunRequest, SpecFile, read_spec
from runner.doors import render
from runner.doors.asking import DEFAULT_POLICY, request_of
from runner.doors.calls import Call, bounded_lines, parse_calls
from runner.doors.completions import policy_names
from runner.doors.narrow_option import Narrow
from runner.model.errors import ExitCode, UsageError
from runner.settings import Settings

__all__ = ["run"]


def run(
    repo: Annotated[
        str | None,
        typer.Option("--repo", help="Address (https, file://) or path of a repository; a local one is not modified."),
    ] = None,
    ref: Annotated[str | None, typer.Option("--ref", help="Branch, tag or commit; the default branch if left out.")] = (
        None
    ),
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth", min=1, max=MAX_DEPTH, help="Commits of each branch for the workspace; all if left out."
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", help=f"Policy file, or the name of a preset [{DEFAULT_POLICY}].", autocompletion=policy_names
        ),
    ] = None,
    narrow: Narrow = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", help="YAML with repo, ref, depth, policy, narrow, tools.")
    ] = None,
    calls: Annotated[str, typer.Option("--calls", help="Calls as JSON Lines; - reads standard input.")] = ...,  # type: ignore[assignment]  # typer's way of saying "required"
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for report.html, report.json, audit.jsonl, changes.patch …")
    ] = None,
) -> None:
    """Fetch a repository, open it in a fresh container, carry out calls in order, report, tear down.

    Answers are JSON Lines on standard output. Exit codes: 0 completed (tool errors are data), 2 usage or policy,
    3 engine, image or no place, 4 repository or set-up, 5 ended by a limit, 6 posture proof failed, 130 interrupted.

    Example: runner run --repo . --policy node-app --calls calls.jsonl --out out
    """
    request = _request(repo, ref, depth, policy, narrow, spec, out)
    try:
        opened = _carry_out(request, calls)
    except KeyboardInterrupt:
        render.error_line("interrupted; the run was torn down.")
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    code = opened.exit_code
    if code is not ExitCode.COMPLETED:
        render.error_line(f"the run ended early: {opened.ended_because}")
    raise SystemExit(int(code))


def _carry_out(request: RunRequest, calls: str) -> Run:
    """The run, ended: every call answered on standard output."""
    with _calls_source(calls) as lines, compose(Settings.from_environment()) as host:
        with open_run(host, request, render.progress) as opened:
            for seq, call in enumerate(parse_calls(bounded_lines(lines)), start=1):
                render.json_line(_answer(opened, seq, call))
            opened.completed()
        return opened


def _request(
    repo: str | None,
    ref: str | None,
    depth: int | None,
    policy: str | None,
    narrow: list[str] | None,
    spec: Path | None,
    out: Path | None,
) -> RunRequest:
    said = SpecFile() if spec is None else read_spec(spec)
    return request_of(
        repo or said.repo,
        ref=ref or said.ref,
        depth=depth or said.depth,
        policy=policy or said.policy or DEFAULT_POLICY,
        narrow=[*(said.narrow or ()), *(narrow or ())],  # an option is no way out of what the spec takes away
        tools=said.tools,
        out=out,
    )


@contextmanager
def _calls_source(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = Path(name).open("rb")
    except OSError as error:
        hint = "Name a JSON Lines file, or - for standard input."
        raise UsageError(f"the calls file {name} cannot be read: {error.strerror}", hint=hint) from error
    with stream:
        yield stream


def _answer(opened: Run, seq: int, call: Call) -> dict[str, Any]:
    started = time.monotonic()
    answer = opened.refuse(call.tool, call.error) if call.error else opened.call(call.tool, call.arguments)
    milliseconds = round((time.monotonic() - started) * 1000, 3)
    return {"id": call.id, "seq": seq, "tool": call.tool, **answer, "duration_ms": milliseconds}
