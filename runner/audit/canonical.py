"""The one byte form of a JSON value that hashes and signatures are taken over."""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["canonical", "digest"]

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, check_circular=False)
"""Made once: each call writes several of these values. None holds itself; one that did would be a RecursionError."""


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, ASCII by escapes: equal values have equal bytes."""
    return _ENCODER.encode(value).encode("ascii")


def digest(value: Any) -> str:
    """SHA-256 of the value's one byte form."""
    return hashlib.sha256(canonical(value)).hexdigest()
