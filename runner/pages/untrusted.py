"""Texts of strangers on a page: a type that no template can print by mistake, and the filters that print it.

Everything that comes from a record is `Untrusted`, since a workspace, a caller, a remote, or whoever had the folder in
hand, may have written it. Printed without a filter, joined, formatted or marked as safe, it raises; the filters write
it as text, with every character that a reader would not see as an escape of its own look.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from markupsafe import Markup, escape

from runner.model.hidden import is_hidden

__all__ = ["Untrusted", "UntrustedPrinted", "block", "inline", "prose", "untrusted", "without"]


_AS_CODE = re.compile(r"`([^`\n]+)`|((?:sha256:)?(?<![0-9A-Za-z])[0-9a-f]{40,64}(?![0-9A-Za-z]))")


class UntrustedPrinted(TypeError):
    """A template printed a stranger's text as it is."""


class Untrusted:
    """A stranger's text. It can be compared and asked whether there is any of it, and nothing else."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Untrusted) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"Untrusted({self._text!r})"

    def __str__(self) -> NoReturn:
        raise UntrustedPrinted("a stranger's text is printed without its filter")

    def __format__(self, spec: str) -> NoReturn:
        raise UntrustedPrinted("a stranger's text is formatted without its filter")

    def __html__(self) -> NoReturn:
        raise UntrustedPrinted("a stranger's text is printed without its filter")

    def shown(self, keep: str = "") -> Markup:
        """As HTML: text, with what a reader would not see as escapes; the characters in `keep` stay."""
        if self._text.isascii() and self._text.isprintable():
            return escape(self._text)
        parts: list[str] = []
        for char in self._text:
            hidden = char not in keep and is_hidden(char)
            parts.append(f'<span class="hidden">{_escape_of(char)}</span>' if hidden else escape(char))
        return Markup("".join(parts))  # noqa: S704 - each part is escaped, or ASCII of ours


def _escape_of(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def untrusted(value: Any, most: int = 2000) -> Untrusted:
    """The value of a record: a text as it is, anything else as JSON; cut, and marked so, after `most` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Untrusted(text if len(text) <= most else f"{text[:most]} … ({len(text) - most} more characters)")


def without(value: Untrusted, prefix: str) -> Untrusted:
    """The same text without the beginning that the reader knows."""
    return Untrusted(value._text.removeprefix(prefix))


def inline(value: Untrusted | None) -> Markup:
    """Within a line: newlines and tabs are escapes too, and no direction leaks into what stands beside it."""
    if value is None:
        return Markup("")
    # `bdi` keeps right-to-left letters, which are no control characters, from turning their neighbours around.
    return Markup("<bdi>%s</bdi>") % value.shown()


def prose(value: Untrusted | str | None) -> Markup:
    """A sentence within a line: what stands between backticks is code, and so is a digest."""
    told = Untrusted(value) if isinstance(value, str) else value or Untrusted("")
    pieces: list[Markup] = []
    end = 0
    # A piece is escaped after it was cut out, alone, so that no text can bring an element of its own, nor end ours.
    for found in _AS_CODE.finditer(told._text):
        pieces.append(Untrusted(told._text[end : found.start()]).shown())
        pieces.append(Markup("<code><bdi>%s</bdi></code>") % Untrusted(found[1] or found[2]).shown())
        end = found.end()
    pieces.append(Untrusted(told._text[end:]).shown())
    return Markup("<bdi>%s</bdi>") % Markup("").join(pieces)


def block(value: Untrusted) -> Markup:
    """In a block of its own: newlines and tabs do what they do."""
    return value.shown(keep="\n\t")
