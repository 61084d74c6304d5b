"""`runner ps` and `runner gc`: what runs, and what a crash left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from runner.app import compose
from runner.controller.cache_store import CacheStore
from runner.controller.host import Host
from runner.controller.kept_archive import store_of
from runner.controller.places import Queued
from runner.controller.records import StateFolder
from runner.controller.sweep import is_orphan, sweep
from runner.doors import render
from runner.doors.rows import Format, Output, print_rows
from runner.engine.contract import SandboxInfo
from runner.model.errors import EngineUnavailable
from runner.settings import Settings

__all__ = ["gc", "ps"]

_MOST_ENDED = 50


def ps(
    output: Output = Format.TABLE,
    everything: Annotated[bool, typer.Option("--all", "-a", help=f"The last {_MOST_ENDED} that ended, too.")] = False,
) -> None:
    """List what the engine holds of our runs: running, warm, left by a crash. Then those that wait for a place.

    Example: runner ps -o json
    """
    with compose(Settings.from_environment()) as host:
        now = time.time()
        known = dict(host.state.runs())
        rows = [_listed(host, found, known, now) for found in _all(host)]
        rows += [_waiting(queued) for queued in host.places.waiting()]
        if everything:
            rows += _ended(host.state, known)
    print_rows(rows, ("run", "kind", "name", "state", "repository", "deadline", "orphan"), output)


def gc(
    output: Output = Format.TABLE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    caches: Annotated[bool, typer.Option("--caches", help="Remove all kept package caches too.")] = False,
) -> None:
    """Remove what crashed runs left, and package caches beyond their bound. Running ones, and others', stay.

    Example: runner gc --dry-run
    """
    with compose(Settings.from_environment()) as host:
        now = time.time()
        if dry_run:
            gone = [found for found in _all(host) if is_orphan(found, host.state, now)]
            failed: tuple[tuple[SandboxInfo, str], ...] = ()
        else:
            swept = sweep(host.engine, host.state, now)
            gone, failed = list(swept.removed), swept.failed
        _say_caches(store_of(host.state.path, host.cache_mib), everything=caches, dry_run=dry_run)
    print_rows([_row(found, {}, True) for found in gone], ("run", "kind", "state", "deadline"), output)
    if not gone:
        render.progress("nothing was left")
    if failed:
        names = ", ".join(f"{found.name} ({why})" for found, why in failed)
        raise EngineUnavailable(f"could not remove {names}", hint="Check the engine with `runner doctor`.")


def _say_caches(store: CacheStore, *, everything: bool, dry_run: bool) -> None:
    if not dry_run:
        gone = store.trim(0 if everything else None)
        if gone:
            render.progress(f"removed {gone} kept package cache(s)")
    count, size = store.usage()
    if count:
        render.progress(f"package caches kept: {count}, {size >> 20} MiB")


def _all(host: Host) -> list[SandboxInfo]:
    return host.engine.objects()


def _listed(host: Host, found: SandboxInfo, known: Mapping[str, dict[str, Any]], now: float) -> dict[str, Any]:
    """A container that waits for its run is warm, whatever the engine calls that."""
    waits = host.state.warm(found.run_id) if found.controller_id == host.state.controller_id else None
    if waits is not None:
        return {**_row(found, waits, False), "state": "warm"}
    return _row(found, known.get(found.run_id, {}), is_orphan(found, host.state, now))


def _row(found: SandboxInfo, noted: dict[str, Any], orphan: bool) -> dict[str, Any]:
    deadline = datetime.fromtimestamp(found.deadline_unix, UTC).isoformat() if found.deadline_unix else ""
    return {
        "run": found.run_id,
        "kind": found.kind,
        "name": found.name,
        "state": found.state,
        "repository": noted.get("repository") or "",
        "deadline": deadline,
        "orphan": orphan,
    }


def _ended(state: StateFolder, known: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest runs that have ended, each with how; `runner show` and `runner audit show` have the rest."""
    names = [name for name in known if not state.alive(name)][:_MOST_ENDED]
    nothing = dict.fromkeys(("name", "deadline"), "")
    return [
        {
            **nothing,
            "run": name,
            "kind": "record",
            "state": state.ending(name),
            "repository": known[name].get("repository") or "",
            "orphan": False,
        }
        for name in names
    ]


def _waiting(queued: Queued) -> dict[str, Any]:
    """A run that has nothing in the engine yet."""
    nothing = dict.fromkeys(("name", "deadline"), "")
    state = f"waits, {queued.standing.place} of {queued.standing.length}"
    told = {"run": queued.run_id, "kind": "queue", "state": state, "repository": queued.what, "orphan": False}
    return {**nothing, **told}
