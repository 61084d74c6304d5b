"""The errors of the bench."""

from __future__ import annotations

__all__ = ["BenchFailed", "PeerMissing"]


class BenchFailed(Exception):
    """Something that was to be measured did not work, so there is no figure."""


class PeerMissing(BenchFailed):
    """Another product that ours is compared with cannot be had here; the message says why."""
