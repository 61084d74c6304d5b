"""Which paths a pattern of the policy names.

Patterns are gitignore's: a pattern without a slash names something at any depth, one with a slash starts at the root,
`**` stands for any number of folders, and a match on a folder covers what is beneath. Two readings of them:

- granting (`GlobSet.granting`): a last part that mixes wildcards and text (`*.md`) names files only. Otherwise a
  folder called `a.md` would open everything beneath it.
- denying (`GlobSet.denying`): as wide as it can be read. Case and Unicode form do not matter, and `docs/**`, `docs/*`
  and `docs/` also name `docs` itself, so that a link or file of that name cannot take the folder's place.

Both compare in Unicode form C. pathspec is the reference that the tests hold this against; its own expressions are not
used on paths, because a hostile name against a few wildcards costs them seconds (255 bytes against `*a*a*a*a*b`), and
the name is the attacker's. Here a match takes time linear in the path for each part of the pattern.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from runner.policy.patterns import split_classes

__all__ = ["GlobSet", "folded", "is_git_name", "names_git"]

_HFS_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Code points that HFS+ leaves out of a comparison, as git's own check for `.git` has them."""

_GIT_NAMES = frozenset({".git", "git~1"})
"""The folder's name, and the short name that NTFS makes of it."""

_Part = Callable[[str], bool]


class _End(Enum):
    """What of a path the last part of a pattern has to meet."""

    WHOLE = auto()  # the file itself
    FOLDER = auto()  # a folder above the file
    EITHER = auto()


@dataclass(frozen=True, slots=True)
class _Matcher:
    """One pattern: runs of parts, with any number of folders between two runs; the first starts at the root."""

    text: str
    runs: tuple[tuple[_Part, ...], ...]
    end: _End

    def matches(self, parts: Sequence[str]) -> bool:
        """Whether the path of these parts is named.

        Taking the earliest place for every run but the last loses no match, since whatever stands between two runs is
        free. That keeps it linear.
        """
        head = self.runs[0]
        position = len(head)
        if head and not _run_at(head, parts, 0):
            return False
        if len(self.runs) == 1:
            return self._ends_well(position, len(parts))
        for run in self.runs[1:-1]:
            found = _find(run, parts, position, len(parts))
            if found is None:
                return False
            position = found + len(run)
        last = self.runs[-1]
        if self.end is _End.WHOLE:
            start = len(parts) - len(last)
            return start >= position and _run_at(last, parts, start)
        limit = len(parts) - 1 if self.end is _End.FOLDER else len(parts)
        return _find(last, parts, position, limit) is not None

    def _ends_well(self, position: int, length: int) -> bool:
        if self.end is _End.WHOLE:
            return position == length
        return position < length or (self.end is _End.EITHER and position == length)


class GlobSet:
    """An ordered set of patterns in one reading. An empty set names nothing."""

    __slots__ = ("_ascii", "_exact", "_folded", "patterns")

    def __init__(self, patterns: Sequence[str], exact: Sequence[_Matcher], caseless: Sequence[_Matcher]) -> None:
        self.patterns = tuple(patterns)
        self._exact = tuple(exact)
        self._folded = tuple(caseless)
        # What the caseless reading of an ASCII path could miss: a class that excludes one case, as `[!A]` does.
        self._ascii = tuple(matcher for matcher in exact if not caseless or "[" in matcher.text)

    @classmethod
    def granting(cls, patterns: Sequence[str]) -> GlobSet:
        """The narrow reading, for what gives a permission. Patterns must have passed `check_pattern`."""
        return cls(patterns, [_compile(pattern, denies=False, caseless=False) for pattern in patterns], ())

    @classmethod
    def denying(cls, patterns: Sequence[str]) -> GlobSet:
        """The wide reading, for what takes a permission away. Patterns must have passed `check_pattern`."""
        return cls(
            patterns,
            [_compile(pattern, denies=True, caseless=False) for pattern in patterns],
            [_compile(pattern, denies=True, caseless=True) for pattern in patterns],
        )

    def match(self, path: str) -> str | None:
        """The first pattern that names the root-relative `path`; None when none does. The root itself has no name."""
        if path in ("", "."):
            return None
        # Beyond ASCII neither reading covers the other: case folding may compose what the exact form keeps apart.
        exact = self._ascii if path.isascii() else self._exact
        if exact:
            parts = unicodedata.normalize("NFC", path).split("/")
            for matcher in exact:
                if matcher.matches(parts):
                    return matcher.text
        if self._folded:
            parts = folded(path).split("/")
            for matcher in self._folded:
                if matcher.matches(parts):
                    return matcher.text
        return None


