"""A secret that opens nothing, and the search for it in what passes by.

Only a program that went through the home folder can have the token, so where it shows up, somebody carried it there. It
is looked for as it is, in upper case, in hexadecimal, reversed, and in base64 wherever it lies in the encoded. What is
compressed, encrypted or cut up is not found: the search is an alarm, and never the reason why something is safe.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Canary", "CanaryStream"]

_PREFIX = "dpl_"
_LONG_CHARACTERS = 64 * 1024


class Canary:
    """One run's token. `core` is the random part, of at least 32 lower-case hexadecimal digits."""

    def __init__(self, core: str) -> None:
        self.token = f"{_PREFIX}{core}"
        forms = {core, core.upper(), core[::-1], core.encode().hex(), *_base64_forms(core)}
        self._texts = tuple(sorted(forms))
        self._bytes = tuple(form.encode("ascii") for form in self._texts)
        self.longest = max(map(len, self._bytes))

    def within(self, value: Any) -> bool:
        """Whether a JSON value, a text or bytes hold the token; keys of objects count."""
        if isinstance(value, bytes):
            return any(form in value for form in self._bytes)
        texts = [value] if isinstance(value, str) else list(_texts(value))
        # Short texts are looked at together: no form has a NUL, so none is found where two of them meet. Long ones are
        # looked at where they are, without a copy.
        whole = "\0".join(text for text in texts if len(text) < _LONG_CHARACTERS)
        long = (text for text in texts if len(text) >= _LONG_CHARACTERS)
        return any(form in text for text in (whole, *long) for form in self._texts)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, and bytes in it as the same characters where they are ASCII."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif not isinstance(value, int | float | None) and isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)


class CanaryStream:
    """The same over bytes that come in pieces: a token that is cut between two of them is found."""

    def __init__(self, canary: Canary) -> None:
        self._canary = canary
        self._end = b""
        self.seen = False

    def take(self, piece: bytes) -> None:
        """The next piece has been looked at."""
        if not self.seen:
            whole = self._end + piece
            self.seen = self._canary.within(whole)
            self._end = whole[-(self._canary.longest - 1) :]


def _base64_forms(core: str) -> set[str]:
    """The part of its base64 that does not depend on what stands before and after it, at each of three places."""
    forms = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + core.encode()).decode("ascii")
        whole_digits = (before + len(core)) * 8 // 6
        forms.add(encoded[-(-before * 8 // 6) : whole_digits])
    return forms | {form.translate(str.maketrans("+/", "-_")) for form in forms}
