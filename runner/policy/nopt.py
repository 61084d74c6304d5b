"""Option reading as npm's `nopt` does it; pnpm uses the same reader.

Any option may stand anywhere before `--`; dashes are not counted; names may be cut to any prefix that fits one name;
single letters may be bundled; an option with a value takes the next word whatever it looks like, an unknown one takes
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Dialect", "Given", "read_options"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The option names of one program: those with a value, the boolean ones, and what short forms stand for."""

    valued: frozenset[str]
    booleans: frozenset[str]
    shorthands: Mapping[str, tuple[str, ...]]  # name to option name, and a value where the short form brings one


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


def read_options(args: Sequence[str], dialect: Dialect, *, words_end_options: int | None = None) -> Given:
    """The words of `args` in their parts. With `words_end_options`, everything after that many words is a word."""
    given = Given()
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word.startswith("--") and set(word) == {"-"}:
            given.verbatim = list(args[index:])
            break
        if not word.startswith("-") or word == "-":
            given.words.append(word)
            if words_end_options is not None and len(given.words) >= words_end_options:
                given.words.extend(args[index:])
                break
            continue
        head, equals, value = word.partition("=")
        for position, (name, preset) in enumerate(found := _resolve(head, dialect)):
            last = position == len(found) - 1
            if preset is not None:
                given.options.append((name, preset))
            elif equals and last:
                given.options.append((name, value))
            else:
                index += _take(given, name, args, index, dialect)
    return given


def _take(given: Given, name: str, args: Sequence[str], index: int, dialect: Dialect) -> int:
    following = args[index] if index < len(args) else None
    if name in dialect.valued:
        taken = following is not None and not (following.startswith("--") and set(following) == {"-"})
    else:
        taken = following in ("true", "false") and (name in dialect.booleans or name.startswith("no-"))
    given.options.append((name, (following or "") if taken else ""))
    return int(taken)


def _resolve(head: str, dialect: Dialect) -> list[tuple[str, str | None]]:
    name = head.lstrip("-")
    known = dialect.valued | dialect.booleans
    if name in known:
        return [(name, None)]
    if name in dialect.shorthands:
        return [_expand(name, dialect)]
    if len(name) > 1 and all(len(letter) == 1 and letter in dialect.shorthands for letter in name):
        return [_expand(letter, dialect) for letter in name]
    fitting = {option for option in known if name and option.startswith(name)}
    if len(fitting) == 1:
        return [(fitting.pop(), None)]
    short = {option for option in dialect.shorthands if name and option.startswith(name)}
    if len(short) == 1 and not fitting:
        return [_expand(short.pop(), dialect)]
    if name.startswith("no-"):
        negated = {option for option in dialect.booleans if option.startswith(name[3:])}
        if len(negated) == 1:
            return [(f"no-{negated.pop()}", None)]
    return [(name, None)]


def _expand(name: str, dialect: Dialect) -> tuple[str, str | None]:
    option, *preset = dialect.shorthands[name]
    return option, (preset[0] if preset else None)
