"""Numbers and times as people read them."""

from __future__ import annotations

import math
from datetime import datetime

__all__ = ["clock_time", "day_and_time", "long_time", "milliseconds", "seconds_between", "size"]

_KIB = 1024.0


def milliseconds(value: float | None) -> str:
    """A duration that is mostly short; empty for none."""
    if value is None or not math.isfinite(value):
        return ""
    if value < 1:
        return f"{value:.2f} ms"
    if value < 100:
        return f"{value:.1f} ms"
    return f"{value:.0f} ms" if value < 1000 else long_time(value / 1000)


def long_time(seconds: float) -> str:
    """A duration from a tenth of a second to days."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(count: float) -> str:
    """Bytes in binary units."""
    for unit in ("B", "KiB", "MiB"):
        if count < _KIB:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= _KIB
    return f"{count:.1f} GiB"


def clock_time(at: str) -> str:
    """The time of day of a record's time, to the millisecond, UTC; empty where it is none."""
    moment = _moment(at)
    return "" if moment is None else moment.strftime("%H:%M:%S.") + f"{moment.microsecond // 1000:03d}"


def day_and_time(at: str) -> str:
    """Day and time of a record's time, UTC; empty where it is none."""
    moment = _moment(at)
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")


def seconds_between(first: str, last: str) -> float | None:
    """From one time of a record to another; None where that cannot be told."""
    began, ended = _moment(first), _moment(last)
    try:
        return None if began is None or ended is None else max(0.0, (ended - began).total_seconds())
    except TypeError:  # one of them says where it is, the other does not
        return None


def _moment(at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return None
