"""The option `--narrow`, which every command that takes a policy has."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Narrow"]

Narrow = Annotated[
    list[str] | None,
    typer.Option("--narrow", metavar="FILE", help="A file that takes away from the policy; repeatable."),
]
