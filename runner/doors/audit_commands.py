"""`runner audit`: read a run's log, prove that it is as its controller sealed it, and hand it to somebody else.

All of it works offline, without an engine, and changes nothing of the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from runner.audit.chain import BrokenChain, chained_lines
from runner.audit.keys import PUBLIC_KEY, PublicKey
from runner.audit.record_forms import record_schemas
from runner.audit.seal import RECEIPT, SEALED_FILES, file_digests
from runner.audit.verify import Verdict, Word, verify_record
from runner.controller.records import copy_out
from runner.controller.report import PAGE
from runner.doors import render
from runner.doors.audit_lines import COLUMNS, row_of
from runner.doors.recorded import AUDIT, audit_file, own_public_key, receipt_beside, run_of_record
from runner.model.errors import ExitCode, UsageError
from runner.settings import Settings

__all__ = ["audit_app"]

_EXIT = {Word.VERIFIED: ExitCode.COMPLETED, Word.UNSEALED: ExitCode.UNSEALED, Word.BROKEN: ExitCode.BROKEN}

audit_app = typer.Typer(help="Read, verify and hand over the records of runs.", no_args_is_help=True)

Run = Annotated[str, typer.Argument(metavar="RUN_ID|PATH", help="A run's id, its folder, or its audit.jsonl.")]
Key = Annotated[
    Path | None, typer.Option("--key", metavar="PUBLIC", help="The public key that is trusted [this host's own].")
]


@audit_app.command("show")
def show(
    run: Run,
    event: Annotated[
        list[str] | None, typer.Option("--event", metavar="NAME", help="Only these events; repeatable.")
    ] = None,
    output: Annotated[Literal["table", "json", "jsonl"], typer.Option("-o", "--output", help="How to print.")] = (
        "table"
    ),
) -> None:
    """Print a run's log, line by line, as far as its chain is whole; exit 7 when it is not.

    Control, bidirectional and zero-width characters are shown as escapes. Who wrote the log is `verify`'s question.

    Example: runner audit show 3f2a9c0d1e5b --event decision --event call.finished
    """
    path = audit_file(run, Settings.from_environment())
    wanted, kept, broken = set(event or ()), [], None
    try:
        for line in _lines(path):
            if not wanted or line["event"] in wanted:
                kept.append(line)
    except BrokenChain as error:
        broken = error
    _print(kept, output)
    if broken is not None:
        render.error_line(f"{broken}; nothing from there on is shown.")
        raise typer.Exit(ExitCode.BROKEN)


@audit_app.command("verify")
def verify(
    run: Run,
    key: Key = None,
    output: Annotated[Literal["text", "json", "jsonl"], typer.Option("-o", "--output", help="How to print.")] = "text",
) -> None:
    """Prove that a run's log, receipt, report, patch and outputs are those that its controller sealed. Offline.

    In the state folder the record has to be whole, and of the run that was asked for; elsewhere, sealed files that are
    not there are named.

    Exit 0: verified. 7: broken; the first bad line is named, and what is wrong. 8: unsealed; the chain is whole up to
    the named line, and nothing says what came after it. 2: there is no such log, or no key to verify with.

    Example: runner audit verify out --key audit-key.pub
    """
    settings = Settings.from_environment()
    path = audit_file(run, settings)
    verdict = _verdict(path, _trusted(settings, key), run_of_record(path, settings))
    views = [PAGE] if (path.parent / PAGE).is_file() else []
    if output != "text":
        render.json_line({**verdict.as_json(), "not_sealed": views})
    else:
        render.line(verdict.message)
        for name in views:
            render.line(f"{name} is a view of the record, and not sealed: rely on what lies beside it.")
    raise typer.Exit(_EXIT[verdict.word])


@audit_app.command("export")
def export(
    run: Run,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder that is new or empty.")],
    key: Key = None,
) -> None:
    """Copy all that somebody else needs to verify a run: log, receipt, report, patch, public key, JSON Schemas.

    The copy is verified, with the exit codes of `verify`. Tell the key's id to the reader on another way than the copy:
    a key that comes along with a record proves nothing about who made it.

    Example: runner audit export 3f2a9c0d1e5b --out evidence
    """
    settings = Settings.from_environment()
    path = audit_file(run, settings)
    trusted = _trusted(settings, key)
    try:
        _copy(path, out, trusted)
    except OSError as error:
        raise UsageError(f"--out {out} cannot be written: {error.strerror}", hint="Name a new folder.") from error
    verdict = _verdict(out / AUDIT, trusted, run_of_record(path, settings))
    render.line(verdict.message)
    if trusted is not None:
        render.line(f"check with: runner audit verify {out} --key {PUBLIC_KEY}; the key's id is {trusted.key_id}")
    raise typer.Exit(_EXIT[verdict.word])


@audit_app.command("schemas")
def schemas(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write them.")],
) -> None:
    """Write the JSON Schemas of audit lines, receipt and report.

    Example: runner audit schemas --out docs/schemas
    """
    try:
        _write_schemas(out)
    except OSError as error:
        raise UsageError(f"--out {out} cannot be written: {error.strerror}", hint="Name a folder.") from error


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as file:
            yield from chained_lines(file)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="Mend its mode or owner.") from error


def _print(lines: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        render.json_line(lines)
    elif output == "jsonl":
        for line in lines:
            render.json_line(line)
    else:
        render.table(COLUMNS, (row_of(line) for line in lines))


def _trusted(settings: Settings, named: Path | None) -> PublicKey | None:
    return PublicKey.in_file(named) if named is not None else own_public_key(settings)


def _verdict(path: Path, key: PublicKey | None, run: str | None) -> Verdict:
    """The verdict on the record around the log, which has to be the whole one of `run` when that is given."""
    receipt = receipt_beside(path)
    if receipt is not None and key is None:
        hint = "Name it with --key; take it from the runner's operator, not from beside the log."
        raise UsageError("there is no public key to verify with", hint=hint)
    try:
        with path.open("rb") as lines:
            files = file_digests(path.parent)
            return verify_record(lines, receipt, key, files, run=run, whole=run is not None)
    except OSError as error:
        raise UsageError(f"{path.parent} cannot be read: {error.strerror}", hint="Mend its modes.") from error


def _copy(path: Path, out: Path, key: PublicKey | None) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise UsageError(f"--out {out} is not empty", hint="What lies there would pass for the run's.")
    for name in (RECEIPT, *SEALED_FILES):
        if (path.parent / name).is_file():
            copy_out(path.parent / name, out / name)
    copy_out(path, out / AUDIT)
    _write_schemas(out / "schemas")
    if key is not None:
        (out / PUBLIC_KEY).write_bytes(key.pem)


def _write_schemas(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in record_schemas().items():
        (folder / name).write_text(json.dumps(schema, indent=2, sort_keys=True) + "\n", encoding="utf-8")
