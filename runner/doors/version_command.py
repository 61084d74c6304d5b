"""`runner version`: the version of the package, and nothing else."""

from __future__ import annotations

from runner.doors import render
from runner.model.version import VERSION

__all__ = ["version"]


def version() -> None:
    """Print the version.

    Example: runner version
    """
    render.line(f"runner {VERSION}")
