"""Whether a pattern of the policy can take effect at all.

A pattern that can never match looks like a rule and is none: a deny that is spelled like that leaves the path open
without a word. So it is refused when the policy loads, with the reason and the spelling that works.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["check_pattern", "split_classes"]

MAX_PATTERN_CHARACTERS = 1024
"""A quarter of Linux's PATH_MAX; longer ones are accidents."""

_DRIVE = re.compile(r"[A-Za-z]:")
_ALTERNATIVES = re.compile(r"\{[^{}/]*,[^{}/]*\}")
_LITERAL_HINT = "to mean the character itself, write it in brackets, as in `[#]`"


def check_pattern(pattern: str) -> None:
    """Nothing happens when the pattern can take effect.

    Raises:
        ValueError: with the reason, in words for the author of the policy.
    """
    _check_text(pattern)
    _check_start(pattern)
    parts = pattern.removesuffix("/").split("/")
    for part in parts:
        if part == "":
            raise ValueError("has an empty part (`//`), which no path has")
        if part in (".", ".."):
            raise ValueError(f"has a `{part}` part, which no normalised path has; patterns start at the workspace root")
        split_classes(part)
    if _ALTERNATIVES.search(pattern):
        raise ValueError("uses {a,b}, which gitignore patterns do not have; write one pattern for each alternative")


def split_classes(part: str) -> list[str]:
    """The tokens of one part of a pattern: `*`, `?`, a class such as `[!a-z]`, or a character.

    Raises:
        ValueError: a class is not closed, has a range that runs backwards, or is one of POSIX's named ones.
    """
    tokens: list[str] = []
    position = 0
    while position < len(part):
        if part[position] != "[":
            tokens.append(part[position])
            position += 1
            continue
        end = _class_end(part, position)
        tokens.append(part[position:end])
        position = end
    return tokens


def _class_end(part: str, start: int) -> int:
    """One past the bracket that closes the class at `start`; a bracket in first place is a member."""
    first = start + 1
    if part[first : first + 1] in ("!", "^"):
        first += 1
    close = part.find("]", first + 1)
    if close < 0:
        raise ValueError("has a `[` that no `]` closes; for the bracket itself write `[[]`")
    members = part[first:close]
    if "[:" in members or "[." in members or "[=" in members:
        raise ValueError("uses a named class such as [:alpha:], which is not supported; write the range, as in `[a-z]`")
    for index in range(1, len(members) - 1):
        if members[index] == "-" and members[index - 1] > members[index + 1]:
            raise ValueError(f"has the range `{members[index - 1 : index + 2]}`, which runs backwards")
    return close + 1


def _check_text(pattern: str) -> None:
    if not pattern:
        raise ValueError("is empty, and matches nothing")
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise ValueError(f"is longer than {MAX_PATTERN_CHARACTERS} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in pattern):
        raise ValueError("has a control character, which no path that a tool accepts has")
    if pattern != pattern.strip():
        raise ValueError("begins or ends with a blank, which gitignore patterns drop; write `[ ]` for a blank")
    if "\\" in pattern:
        raise ValueError("has a back-slash; paths are separated by `/`, and a special character is written in brackets")


def _check_start(pattern: str) -> None:
    if pattern.startswith("/") or _DRIVE.match(pattern):
        raise ValueError("is absolute and would match nothing; patterns are relative to the workspace root")
    if pattern.startswith("~"):
        raise ValueError(f"begins with `~`, which is not expanded and would match nothing; {_LITERAL_HINT}")
    if pattern.startswith("!"):
        raise ValueError(f"is a negation; use writeDeny to take paths out again, or, {_LITERAL_HINT}")
    if pattern.startswith("#"):
        raise ValueError(f"is a comment to gitignore and would match nothing; {_LITERAL_HINT}")
