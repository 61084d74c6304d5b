"""Commands loaded when they are called: a run must not wait for a web framework, nor fail where there is none."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import typer

from runner.model.errors import UsageError

__all__ = ["Late", "add_late"]


@dataclass(frozen=True, slots=True)
class Late:
    """A command or group that lives in a module of its own. `extra` is what has to be installed for it."""

    name: str
    module: str
    attribute: str
    extra: str
    summary: str


def add_late(app: typer.Typer, commands: tuple[Late, ...], argv: list[str], *, everything: bool) -> None:
    """Each command is known to `app` by its summary; the one that is called, or all, as they really are."""
    called = next((word for word in argv if not word.startswith("-")), None)
    for late in commands:
        if everything or late.name == called:
            _add(app, late.name, _load(late))
        else:
            app.command(late.name, help=late.summary, short_help=late.summary)(_not_loaded)


def _not_loaded() -> None:
    raise AssertionError("only its summary is ever shown")


def _load(late: Late) -> Any:
    try:
        return getattr(importlib.import_module(late.module), late.attribute)
    except ImportError as error:
        if (error.name or "").split(".")[0] == "runner":
            raise
        hint = f"Install runner-sandbox[{late.extra}]."
        raise UsageError(f"`runner {late.name}` needs {error.name}, which is not installed", hint=hint) from error


def _add(app: typer.Typer, name: str, loaded: Any) -> None:
    if isinstance(loaded, typer.Typer):
        app.add_typer(loaded, name=name)
    else:
        app.command(name)(loaded)
