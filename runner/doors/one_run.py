"""`runner show` and `runner kill`: one run in full, and the end of one, whichever door opened it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from runner.app import compose
from runner.controller.host import Host
from runner.controller.places import dismiss, tickets_of_runs
from runner.controller.records import LOST, StateFolder
from runner.doors import render
from runner.doors.completions import run_names
from runner.doors.holding.commands import end_held
from runner.doors.holding.wire import held_runs
from runner.doors.rows import Format
from runner.model.errors import EngineUnavailable, RunnerError, UsageError
from runner.settings import Settings

__all__ = ["kill", "show"]

Run = Annotated[
    str, typer.Argument(metavar="RUN", help="Its name, or enough of its beginning.", autocompletion=run_names)
]
Output = Annotated[Format, typer.Option("-o", "--output", help="How to print.")]

_BRIEF = ("run", "state", "status", "exit_code", "repository", "ref", "policy", "started", "folder")
_LOOK_SECONDS = 0.1
_COUNTED = ("denials", "pushes")


def show(run: Run, output: Output = Format.TABLE) -> None:
    """Show what is known of a run, live or ended. `-o json` has all of it; `runner audit show` has its calls.

    Example: runner show 1f2e -o json
    """
    state = StateFolder(Settings.from_environment().state_dir)
    facts = _facts(state, _named(state, run))
    if output is not Format.TABLE:
        render.json_line(facts)
        return
    report = facts.get("report") or {}
    rows = [[key, str(facts[key])] for key in _BRIEF if facts.get(key) is not None]
    rows += [[key, str(len(report[key]))] for key in _COUNTED if key in report]
    if report.get("calls"):
        rows.append(["calls", ", ".join(f"{count} {what}" for what, count in report["calls"].items())])
    if report.get("ended"):
        rows.append(["because", f"{report['ended']['message']}. {report['ended']['hint']}"])
    elif facts["status"] == LOST:
        rows.append(["because", "Its controller was killed, so there is no report. Its log is kept as far as it goes."])
    if report.get("changes"):
        changes = report["changes"]
        why = changes.get("reason") or "no reason was kept"
        rows.append(["files changed", f"not known: {why}" if changes["failed"] else str(changes["file_count"])])
    render.table(("what", "is"), rows)


def kill(run: Run) -> None:
    """End a run now, whoever holds it: what is in flight is cancelled, and nothing is left of it but its record.

    One that waits for a place leaves the queue.

    A run of another process loses its workspace; that process reports it as lost.

    Example: runner kill 1f2e
    """
    settings = Settings.from_environment()
    state = StateFolder(settings.state_dir)
    name = _named(state, run)
    if name in held_runs(state.path):
        with suppress(UsageError):  # its holder is gone: what it left is removed below
            end_held(name, interrupt=True)
            return
    if not (state.path / "runs" / name).is_dir() and _left_the_queue(state, name):
        render.progress(f"{name} is ended; it waited for a place, and there is no record of it")
        return
    with compose(settings) as host:
        _remove(host, name)


def _left_the_queue(state: StateFolder, name: str) -> bool:
    """Whether it has; a run that got its place just then has not, and is ended like any other."""
    while dismiss(state.places, name):
        if (state.path / "runs" / name).is_dir():
            return False
        time.sleep(_LOOK_SECONDS)
    return not (state.path / "runs" / name).is_dir()


def _remove(host: Host, name: str) -> None:
    found = [one for one in host.engine.objects() if one.run_id == name]
    if not found:
        render.progress(f"{name} has ended already; nothing of it is in the engine")
        return
    failed = []
    for one in found:
        try:
            host.engine.remove(one)
        except RunnerError as error:
            failed.append(f"{one.name} ({error.message})")
    if failed:
        raise EngineUnavailable(f"could not remove {', '.join(failed)}", hint="Check the engine with `runner doctor`.")
    render.progress(f"{name} is ended; {len(found)} container(s) removed")


def _named(state: StateFolder, text: str) -> str:
    """The one run whose name begins so."""
    known = dict.fromkeys([*(name for name, _facts in state.runs()), *tickets_of_runs(state.places)])
    names = [name for name in known if name.startswith(text)] if text else []
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError(f"there is no run {text[:40]!r}", hint="`runner ps` lists those that run.")
    shown = ", ".join(names[:5]) + ("" if len(names) < 6 else ", …")
    raise UsageError(f"several runs begin with {text[:40]!r}", hint=f"Say more of one of {shown}.")


def _facts(state: StateFolder, name: str) -> dict[str, Any]:
    folder = state.path / "runs" / name
    report = _read(folder / "report.json")
    noted = _read(folder / "run.json") or {}
    if not folder.is_dir():
        repository = tickets_of_runs(state.places).get(name)
        return {"run": name, "state": "live", "status": "waits for a place", "repository": repository, "report": None}
    live = state.alive(name)
    status = report["status"] if report else ("open" if live else LOST)
    return {
        **noted,
        "run": name,
        "state": "live" if live else "ended",
        "status": status,
        "exit_code": report["exit_code"] if report else None,
        "folder": str(folder),
        "report": report,
    }


def _read(path: Path) -> dict[str, Any] | None:
    try:
        loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return loaded
