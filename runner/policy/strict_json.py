"""JSON from a caller, as plain data of a bounded form.

JSON's grammar leaves room that parsers fill differently: a key that stands twice, numbers of any length, nesting of any
depth. Whoever reads such a text first would judge something else than whoever reads it next, and a deep value breaks
whatever walks it later. So all of it is refused here, before anything is made of the value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "form_fault", "read_json"]

MAX_DEPTH = 32
"""Lists and objects within each other. The arguments of a tool have two; Python gives up at about 1000."""

MAX_DIGITS = 20
"""Of a whole number: 2**64 has twenty, and identifiers of other systems are of that size."""

_TOO_LARGE = 10**MAX_DIGITS


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


def form_fault(value: object) -> str | None:
    """What is wrong with the form of a value that somebody else has read; None when it may be worked with.

    Level by level and never by recursion, so that the depth of a value cannot break the look at it.
    """
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        if any(_is_too_large(item) for item in level):
            return f"it has a number of more than {MAX_DIGITS} digits"
        if not all(_is_json(item) for item in level):
            return "it holds something that JSON does not have"
        groups = [item for item in level if isinstance(item, Mapping | list | tuple)]
        if not groups:
            return None
        level = [inner for group in groups for inner in (group.values() if isinstance(group, Mapping) else group)]
    return f"it is nested more than {MAX_DEPTH} deep"


class _Refused(ValueError):
    """A reason of our own, which the parser's are told apart from."""


def _is_too_large(item: object) -> bool:
    return isinstance(item, int) and abs(item) >= _TOO_LARGE


def _is_json(item: object) -> bool:
    """Of the item itself: what a group holds is looked at a level deeper."""
    if isinstance(item, float):
        return math.isfinite(item)
    if isinstance(item, Mapping):
        return all(isinstance(key, str) for key in item)
    return item is None or isinstance(item, str | int | list | tuple)


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
