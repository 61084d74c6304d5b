"""Whether the lines of a log are one unbroken chain, as they were written.

Pure: bytes in, lines out, and the first line that is not as it was written is named. A chain alone proves nothing about
who wrote it, nor that nothing is missing at its end: that is the receipt's part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from runner.audit.canonical import canonical, digest

__all__ = ["FIRST_PREV", "BrokenChain", "chained_lines", "verify_chain"]

FIRST_PREV = "0" * 64
"""What the first line of every log follows."""


class BrokenChain(ValueError):
    """The line `number` is not what was written there; `problem` is a fixed word for how."""

    def __init__(self, number: int, problem: str, what: str) -> None:
        super().__init__(f"line {number} {what}")
        self.number = number
        self.problem = problem


def chained_lines(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Each line, once it is known to be whole, of the same run as the first, and to follow the one before.

    Raises:
        BrokenChain: at the first that is not.
    """
    prev, run = FIRST_PREV, None
    for count, raw in enumerate(lines, start=1):
        line, whole = _read(raw, count)
        made = line.pop("hash")
        if run is not None and line["run"] != run:
            raise BrokenChain(count, "line-of-another-run", "is of another run")
        if line["prev"] != prev or line["seq"] != count:
            raise BrokenChain(count, "line-out-of-place", "does not follow the line before it")
        if not whole or digest(line) != made:
            raise BrokenChain(count, "line-changed", "was changed after it was written")
        prev, run = made, line["run"]
        yield {**line, "hash": made}


def verify_chain(lines: Iterable[bytes]) -> int:
    """The number of lines of an unbroken chain.

    Raises:
        BrokenChain: naming the first line that breaks it.
    """
    return sum(1 for _ in chained_lines(lines))


def _read(raw: bytes, count: int) -> tuple[dict[str, Any], bool]:
    """The line, and whether its bytes are the one form of what it says."""
    try:
        line = json.loads(raw)
        # Bytes, not meaning: a key that stands twice, or a blank, would show a reader another line than is hashed.
        whole = raw == canonical(line) + b"\n"
        _ = line["hash"], line["prev"], line["seq"], line["run"], line["at"], line["event"], line["data"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BrokenChain(count, "line-unreadable", "is not an audit line") from error
    return line, whole
