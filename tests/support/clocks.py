"""A clock that a test moves by hand."""

from __future__ import annotations

__all__ = ["ManualClock"]


class ManualClock:
    """Calling it gives the time in seconds; it moves only by `advance`."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """The time is `seconds` later."""
        self.now += seconds
