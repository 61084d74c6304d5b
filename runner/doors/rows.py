"""Data that a command prints: rows as a table for people, or as JSON for programs, whichever command it is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from runner.doors import render

__all__ = ["Format", "Output", "print_rows"]


class Format(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


Output = Annotated[Format, typer.Option("-o", "--output", help="How to print.")]


def print_rows(rows: list[dict[str, Any]], columns: tuple[str, ...], output: Format) -> None:
    """Print dictionaries as a table of `columns`, as one JSON array, or as JSON Lines."""
    if output is Format.JSON:
        render.json_line(rows)
    elif output is Format.JSONL:
        for row in rows:
            render.json_line(row)
    else:
        render.table(columns, [[str(row.get(column, "")) for column in columns] for row in rows])
