"""Data that a command prints: rows as a table for people, or as JSON for programs, whichever command it is."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any

import typer

from runner.doors import render

__all__ = ["Format", "Output", "print_rows"]


_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}):[0-9.]+\+00:00")


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
        render.table(columns, [[_cell(row.get(column, "")) for column in columns] for row in rows])


def _cell(value: object) -> str:
    """As people read it: a moment to the minute, and yes or nothing."""
    if isinstance(value, bool):
        return "yes" if value else ""
    moment = _MOMENT.fullmatch(str(value))
    return str(value) if moment is None else f"{moment[1]} {moment[2]}Z"
