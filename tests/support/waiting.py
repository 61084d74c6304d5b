"""Waiting for what another process does: until it is so, or until a bound that a passing test never uses up."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["wait_until"]

_LOOKS = 1200
_BETWEEN_SECONDS = 0.05


def wait_until(is_so: Callable[[], bool]) -> None:
    """Returns as soon as it is so; fails after a minute."""
    pause = threading.Event()
    for _ in range(_LOOKS):
        if is_so():
            return
        pause.wait(_BETWEEN_SECONDS)
    raise AssertionError("it did not become so within a minute")
