"""What is told of a run without its secrets: one place that everything passes on its way to a record or a reader.

A secret is told to it as soon as somebody knows one, and from then on `***` stands wherever it would, as it is, quoted
for an address, or in base64. It works on texts before they are cut into a file, so it also reaches texts of programs in
the workspace, where they go into the report. It does not find a secret that was changed otherwise (split, reversed,
encrypted); what a program does to a secret is its own affair, so secrets are kept from programs in the first place.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

__all__ = ["HIDDEN", "MIN_SECRET_CHARACTERS", "Scrubber"]

HIDDEN = "***"

MIN_SECRET_CHARACTERS = 8
"""Shorter texts stand in ordinary words too, and replacing those would make lines unreadable and secrets no safer."""


class Scrubber:
    """Knows the secrets of one run. Learns more of them at any time, from any thread."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._hidden: tuple[str, ...] = ()
        self.hide(*secrets)

    def hide(self, *secrets: str) -> None:
        """From now on none of these is let through. One that is too short to be a secret is not hidden."""
        forms = {form for secret in secrets if len(secret) >= MIN_SECRET_CHARACTERS for form in _forms(secret)}
        if forms - {*self._hidden}:
            # The longest first, so that no part of one is left over by another that it holds.
            self._hidden = tuple(sorted({*self._hidden, *forms}, key=len, reverse=True))

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._hidden:
            text = text.replace(secret, HIDDEN)
        return text

    def value(self, value: Any) -> Any:
        """The JSON value without secrets, keys included."""
        return self._value(value) if self._hidden else value

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._value(key): self._value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return value


def _forms(secret: str) -> set[str]:
    whole = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode("ascii")
    return {secret, quote(secret, safe="", errors="surrogatepass"), whole, whole.rstrip("=")}