def folded(name: str) -> str:
    """One spelling for all that a case-insensitive or normalising file system takes for the same name."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_git_name(part: str) -> bool:
    """Whether some file system takes this one name for `.git`: other case, NTFS and HFS+ spellings included."""
    if "g" not in part and "G" not in part:
        return False
    name = _HFS_IGNORED.sub("", part).casefold()
    name = name.split(":", 1)[0]  # NTFS: what follows a colon is a stream of the same folder
    return name.rstrip(". ") in _GIT_NAMES


def names_git(path: str) -> bool:
    """Whether any part of the path is `.git` to some file system. A back-slash separates too: on Windows it would."""
    return any(is_git_name(part) for part in path.replace("\\", "/").split("/"))


def _find(run: tuple[_Part, ...], parts: Sequence[str], start: int, limit: int) -> int | None:
    """The first place at or after `start` where the run matches and ends at or before `limit`."""
    if len(run) == 1:
        test = run[0]
        for position in range(start, limit):
            if test(parts[position]):
                return position
        return None
    for position in range(start, limit - len(run) + 1):
        if _run_at(run, parts, position):
            return position
    return None


def _run_at(run: tuple[_Part, ...], parts: Sequence[str], position: int) -> bool:
    if position + len(run) > len(parts):
        return False
    for offset, part in enumerate(run, start=position):  # a plain loop: this is the inner one of every decision
        if not part(parts[offset]):
            return False
    return True


def _compile(pattern: str, *, denies: bool, caseless: bool) -> _Matcher:
    parts, end = _shape(unicodedata.normalize("NFC", pattern), denies=denies)
    runs: list[list[_Part]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_compile_part(part, caseless=caseless))
    return _Matcher(pattern, tuple(tuple(run) for run in runs), end)


def _shape(pattern: str, *, denies: bool) -> tuple[list[str], _End]:
    """The parts of a pattern without what only says "and what is beneath", and what its last part has to meet."""
    parts = pattern.split("/")
    if parts[-1] == "" and set(parts[:-1]) == {"**"}:
        parts = ["**", "*", ""]  # gitignore: every folder, so not the files in the root
    if len(parts) == 1 or (len(parts) == 2 and parts[1] == ""):
        parts.insert(0, "**")
    if denies and parts[-1] == "*" and any(part not in ("*", "**") for part in parts):
        parts[-1] = "**"
    end = _End.EITHER
    while parts and parts[-1] in ("", "**"):
        parts.pop()
        end = _End.FOLDER
    if denies and parts:
        return parts, _End.EITHER
    if not denies and end is _End.EITHER and _mixes(parts[-1]):
        end = _End.WHOLE
    return parts, end


def _mixes(part: str) -> bool:
    """Whether a part has wildcards and text: `*.md`, `test_?`, `[ab]c`; not `*`, and not plain text."""
    return part.strip("*") != "" and any(character in part for character in "*?[")


def _compile_part(part: str, *, caseless: bool) -> _Part:
    if not part.strip("*"):
        return _anything
    if caseless and "[" not in part:  # a class is left to the expression's own case rule: `[A-Z]` must stay a range
        part = folded(part)
    if not any(character in part for character in "*?["):
        return part.__eq__
    return _wildcards(part, re.DOTALL | re.IGNORECASE if caseless else re.DOTALL)


def _anything(_: str) -> bool:
    return True


def _wildcards(part: str, flags: int) -> _Part:
    """A test of one name. Pieces between stars have a fixed length, so the earliest place of each is enough."""
    pieces: list[list[str]] = [[]]
    for token in split_classes(part):
        if token == "*":  # noqa: S105 - a wildcard, not a secret
            pieces.append([])
        else:
            pieces[-1].append(_character(token))
    compiled = [(re.compile("".join(piece), flags), len(piece)) for piece in pieces]
    (first, first_length), (last, last_length) = compiled[0], compiled[-1]
    middle = [expression for expression, length in compiled[1:-1] if length]

    def test(name: str) -> bool:
        if len(compiled) == 1:
            return len(name) == first_length and first.match(name) is not None
        if first.match(name) is None:
            return False
        position = first_length
        for expression in middle:
            found = expression.search(name, position)
            if found is None:
                return False
            position = found.end()
        tail = len(name) - last_length
        return tail >= position and last.match(name, tail) is not None

    return test


def _character(token: str) -> str:
    """The expression for one character: a class, `?`, or itself."""
    if token == "?":  # noqa: S105 - a wildcard, not a secret
        return "."
    if len(token) == 1:
        return re.escape(token)
    inner = token[1:-1]
    negated = inner[0] in "!^"
    members = inner[1:] if negated else inner
    return f"[{'^' if negated else ''}{_members(members)}]"


def _members(members: str) -> str:
    """The members of a class with everything escaped but the hyphen of a range."""
    written = []
    for position, character in enumerate(members):
        inner_hyphen = character == "-" and 0 < position < len(members) - 1
        written.append(character if inner_hyphen else re.escape(character))
    return "".join(written)
