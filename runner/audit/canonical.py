"""The one byte form of a JSON value that hashes and signatures are taken over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

__all__ = ["canonical", "digest"]

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, check_circular=False)
"""Made once: each call writes several of these values. None holds itself; one that did would be a RecursionError."""

_SLICE_CHARACTERS = 16 * 1024
"""What is escaped at once stays in a processor's cache."""


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, ASCII by escapes: equal values have equal bytes."""
    return _ENCODER.encode(value).encode("ascii")


def digest(value: Any) -> str:
    """SHA-256 of the value's one byte form."""
    made = hashlib.sha256()
    for piece in _pieces(value):
        made.update(piece)
    return made.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    """The one byte form, where a long text right in an object is never whole: a call's content is up to 50 MiB."""
    if not isinstance(value, dict) or not any(_is_long(inner) for inner in value.values()):
        yield canonical(value)
        return
    start = b"{"
    for key in sorted(value):
        yield start + canonical({key: 0})[1:-2]
        start = b","
        if not _is_long(value[key]):
            yield canonical(value[key])
            continue
        yield b'"'
        for at in range(0, len(value[key]), _SLICE_CHARACTERS):  # each character is escaped by itself
            yield canonical(value[key][at : at + _SLICE_CHARACTERS])[1:-1]
        yield b'"'
    yield b"}"


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > _SLICE_CHARACTERS
