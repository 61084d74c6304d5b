"""Add-only files: every line of the file as the run found it is still there, unchanged and in order.

Lines end at a line feed and nowhere else; a carriage return belongs to its line. New lines may stand anywhere. A last
line without a line end may be given one, so that the next line can follow it; a line end that was there may not go.
"""

from __future__ import annotations

from runner.model.decision import Decision
from runner.model.errors import ErrorCode

__all__ = ["decide_append", "first_lost_line"]

_HINT = "Keep every line that the file had when the run started, in order, and only add lines."


def decide_append(base: bytes, new: bytes | None) -> Decision:
    """Whether `new` keeps all lines of `base`. `base` is the content at the start of the run; None is a deletion."""
    if new is None:
        return Decision.deny(
            ErrorCode.WORKSPACE_APPEND_ONLY, "append.delete", "The file is add-only and may not be deleted.", _HINT
        )
    lost = first_lost_line(base, new)
    if lost is None:
        return Decision.allow("append.lines-kept")
    return Decision.deny(
        ErrorCode.WORKSPACE_APPEND_ONLY,
        "append.line-lost",
        f"The file is add-only, and its line {lost} would be changed, moved or removed.",
        _HINT,
    )


def first_lost_line(base: bytes, new: bytes) -> int | None:
    """The number, from 1, of the first line of `base` that `new` lacks; None when it keeps all. Linear time."""
    *base_lines, base_tail = base.split(b"\n")
    *new_lines, new_tail = new.split(b"\n")
    following = iter(new_lines)
    for number, line in enumerate(base_lines, start=1):
        if not any(line == candidate for candidate in following):
            return number
    if base_tail and base_tail != new_tail and not any(base_tail == candidate for candidate in following):
        return len(base_lines) + 1
    return None
