"""How git's words are read in the closed world: each option is in the verb's grammar, or the argv is refused.

A grammar is a line of text, an option a word in it: `name|letters`, then `!` where `--no-name` exists too, then the
kind of value: none, `:` one that may be the next word, `:=` glued only, `:?` optional and glued, `:#` a number,
`:@` a path, `:l` the next word or else HEAD, `:{a,b}` one of these. Letters alone (`|S:`) have no long form.

Abbreviations are resolved against all of git 2.39's names for the verb, those that are refused included, so that a
prefix means here what it means to git, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.policy.strict_values import closed, did_you_mean

__all__ = ["Given", "Option", "Reading", "Verb", "emit", "read_verb", "verb"]

_WORD = re.compile(r"(?P<name>[a-z0-9-]*)(?:\|(?P<letters>[A-Za-z0-9|]+))?(?P<neg>!)?(?::(?P<kind>.*))?")
_NUMBER = re.compile(r"\d{1,9}")
_COUNT = re.compile(r"-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a verb. `kind` is None without a value, else the mark after the colon, "" for any value."""

    name: str
    letters: str
    negatable: bool
    kind: str | None
    choices: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Given:
    """One option as it was given; `value` is None where there is none."""

    option: Option
    value: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The words after a verb in the order written; `after` are those behind `--`, None where none was written."""

    parts: tuple[Given | str, ...]
    after: tuple[str, ...] | None

    @property
    def options(self) -> list[Given]:
        """The options."""
        return [part for part in self.parts if isinstance(part, Given)]

    @property
    def operands(self) -> list[str]:
        """All words that are no options."""
        return [part for part in self.parts if isinstance(part, str)] + list(self.after or ())


@dataclass(frozen=True, slots=True)
class Verb:
    """The grammar of one verb, and what is added so that the repository's configuration starts no program.

    `forced` options are always there, `pins` are settings given with -c. `usual` stands in where no option was given.
    """

    options: tuple[Option, ...]
    known: frozenset[str]  # every long name that git has for the verb
    paths: bool = False  # all operands are paths
    abbreviates: bool = True
    bundles: bool = True
    stops: bool = False  # options end at the first operand
    count: str = ""  # the option that `-5` stands for
    most: int | None = None  # operands
    forced: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    by_name: dict[str, Option] = field(default_factory=dict)
    by_letter: dict[str, Option] = field(default_factory=dict)


def verb(
    text: str,
    refused: str = "",
    *,
    paths: bool = False,
    abbreviates: bool = True,
    bundles: bool = True,
    stops: bool = False,
    count: str = "",
    most: int | None = None,
    forced: tuple[str, ...] = (),
    usual: tuple[str, ...] = (),
    pins: tuple[str, ...] = (),
) -> Verb:
    """The grammar that `text` spells; `refused` are git's other long names for the verb."""
    options = tuple(_option(word) for word in text.split())
    names = {option.name for option in options if option.name} | set(refused.split())
    by_name = {option.name: option for option in options if option.name}
    by_letter = {letter: option for option in options for letter in option.letters}
    known = frozenset(names | {f"no-{name}" for name in names})
    return Verb(
        options, known, paths, abbreviates, bundles, stops, count, most, forced, usual, pins, by_name, by_letter
    )


def read_verb(args: Sequence[str], grammar: Verb) -> Reading:
    """The words in their parts.

    Raises:
        NotAllowed: a word is not in the grammar.
    """
    parts: list[Given | str] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word == "--":
            return Reading(tuple(parts), tuple(args[index:]))
        following = args[index] if index < len(args) else None
        if not word.startswith("-") or word == "-":
            parts.append(word)
            continue
        if grammar.stops and any(isinstance(part, str) for part in parts):
            raise closed("strict.git.option", f"{word[:80]!r} stands behind the first operand", "Put options first.")
        count = _COUNT.fullmatch(word)
        if count and grammar.count:
            parts.append(Given(grammar.by_name[grammar.count], count[1]))
            continue
        found, used = (_long if word.startswith("--") else _short)(word, following, grammar)
        parts.extend(found)
        index += used
    return Reading(tuple(parts), None)


