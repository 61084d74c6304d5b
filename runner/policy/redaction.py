"""A call's arguments as the audit log keeps them: what decisions are made on, and nothing of a file's content.

Fields that decisions read are kept as they are, within bounds. Everything else, known or not, well-typed or not, is
replaced by its SHA-256 and its size, so that two calls can be told apart and neither be read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["MAX_KEPT_BYTES", "is_digest", "passwords_in", "redact_arguments", "secrets_of"]

MAX_KEPT_BYTES = 16 * 1024
"""One kept field. Longer ones than four times the longest path are programs and lists that no reader looks through."""

_MAX_FIELDS = 20
"""More than any tool has; the names of unknown fields are the caller's text."""

_MAX_NAME_CHARACTERS = 64

_SLICE_CHARACTERS = 64 * 1024

_KEPT = frozenset({"path", "argv", "args", "globs", "pattern"})
_KEPT_NUMBERS = frozenset({"startLine", "limit", "maxResults", "ignoreCase", "regex", "replaceAll"})

_SECRET_NAME = re.compile(
    r"token|secret|passw(?:or)?d|passphrase|credential|private_?key|api_?key|access_?key|_auth$", re.IGNORECASE
)
_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")


def secrets_of(environment: Mapping[str, str]) -> Iterator[str]:
    """The values of a policy's `env` that are secrets by their variable's name, and passwords in addresses.

    Nothing in a policy is meant to be secret, since programs inside read it; what is one all the same is not told on.
    """
    for name, value in environment.items():
        if _SECRET_NAME.search(name):
            yield value
        yield from passwords_in(value)


def passwords_in(text: str) -> list[str]:
    """The passwords of the addresses in the text."""
    return _PASSWORD.findall(text)


def redact_arguments(arguments: object) -> dict[str, Any]:
    """The arguments without content, as JSON. Never raises for JSON values that are not nested out of reach.

    A value that was left out is `{"sha256", "bytes"}`: of the text's UTF-8, or of the canonical JSON of anything else.
    """
    if not isinstance(arguments, Mapping):
        return digest_of(arguments)
    kept: dict[str, Any] = {}
    for name, value in list(arguments.items())[:_MAX_FIELDS]:
        kept[str(name)[:_MAX_NAME_CHARACTERS]] = value if _may_stay(str(name), value) else digest_of(value)
    return kept


def digest_of(value: object) -> dict[str, Any]:
    """What stands for a value that is not kept."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
    made, size = hashlib.sha256(), 0
    for at in range(0, len(text), _SLICE_CHARACTERS):  # a long text has no second copy
        data = text[at : at + _SLICE_CHARACTERS].encode("utf-8", "surrogatepass")
        made.update(data)
        size += len(data)
    return {"sha256": made.hexdigest(), "bytes": size}


def is_digest(value: object) -> bool:
    """Whether a recorded value only stands for one that was left out."""
    return isinstance(value, Mapping) and set(value) == {"sha256", "bytes"}


def _may_stay(name: str, value: object) -> bool:
    if name in _KEPT_NUMBERS:
        return value is None or isinstance(value, bool | int)
    if name not in _KEPT:
        return False
    if isinstance(value, str):
        return len(value) <= MAX_KEPT_BYTES
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        return value is None
    return sum(len(word) + 4 for word in value) <= MAX_KEPT_BYTES
