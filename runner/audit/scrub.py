"""What is told of a run without its secrets: one place that everything passes on its way to a record or a reader.

A secret is told to it as soon as somebody knows one, and from then on `***` stands wherever it would: as it is, in
hexadecimal, with any of its characters percent-encoded, or in base64 wherever it lies in the encoded, as `git:TOKEN`
does in a header. It works on texts before they are cut into a file, so it also reaches texts of programs in
the workspace, where they go into the report. It does not find a secret that was changed otherwise (split, reversed,
encrypted); what a program does to a secret is its own affair, so secrets are kept from programs in the first place.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from runner.audit.encoded import base64_forms, hex_forms, texts_in

__all__ = ["HIDDEN", "MIN_SECRET_CHARACTERS", "Scrubber"]

HIDDEN = "***"

MIN_SECRET_CHARACTERS = 8
"""Shorter texts stand in ordinary words too, and replacing those would make lines unreadable and secrets no safer.

The shortest encoded form of one of this length has ten digits of base64.
"""

_SLICE_CHARACTERS = 64 * 1024
_PERCENT = re.compile("%[0-9A-Fa-f]{2}")


class Scrubber:
    """Knows the secrets of one run. Learns more of them at any time, from any thread."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: frozenset[str] = frozenset()
        self._hidden: tuple[str, ...] = ()
        self._signs: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self.hide(*secrets)

    def hide(self, *secrets: str) -> None:
        """From now on none of these is let through. One that is too short to be a secret is not hidden."""
        new = {secret for secret in secrets if len(secret) >= MIN_SECRET_CHARACTERS}
        with self._lock:
            if new <= self._known:
                return
            hidden = {*self._hidden, *(form for secret in new for form in _forms(secret))}
            self._known = self._known | new
            self._hidden = tuple(hidden)
            self._signs = tuple(form for form in hidden if not any(o in form for o in hidden if o != form))

    def text(self, text: str) -> str:
        """The text without secrets."""
        if not self._suspects(text):
            return text
        return _without(text, sorted({*self._literal(text), *self._percent_encoded(text)}))

    def value(self, value: Any) -> Any:
        """The JSON value without secrets, keys included."""
        # Looked at once, all texts together, since hardly a line holds any. Where two texts meet, one may be seen that
        # neither holds; then each is looked at.
        return self._value(value) if self._known and self._suspects("\0".join(texts_in(value))) else value

    def _literal(self, text: str) -> Iterator[tuple[int, int]]:
        for form in self._hidden:
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = text.find(form, start + 1)

    def _percent_encoded(self, text: str) -> Iterator[tuple[int, int]]:
        if "%" in text:  # which is rare in a text that is suspect, so nothing is compiled before
            for secret in self._known:
                for found in _quoted(secret).finditer(text):
                    yield found.span(1)

    def _suspects(self, text: str) -> bool:
        """False only of a text without secrets."""
        if len(text) < MIN_SECRET_CHARACTERS:
            return False  # no form is as short
        if any(sign in text for sign in self._signs):
            return True
        if _PERCENT.search(text) is None:
            return False
        known = [_bytes(secret) for secret in self._known]
        # In slices, each longer by what a secret may take: taken apart whole, a text costs eighty times its size.
        beyond = 3 * max(map(len, known), default=0)
        slices = (text[at : at + _SLICE_CHARACTERS + beyond] for at in range(0, len(text), _SLICE_CHARACTERS))
        return any(secret in plain for plain in map(unquote_to_bytes, map(_bytes, slices)) for secret in known)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._value(key): self._value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return value


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """What the sorted spans cover is hidden; those that overlap are one, so that neither of two keeps its rest."""
    kept, end = [], 0
    for start, stop in spans:
        if start >= end:
            kept += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _forms(secret: str) -> set[str]:
    data = _bytes(secret)
    whole = base64.b64encode(data).decode("ascii")  # where nothing stands before it, its last digit belongs to it too
    return {secret, whole, whole.rstrip("="), *base64_forms(data), *hex_forms(data)}


def _quoted(secret: str) -> re.Pattern[str]:
    """The secret with any of its characters percent-encoded: programs differ in which, and in the digits' case."""
    characters = "".join(f"(?:{re.escape(char)}|{_percent(char)})" for char in secret)
    return re.compile(f"(?=({characters}))")  # looked at from each place, so that one that overlaps another is found


def _percent(char: str) -> str:
    """A character's bytes in percent-encoding, whatever the case of the digits."""
    digits = _bytes(char).hex()
    any_case = [digit if digit.isdecimal() else f"[{digit}{digit.upper()}]" for digit in digits]
    return "".join(f"%{high}{low}" for high, low in zip(any_case[::2], any_case[1::2], strict=True))
