"""Options of mise that take a value, as `mise usage` lists them, and how mise reads them from its words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["BEFORE_VERB", "EXEC", "RUN", "read_options"]

_GLOBAL = frozenset("-C --cd -E --env -P --profile -j --jobs --log-level".split())
_SANDBOX = frozenset("--allow-env --allow-net --allow-read --allow-write".split())
BEFORE_VERB = _GLOBAL | frozenset("-s --shell -t --tool --output".split())
RUN = BEFORE_VERB | _SANDBOX | frozenset("-o --timeout --task-cache --affected-base --affected-head".split())
EXEC = _GLOBAL | _SANDBOX | frozenset({"-c", "--command"})


def read_options(
    words: Sequence[str], valued: frozenset[str], *, anywhere: bool = False
) -> tuple[list[tuple[str, str]], list[str]]:
    """The options with their values, and the other words; without `anywhere`, all from the first other word on."""
    options: list[tuple[str, str]] = []
    others: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("-") or word in ("-", "--"):
            if not anywhere:
                break
            others.append(word)
            index += 1
            continue
        index += 1
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            name, value = _valued_letter(word, valued)
        if name in valued and not value and not equals and index < len(words):
            value = words[index]
            index += 1
        options.append((name, value))
    return options, [*others, *words[index:]]


def _valued_letter(word: str, valued: frozenset[str]) -> tuple[str, str]:
    """The first letter of a bundle that takes a value, and what is glued to it; else the word itself."""
    for position in range(1, len(word)):
        if f"-{word[position]}" in valued:
            return f"-{word[position]}", word[position + 1 :].removeprefix("=")
    return word, ""
