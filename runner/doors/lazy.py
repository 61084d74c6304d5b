"""Commands that are loaded when they are called: one call of a tool must not wait for a web framework's import.

The command line knows each command by a name and a line; only the one that is called is imported, with what it needs.
A command whose extra is not installed says which one it is.
"""

from __future__ import annotations

import importlib
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import typer

from runner.model.errors import UsageError

__all__ = ["Late", "add_late"]


@dataclass(frozen=True, slots=True)
class Late:
    """A command or group, and where it is. `extra` is what has to be installed for it, empty for nothing."""

    name: str
    module: str
    attribute: str
    summary: str
    extra: str = ""


def add_late(app: typer.Typer, commands: tuple[Late, ...], called: str | None) -> None:
    """Each command is known to `app` by its line; the one that is `called`, or all for None, as they really are.

    For None, one whose extra is missing is known by its line too: a shell's completion must not end with it.

    Raises:
        UsageError: what the called one needs is not installed.
    """
    for late in commands:
        loaded = None
        if called in (None, late.name):
            with suppress(UsageError) if called is None else nullcontext():
                loaded = _load(late)
        if loaded is None:
            app.command(late.name, short_help=late.summary)(_not_loaded)
        else:
            _add(app, late.name, loaded)


def _not_loaded() -> None:
    raise AssertionError("only its line is ever shown")


def _load(late: Late) -> Any:
    try:
        return getattr(importlib.import_module(late.module), late.attribute)
    except ImportError as error:
        if (error.name or "runner").split(".")[0] == "runner":
            raise
        hint = f"Install the wheel of `make package` with its extra: 'FILE.whl[{late.extra}]'."
        raise UsageError(f"`runner {late.name}` needs {error.name}, which is not installed", hint=hint) from error


def _add(app: typer.Typer, name: str, loaded: Any) -> None:
    if isinstance(loaded, typer.Typer):
        app.add_typer(loaded, name=name)
    else:
        app.command(name)(loaded)
