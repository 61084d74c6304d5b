"""JSON from a caller, as plain data of a bounded form.

JSON's grammar leaves room that parsers fill differently: a key that stands twice, numbers of any length, nesting of any
depth. Whoever reads such a text first would judge something else than whoever reads it next, and a deep value breaks
whatever walks it later. So all of it is refused here, before anything is made of the value. A call has few values too:
millions of them cost each step after this one seconds, which others wait for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_VALUES", "form_fault", "read_call", "read_json"]

MAX_DEPTH = 32
"""Lists and objects within each other. The arguments of a tool have two; Python gives up at about 1000."""

MAX_DIGITS = 20
"""Of a whole number: 2**64 has twenty, and identifiers of other systems are of that size."""

MAX_VALUES = 16_384
"""Texts, numbers, lists and objects in one call. The largest that a tool takes is a command line of 10,000 words."""

_BEGINNING = 512 * 1024
"""Bytes that are looked at first: a text that is nothing but values is known by them, however long it is."""

_TOO_LARGE = 10**MAX_DIGITS
_TOO_MANY = f"it holds more than {MAX_VALUES} values"


def read_call(text: bytes) -> object:
    """The value in a caller's text; one that surely has more than `MAX_VALUES` values is refused before it is parsed.

    What lies near the bound may pass: `form_fault` counts exactly, in the arguments alone and for every door.

    Raises:
        ValueError: as `read_json`.
    """
    if _surely_too_many(text[:_BEGINNING]) or (len(text) > _BEGINNING and _surely_too_many(text)):
        raise ValueError(_TOO_MANY)
    return read_json(text)


def read_json(text: bytes) -> object:
    """The value in `text`.

    Raises:
        ValueError: with the reason, in a few words that repeat nothing of the text.
    """
    try:
        value: object = json.loads(
            text, parse_int=_whole, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_without_repeats
        )
    except _Refused:
        raise
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON ({type(error).__name__})") from None
    fault = form_fault(value)
    if fault is not None:
        raise ValueError(fault)
    return value


def form_fault(value: object, max_values: int | None = None) -> str | None:
    """What is wrong with the form of a value that somebody else has read; None when it may be worked with.

    Level by level and never by recursion, so that the depth of a value cannot break the look at it. A level is counted
    before it is walked, so that no more than `max_values` are ever looked at.
    """
    level: list[object] = [value]
    seen = 1
    for _ in range(MAX_DEPTH + 1):
        groups = []
        for item in level:
            if item is None or isinstance(item, str):
                continue
            fault = _fault_of(item)
            if fault is not None:
                return fault
            if isinstance(item, Mapping | list | tuple):
                groups.append(item)
        seen += sum(map(len, groups))
        if max_values is not None and seen > max_values:
            return _TOO_MANY
        if not groups:
            return None
        level = [inner for group in groups for inner in (group.values() if isinstance(group, Mapping) else group)]
    return f"it is nested more than {MAX_DEPTH} deep"


class _Refused(ValueError):
    """A reason of our own, which the parser's are told apart from."""


def _fault_of(item: object) -> str | None:
    """Of the item itself: what a group holds is looked at a level deeper."""
    if isinstance(item, int):
        return f"it has a number of more than {MAX_DIGITS} digits" if abs(item) >= _TOO_LARGE else None
    if isinstance(item, float):
        good = math.isfinite(item)
    elif isinstance(item, Mapping):
        good = all(isinstance(key, str) for key in item)
    else:
        good = isinstance(item, list | tuple)
    return None if good else "it holds something that JSON does not have"


def _surely_too_many(text: bytes) -> bool:
    """Whether the text holds more values than a call may have, told without making one of them.

    Each value follows a comma or begins a group, or is the first; each is at most one text, and so is its key.
    """
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    parts = plain.split(b'"', 4 * MAX_VALUES + 1)
    if len(parts) > 4 * MAX_VALUES + 1:
        return True
    return sum(part.count(mark) for part in parts[::2] for mark in (b",", b"[", b"{")) > 2 * MAX_VALUES


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS + 1:  # before it is converted, which takes time in the square of its length
        raise _Refused(f"it has a number of more than {MAX_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    """The number. NaN, infinities and what overflows to one are not JSON, and could not be answered with as JSON."""
    number = float(text)
    if not math.isfinite(number):
        raise _Refused("it has a number that JSON does not have")
    return number


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    items = dict(pairs)
    if len(items) != len(pairs):
        raise _Refused("it has a key twice")
    return items
