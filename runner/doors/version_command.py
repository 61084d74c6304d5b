"""`runner version`: the version of the package, and nothing else."""

from __future__ import annotations

from runner.doors import render
from runner.doors.rows import Format, Output, print_rows
from runner.model.version import VERSION

__all__ = ["version"]


def version(output: Output = Format.TABLE) -> None:
    """Print the version.

    Example: runner version
    """
    if output is Format.TABLE:
        render.line(f"runner {VERSION}")
    else:
        print_rows([{"version": VERSION}], ("version",), output)
