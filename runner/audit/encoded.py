"""How a text looks once it is encoded, and every text of a value: for the canary's search and the scrubber."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["base64_forms", "hex_forms", "texts_in"]

_URL_SAFE = str.maketrans("+/", "-_")


def base64_forms(data: bytes) -> set[str]:
    """The part of its base64 that does not depend on what stands before and after it, at each of three places.

    Of the first and the last byte up to six bits may be left out, since they share a digit with a neighbour.
    """
    forms = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode("ascii")
        whole_digits = (before + len(data)) * 8 // 6
        forms.add(encoded[-(-before * 8 // 6) : whole_digits])
    return forms | {form.translate(_URL_SAFE) for form in forms}


def hex_forms(data: bytes) -> set[str]:
    """In hexadecimal digits, all small or all large."""
    return {data.hex(), data.hex().upper()}


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys too, and bytes in it as the same characters where they are ASCII."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)
    elif not isinstance(value, int | float | None) and isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts_in(key)
            yield from texts_in(inner)