def emit(given: Given) -> list[str]:
    """The option in its one canonical spelling."""
    option, value = given.option, given.value
    if option.name:
        head = f"--no-{option.name}" if given.negated else f"--{option.name}"
        return [head if value is None else f"{head}={value}"]
    letter = f"-{option.letters[0]}"
    return [letter] if value is None else [letter + value] if value else [letter, ""]


def _option(word: str) -> Option:
    found = _WORD.fullmatch(word)
    if found is None:
        raise AssertionError(f"{word!r} is no option of a grammar")
    kind, choices = found["kind"], frozenset[str]()
    if kind is not None and kind.startswith("{"):
        kind, choices = "", frozenset(kind[1:-1].split(","))
    return Option(found["name"], (found["letters"] or "").replace("|", ""), bool(found["neg"]), kind, choices)


def _long(word: str, following: str | None, grammar: Verb) -> tuple[list[Given], int]:
    name, equals, glued = word[2:].partition("=")
    full = _expanded(name, grammar)
    option, negated = grammar.by_name.get(full), False
    if option is None and full.startswith("no-"):
        option, negated = grammar.by_name.get(full[3:]), True
        if option is not None and not option.negatable:
            option = None
    if option is None:
        names = [known for known, candidate in grammar.by_name.items()]
        raise closed(
            "strict.git.option", f"--{full[:80]} is not among the options", did_you_mean(full, names, dashes="--")
        )
    if negated or option.kind is None:
        if equals:
            raise closed("strict.git.value", f"--{full} takes no value", "Leave the value out.")
        return [Given(option, None, negated)], 0
    if equals:
        return [Given(option, _checked(option, glued))], 0
    if option.kind == "?":
        return [Given(option)], 0
    return _separate(option, following)


def _short(word: str, following: str | None, grammar: Verb) -> tuple[list[Given], int]:
    found: list[Given] = []
    for position, letter in enumerate(word[1:], start=1):
        rest = word[position + 1 :]
        option = grammar.by_letter.get(letter)
        if option is None:
            letters = [known for known in grammar.by_letter]
            raise closed(
                "strict.git.option", f"-{letter} is not among the options", did_you_mean(letter, letters, dashes="-")
            )
        if option.kind is None:
            if rest and not grammar.bundles:
                raise closed("strict.git.option", f"{word[:80]!r} bundles options", "Give each option by itself.")
            found.append(Given(option))
            continue
        if rest:
            return [*found, Given(option, _checked(option, rest))], 0
        if option.kind == "?":
            return [*found, Given(option)], 0
        last, used = _separate(option, following)
        return [*found, *last], used
    return found, 0


def _separate(option: Option, following: str | None) -> tuple[list[Given], int]:
    if option.kind == "l":
        return [Given(option, following or "HEAD")], int(following is not None)
    shown = option.name or option.letters
    if option.kind == "=" or following is None:
        raise closed("strict.git.value", f"option {shown} has no value", f"Write --{shown}=VALUE.")
    return [Given(option, _checked(option, following))], 1


def _checked(option: Option, value: str) -> str:
    shown = option.name or option.letters
    if option.kind == "#" and not _NUMBER.fullmatch(value):
        raise closed("strict.git.value", f"option {shown} takes a number", "Give a whole number.")
    if option.choices and value not in option.choices:
        raise closed(
            "strict.git.value", f"option {shown} may not be {value[:80]!r}", did_you_mean(value, option.choices)
        )
    return value


def _expanded(name: str, grammar: Verb) -> str:
    if name in grammar.known or not name or not grammar.abbreviates:
        return name
    fitting = sorted(known for known in grammar.known if known.startswith(name))
    if len(fitting) > 1:
        raise closed(
            "strict.git.option",
            f"--{name[:80]} may stand for several options",
            did_you_mean(name, fitting, dashes="--"),
        )
    return fitting[0] if fitting else name
