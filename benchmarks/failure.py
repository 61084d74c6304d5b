"""The one error of the bench."""

from __future__ import annotations

__all__ = ["BenchFailed"]


class BenchFailed(Exception):
    """Something that was to be measured did not work, so there is no figure."""
