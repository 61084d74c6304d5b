"""How long each phase of a run took, by a clock that is handed in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Stopwatch", "utc"]


def utc(unix_seconds: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="milliseconds")


class Stopwatch:
    """Phases in order, one at a time; starting one ends the one before."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._phase: str | None = None
        self._since = 0.0
        self.milliseconds: dict[str, float] = {}

    def start(self, phase: str) -> None:
        """`phase` runs from now on."""
        self.stop()
        self._phase, self._since = phase, self._clock()

    def stop(self) -> None:
        """No phase runs."""
        if self._phase is not None:
            spent = (self._clock() - self._since) * 1000
            self.milliseconds[self._phase] = round(self.milliseconds.get(self._phase, 0.0) + spent, 1)
        self._phase = None
