"""YAML as plain data, from text that may be hostile.

What is read is the part of YAML that JSON has: mappings with text keys, lists, text, whole and decimal numbers, true,
false and null. Anchors, aliases, tags, merges, directives, more than one document and repeated keys are refused, and
so is whatever is too big or too deep. `off`, `yes` and the like are text, as in YAML 1.2. The parser only ever yields
events; no constructor runs, so nothing in the text selects code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

__all__ = ["Location", "YamlDocument", "YamlRefused", "read_yaml"]

MAX_BYTES = 1_048_576
MAX_LINES = 10_000
"""A policy has tens of lines; the parser takes about 0.1 ms for each."""
MAX_NODES = 20_000
MAX_DEPTH = 12
"""The deepest key of a policy is at depth 5."""

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}")
_TOO_LONG = re.compile(r"[-+]?(?:[0-9]{19,}(?:\.[0-9]*)?|[0-9]+\.[0-9]{19,})")
_NULLS = frozenset({"", "~", "null"})

_ALIAS = "has a value that begins with `*`, which YAML takes for an alias; quote the pattern, as in '*.md'"
_TAB = "has a tab where YAML takes only spaces; indent and separate with spaces"
_SIGN = "quote a value that begins with a sign such as [ { ` @ %"

Location = tuple[str | int, ...]
"""Where a value stands: keys and list positions from the root."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The data of a document, and the line, from 1, of each value in it."""

    data: object
    lines: Mapping[Location, int]


class YamlRefused(ValueError):
    """The text is not YAML, or uses what is not read here. `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def read_yaml(content: bytes) -> YamlDocument:
    """The one document in `content`.

    Raises:
        YamlRefused: with line and reason.
    """
    if len(content) > MAX_BYTES:
        raise YamlRefused(1, f"is larger than {MAX_BYTES} bytes")
    lines = content.count(b"\n")
    if lines > MAX_LINES:
        raise YamlRefused(MAX_LINES, f"has {lines} lines; expected at most {MAX_LINES}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise YamlRefused(content.count(b"\n", 0, error.start) + 1, "is not UTF-8") from error
    try:
        return _Reader(yaml.parse(text, Loader=yaml.SafeLoader)).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlRefused(mark.line + 1 if mark else 1, _syntax(error)) from error
    except yaml.reader.ReaderError as error:
        raise YamlRefused(text.count("\n", 0, error.position) + 1, "has a character that YAML forbids") from error
    except (ValueError, OverflowError) as error:
        if isinstance(error, YamlRefused):
            raise
        raise YamlRefused(1, "has an escape or a number that no text can hold") from error  # the parser's own


class _Reader:
    """Builds the data from events, counting as it goes."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._nodes = 0
        self._lines: dict[Location, int] = {}

    def document(self) -> YamlDocument:
        self._next()  # the stream's start
        start = self._next()
        if isinstance(start, yaml.StreamEndEvent):
            raise YamlRefused(1, "is empty")
        if isinstance(start, yaml.DocumentStartEvent) and (start.tags or start.version):
            raise YamlRefused(1, "has a % directive, which is not read here")
        data = self._value(self._next(), (), depth=0)
        self._next()  # the document's end
        end = self._next()
        if not isinstance(end, yaml.StreamEndEvent):
            raise YamlRefused(_line(end), "has a second document; expected one")
        return YamlDocument(data, self._lines)

    def _next(self) -> yaml.Event:
        return next(self._events)

    def _value(self, event: yaml.Event, at: Location, *, depth: int) -> object:
        self._check(event, depth)
        self._lines.setdefault(at, _line(event))
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(at, depth)
        return self._mapping(at, depth)

    def _check(self, event: yaml.Event, depth: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise YamlRefused(_line(event), f"has more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise YamlRefused(_line(event), f"is nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.AliasEvent):
            raise YamlRefused(_line(event), _ALIAS)
        if getattr(event, "anchor", None) is not None:
            raise YamlRefused(_line(event), "uses an anchor (&); write the value out, or quote the text")
        if getattr(event, "tag", None) is not None:
            raise YamlRefused(_line(event), "uses a tag (!); quote the text if it is meant to begin with !")

    def _list(self, at: Location, depth: int) -> list[object]:
        items: list[object] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._value(event, (*at, len(items)), depth=depth + 1))
        return items

    def _mapping(self, at: Location, depth: int) -> dict[str, object]:
        items: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            self._check(event, depth + 1)
            if not isinstance(event, yaml.ScalarEvent):
                raise YamlRefused(_line(event), "has a key that is not text")
            key = _text(event)
            if key in items:
                raise YamlRefused(_line(event), f"has the key {key[:60]!r} twice")
            self._lines[(*at, key)] = _line(event)
            items[key] = self._value(self._next(), (*at, key), depth=depth + 1)
        return items


def _text(event: yaml.ScalarEvent) -> str:
    value: str = event.value
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise YamlRefused(_line(event), "has a NUL or half a surrogate pair")
    return value


def _scalar(event: yaml.ScalarEvent) -> object:
    """The value of a scalar: quoted is text, plain is what YAML 1.2's core schema makes of it."""
    text = _text(event)
    if event.style is not None:
        return text
    if text in _NULLS:
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    if _TOO_LONG.fullmatch(text):
        raise YamlRefused(_line(event), "has a number of more than 18 digits; quote it if it is meant as text")
    return text


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _syntax(error: yaml.MarkedYAMLError) -> str:
    """What the parser stumbled over, in the words of what people meant by it."""
    if error.context == "while scanning an alias":
        return _ALIAS
    if error.problem is not None and error.problem.startswith("found character '\\t'"):
        return _TAB
    return f"is not YAML: {error.problem or error.context}; {_SIGN}"
