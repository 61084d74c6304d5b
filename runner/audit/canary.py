"""A secret that opens nothing, and the search for it in what passes by.

Only a program that went through the home folder can have the token, so where it shows up, somebody carried it there. It
is looked for as it is, in upper case, in hexadecimal, reversed, and in base64 wherever it lies in the encoded. What is
compressed, encrypted or cut up is not found: the search is an alarm, and never the reason why something is safe.
"""

from __future__ import annotations

from typing import Any

from runner.audit.encoded import base64_forms, texts_in

__all__ = ["Canary", "CanaryStream"]

_PREFIX = "dpl_"
_LONG_CHARACTERS = 64 * 1024


class Canary:
    """One run's token. `core` is the random part, of at least 32 lower-case hexadecimal digits."""

    def __init__(self, core: str) -> None:
        self.token = f"{_PREFIX}{core}"
        forms = {core, core.upper(), core[::-1], core.encode().hex(), *base64_forms(core.encode())}
        self._texts = tuple(sorted(forms))
        self._bytes = tuple(form.encode("ascii") for form in self._texts)
        self.longest = max(map(len, self._bytes))

    def within(self, value: Any) -> bool:
        """Whether a JSON value, a text or bytes hold the token; keys of objects count."""
        if isinstance(value, bytes):
            return any(form in value for form in self._bytes)
        texts = [value] if isinstance(value, str) else list(texts_in(value))
        # Short texts are looked at together: no form has a NUL, so none is found where two of them meet. Long ones are
        # looked at where they are, without a copy.
        whole = "\0".join(text for text in texts if len(text) < _LONG_CHARACTERS)
        long = (text for text in texts if len(text) >= _LONG_CHARACTERS)
        return any(form in text for text in (whole, *long) for form in self._texts)


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
