"""`runner policy replay` and `diff`: recorded runs under another policy, and what two policies disagree about.

Both end with 1 when something differs, as diff(1) does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from runner.audit.chain import verify_chain
from runner.doors import render
from runner.doors.asking import loaded_policy
from runner.doors.narrow_option import Narrow
from runner.doors.policy_calls import ground_of
from runner.doors.recorded import audit_file
from runner.model.errors import UsageError
from runner.policy.effective import differing_keys
from runner.policy.load import LoadedPolicy
from runner.policy.replay import RecordedCall, Rejudged, recorded_calls, rejudge_run
from runner.policy.strict_json import read_json
from runner.settings import Settings

__all__ = ["diff", "replay"]

DIFFERS = 1
_SHOWN = 200  # characters of a path or a command line in a table
_COLUMNS = ("run", "seq", "tool", "about", "recorded", "would", "rule", "reason")

Output = Annotated[Literal["table", "json", "jsonl"], typer.Option("-o", "--output", help="How to print it.")]


def replay(
    runs: Annotated[list[str], typer.Argument(metavar="RUN|AUDIT...", help="Ids of runs, or files of audit.jsonl.")],
    policy: Annotated[str, typer.Option("--policy", help="The policy to judge by: a file, or a preset's name.")],
    narrow: Narrow = None,
    output: Output = "table",
) -> None:
    """List the calls of earlier runs that another policy would have answered otherwise; exit 1 when there are any.

    A call whose facts were not recorded is listed as undecidable, never guessed.

    Example: runner policy replay --policy read-only out/audit.jsonl
    """
    loaded = loaded_policy(policy, narrow)
    rows: list[dict[str, Any]] = []
    for name in runs:
        for judged in rejudge_run(loaded.policy, _calls(name), ground_of):
            if judged.differs or judged.would is None:
                rows.append(_row(name, judged))
    differing = sum(row["would"] is not None for row in rows)
    _print(rows, _COLUMNS if len(runs) > 1 else _COLUMNS[1:], output)
    render.progress(f"{differing} call(s) would differ, {len(rows) - differing} cannot be decided")
    if differing:
        raise typer.Exit(DIFFERS)


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A policy file, or the name of a preset.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    narrow: Annotated[
        list[str] | None, typer.Option("--narrow", metavar="FILE", help="A file that takes away from B; repeatable.")
    ] = None,
    run: Annotated[
        list[str] | None, typer.Option("--run", "--audit", help="A recorded run, by id or file; repeatable.")
    ] = None,
    output: Output = "table",
) -> None:
    """List the keys in which two policies differ, and the recorded calls that they judge differently; exit 1 then.

    With --narrow, B is narrowed first: `diff A A --narrow FILE` is what the file takes away.

    Example: runner policy diff default read-only --audit out/audit.jsonl
    """
    one, other = loaded_policy(first), loaded_policy(second, narrow)
    keys = [{"key": key, "a": a, "b": b} for key, a, b in differing_keys(one.policy, other.policy)]
    calls = [row for name in run or [] for row in _disagreements(one, other, name)]
    if output == "table":
        render.table(("key", "only in A", "only in B"), [_key_cells(row["key"], row["a"], row["b"]) for row in keys])
        if run:
            _print(calls, ("run", "seq", "tool", "about", "recorded", "a", "b"), output)
    elif output == "json":
        render.json_line({"keys": keys, "calls": calls})
    else:
        for row in (*keys, *calls):
            render.json_line(row)
    if keys or calls:
        raise typer.Exit(DIFFERS)


def _disagreements(one: LoadedPolicy, other: LoadedPolicy, name: str) -> Iterator[dict[str, Any]]:
    calls = _calls(name)
    pairs = zip(rejudge_run(one.policy, calls, ground_of), rejudge_run(other.policy, calls, ground_of), strict=True)
    for a, b in pairs:
        if a.would != b.would:
            row = _row(name, a)
            shown = {key: row[key] for key in ("run", "seq", "tool", "about", "recorded")}
            yield {**shown, "a": a.would or "undecidable", "b": b.would or "undecidable"}


def _key_cells(key: str, a: Any, b: Any) -> list[str]:
    """The key and its two values; of two lists with different members only those that the other lacks."""
    if isinstance(a, list) and isinstance(b, list):
        only_a, only_b = [item for item in a if item not in b], [item for item in b if item not in a]
        if only_a or only_b:
            a, b = only_a, only_b
    return [key, json.dumps(a), json.dumps(b)]


def _row(run: str, judged: Rejudged) -> dict[str, Any]:
    return {
        "run": run,
        "seq": judged.call.seq,
        "tool": judged.call.tool,
        "about": judged.call.subject[:_SHOWN],
        "recorded": judged.call.outcome,
        "would": judged.would,
        "rule": judged.rule,
        "reason": judged.message,
        "hint": judged.hint,
    }


def _print(rows: list[dict[str, Any]], columns: tuple[str, ...], output: str) -> None:
    if output == "json":
        render.json_line(rows)
    elif output == "jsonl":
        for row in rows:
            render.json_line(row)
    else:
        cells = [
            ["undecidable" if row[c] is None and c == "would" else str(row[c] or "") for c in columns] for row in rows
        ]
        render.table(columns, cells)


def _calls(name: str) -> list[RecordedCall]:
    """The calls of a run's log, whose chain is whole.

    Raises:
        UsageError: when there is no such log, or it is not as it was written.
    """
    path = audit_file(name, Settings.from_environment())
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="Name a readable audit.jsonl.") from error
    try:
        verify_chain(lines)
        return recorded_calls(_told(line) for line in lines)
    except ValueError as error:
        raise UsageError(f"{path} is no audit log as it was written: {error}", hint="Use the original.") from error


def _told(line: bytes) -> dict[str, Any]:
    """What a line says. Its chain proves nothing about who wrote it, so it is read like any caller's text."""
    told = read_json(line)
    return told if isinstance(told, dict) else {}
