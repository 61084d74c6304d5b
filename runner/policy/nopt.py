"""Option reading as npm's `nopt` does it, step by step; pnpm uses the same reader with tables of its own.

Any option may stand anywhere before `--`; dashes are not counted; names may be cut to any prefix that fits one name;
single letters may be bundled; `no-` in front negates, as often as it is written. `--name=value` is read as the two
words `--name value`, so that the value of an option that takes none is a word of its own: `npm --force=run build` runs
a script.

A type is what nopt calls one: "boolean", "string", "number", "null", a word of a fixed choice, or "other" for what
takes any word (paths, addresses, dates, lists). An option with several types takes what fits one of them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

__all__ = ["Dialect", "Given", "option_types", "read_options"]

_END = re.compile(r"-{2,}")
_LIKE_AN_OPTION = re.compile(r"-{1,2}[^-]")  # what an option of type string does not take as its value
_SHORT_OPTION = re.compile(r"-[^-]")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|infinity|0x[\da-f]+)\s*", re.IGNORECASE)
_TRUTH = frozenset({"true", "false"})
_STRING = frozenset({"string"})
_KINDS = frozenset({"boolean", "string", "number", "null", "other", "true", "false"})


def option_types(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The types of each option, from a table of names by types: `{"null|string": "cert key"}`."""
    return {name: frozenset(types.split("|")) for types, names in table.items() for name in names.split()}


@dataclass(frozen=True)
class Dialect:
    """The options of one program by name with their types, and the words that a short form stands for."""

    types: Mapping[str, frozenset[str]]
    shorthands: Mapping[str, tuple[str, ...]]

    @cached_property
    def valued(self) -> frozenset[str]:
        """The options that have a value."""
        return frozenset(name for name, types in self.types.items() if "boolean" not in types)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The option for each name and each beginning that fits one name only."""
        return _abbreviations(frozenset(self.types))

    @cached_property
    def short_names(self) -> Mapping[str, str]:
        """As `names`, of the short forms."""
        return _abbreviations(frozenset(self.shorthands))


@dataclass(slots=True)
class Given:
    """What was given: options with their values, and the words that are none. `verbatim` words stood after `--`."""

    options: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    verbatim: list[str] = field(default_factory=list)

    def values(self, *names: str) -> list[str]:
        """The values of these options, in order."""
        return [value for name, value in self.options if name in names]

    def has_switch(self, switch: str) -> bool:
        """Whether the boolean option is on, as the last word about it says."""
        said = [(name, value) for name, value in self.options if name in (switch, f"no-{switch}")]
        return bool(said) and (said[-1][0] == switch) == (said[-1][1] != "false")


def read_options(args: Sequence[str], dialect: Dialect, *, stop_at: frozenset[str] = frozenset()) -> Given:
    """The words of `args` in their parts. From a word that is one of `stop_at` on, nothing is an option any more."""
    given = Given()
    left = deque(args)
    while left:
        word = left.popleft()
        if _END.fullmatch(word):
            given.verbatim = list(left)
            break
        if word in stop_at:
            given.words += [word, *left]
            break
        if word.startswith("-") and len(word) > 1:
            _read_option(given, word, left, dialect)
        else:
            given.words.append(word)
    return given


def _read_option(given: Given, word: str, left: deque[str], dialect: Dialect) -> None:
    head, equals, value = word.partition("=")
    if equals:
        left.appendleft(value)
    name = head.lstrip("-")
    standing_for = _long_form(name, dialect)
    if standing_for is not None:
        if standing_for[:1] != [head]:
            left.extendleft(reversed(standing_for))
            return
        left.extendleft(reversed(standing_for[1:]))  # `--dev` short for `--development`, which stands for `--dev`
    negated: bool | None = None
    while name.lower().startswith("no-"):
        negated, name = not negated, name[3:]
    name = dialect.names.get(name, name)
    _take(given, name, negated, bool(equals), left, dialect.types.get(name))


def _take(
    given: Given, name: str, negated: bool | None, equals: bool, left: deque[str], types: frozenset[str] | None
) -> None:
    """The option and its value, if it has one, go from `left` to `given`."""
    if negated is not None or (types is None and not equals) or (types is not None and "boolean" in types):
        value = left.popleft() if left and left[0] in _TRUTH else ""
        if not value and len(types or ()) > 1 and left and _fits(left[0], types or frozenset()):
            given.options.append((name, left.popleft()))  # also behind `no-`
        else:
            given.options.append((f"no-{name}" if negated else name, value))
        return
    taken = bool(left) and not _END.fullmatch(left[0])
    if types == _STRING and taken and _LIKE_AN_OPTION.match(left[0]):
        taken = False
    given.options.append((name, left.popleft() if taken else ""))


def _fits(word: str, types: frozenset[str]) -> bool:
    """Whether an option that needs no value takes this word as one."""
    if not word:
        return False
    if word in types - _KINDS or (word == "null" and "null" in types):
        return True
    if "number" in types and _NUMBER.fullmatch(word):
        return True
    return "string" in types and not _SHORT_OPTION.match(word)


def _long_form(name: str, dialect: Dialect) -> list[str] | None:
    """The words that a short form, or a bundle of letters, stands for; None where the name is no short form."""
    if name in dialect.types:
        return None
    if name in dialect.shorthands:
        return list(dialect.shorthands[name])
    if all(len(letter) == 1 and letter in dialect.shorthands for letter in name):
        return [word for letter in name for word in dialect.shorthands[letter]]
    if name in dialect.names or name not in dialect.short_names:
        return None
    return list(dialect.shorthands[dialect.short_names[name]])


@cache
def _abbreviations(names: frozenset[str]) -> dict[str, str]:
    fitting: dict[str, str | None] = {}
    for name in names:
        for length in range(1, len(name) + 1):
            fitting[name[:length]] = None if name[:length] in fitting else name
    return {**{short: name for short, name in fitting.items() if name is not None}, **{name: name for name in names}}
