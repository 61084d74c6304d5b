"""What an inline program (`node -e`) loads, as far as its text says so in string literals.

A lexical look, not an analysis: names that are computed stay unseen, and the container and the gate hold there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["loaded_modules"]

_MAX_SPECIFIER = 4096  # the longest path the kernel takes

# Strings and comments are consumed whole and possessively, so that hostile text is read once.
_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*+ | /\*(?:[^*]|\*(?!/))*+(?:\*/)?)
  | (?P<quote>['"])(?P<text>(?:\\.|(?!(?P=quote))[^\\\n])*+)(?P=quote)?
  | `(?P<template>(?:\\.|[^`\\])*+)`?
    """,
    re.VERBOSE | re.DOTALL,
)
_LOADS_BEFORE = re.compile(
    r"""
    (?: \b(?:require|import)\b [\s)]* (?:\?\.)? (?:\.resolve)? \s* \( \s*
      | \b(?:require|import)\b \s* \. \s* (?:call|apply) \s* \( [^()]{0,100} [,\[] \s*
      | \bcreateRequire \s* \( .{0,200} \) \s* \( \s*
      | \b(?:from|import) \s*
      | \b(?:Worker|fork|runMain|_load|dlopen|register) [\s)]* (?:\?\.)? \( [^'"`]{0,100}
    ) $
    """,
    re.VERBOSE,
)
_RAW = re.compile(r"\b(?:require|import)\s*\(\s*(['\"`])([^'\"`\n]{1,4096}+)\1")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|(\n)|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", "f": "\f", "0": "\0"}
_CONTEXT = 320  # characters before a literal that can belong to the call around it, blanks counted once
_KEYWORDS = ("require", "import", "from", "Worker", "fork", "runMain", "_load", "dlopen", "register", "Require")
_BLANKS = re.compile(r"\s+")


def loaded_modules(program: str) -> list[str]:
    """The specifiers that the program's literals name in a loading position, in order, without repeats."""
    return list(dict.fromkeys(_scan(program)))


def _scan(program: str) -> Iterator[str]:
    before = ""
    end = 0
    for token in _TOKEN.finditer(program):
        before = (before + _BLANKS.sub(" ", program[end : token.start()]))[-_CONTEXT:]
        end = token.end()
        if token["comment"] is not None:
            continue
        literal = token["text"] if token["quote"] else token["template"]
        if 0 < len(literal) <= _MAX_SPECIFIER and _loads(before):
            yield _unescaped(literal)
        before = (before + "_")[-_CONTEXT:]
    # A regular expression that holds a quote misleads the reading above; this one does not depend on it.
    yield from (_unescaped(found[2]) for found in _RAW.finditer(program))


def _loads(before: str) -> bool:
    # The plain look comes first: the expression is slow, and hostile text can hold a literal every three characters.
    if before.rstrip()[-1:] not in ("(", ",", "[", "m", "t") or not any(word in before for word in _KEYWORDS):
        return False
    return _LOADS_BEFORE.search(before) is not None


def _unescaped(literal: str) -> str:
    def one(found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3]
        if digits:
            point = int(digits, 16)
            return chr(point) if point < 0x110000 else "\ufffd"
        return "" if found[4] else _LETTERS.get(found[5], found[5])

    return _ESCAPE.sub(one, literal)
