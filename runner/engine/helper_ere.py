r"""POSIX extended regular expressions, rewritten into the part that the search program and Python's `re` share.

Both speak dialects in which the same text can mean something else: `a+?` is lazy there, `[a\]` escapes there, and
`\d` is a digit. So the expression is read by POSIX rules and written out anew, every literal escaped, every class
spelled out. Where POSIX leaves a case open, the answer is that of GNU grep -E, without its warnings: a repetition with
nothing before it repeats nothing, `{` that starts no interval is a character, a `)` too many is one, and `\<`, `\>`,
`\b`, `\B`, `\w`, `\W`, `\s`, `\S` exist. Classes are ASCII, as in the C locale.

Refused, because a wrong answer would be worse than none: back-references (not in POSIX, and not linear in time), other
escaped letters and digits, collating elements of several characters, and what POSIX calls an error.
"""

from __future__ import annotations

import re
from typing import NoReturn

__all__ = ["BadPattern", "translate_ere"]

_PATTERN_MAX_CHARS = 10_000
_REPEAT_MAX = 255  # RE_DUP_MAX's minimum in POSIX
_DEPTH_MAX = 100  # the search program refuses at 250
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\t\n\x0b\x0c\r ",
    "blank": r"\t ",
    "punct": r"!-/:-@\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
    "xdigit": "0-9A-Fa-f",
}
_ESCAPES = {
    "<": r"\b", ">": r"\b", "b": r"\b", "B": r"\B",
    "w": "[a-zA-Z0-9_]", "W": "[^a-zA-Z0-9_]", "s": r"[\t\n\x0b\x0c\r ]", "S": r"[^\t\n\x0b\x0c\r ]",
}  # fmt: skip
_ASSERTIONS = frozenset("<>bB")
_INTERVAL = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
_SPECIAL = frozenset(r"\.[](){}*+?^$|-&~#")


class BadPattern(ValueError):
    """The text is no expression that can be answered faithfully. The message says why."""


def translate_ere(pattern: str) -> str:
    """The same expression for the search program and for `re`.

    Raises:
        BadPattern: as the module says.
    """
    if len(pattern) > _PATTERN_MAX_CHARS:
        _refuse(f"longer than {_PATTERN_MAX_CHARS} characters")
    if "\n" in pattern or "\0" in pattern:
        _refuse("a line holds neither a line end nor NUL")
    return _Translation(pattern).run()


def _refuse(why: str) -> NoReturn:
    raise BadPattern(why)


class _Translation:
    """Reads the pattern once, left to right, without recursion."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.groups: list[list[str]] = [[]]  # one list of finished pieces for each open group
        self.repeatable = False  # whether the last piece is something that can be repeated

    def run(self) -> str:
        """The whole pattern, rewritten."""
        while self.position < len(self.pattern):
            self._step(self.pattern[self.position])
        if len(self.groups) > 1:
            _refuse("a `(` is not closed")
        return "".join(self.groups[0])

    def _step(self, char: str) -> None:
        if char == "(":
            self._open()
        elif char == ")" and len(self.groups) > 1:
            self._close()
        elif char in "|^$":
            self._put(char, repeatable=False)
        elif char in "*+?":
            self.position += 1
            self._repeat(char)
        elif char == "{" and (interval := self._interval()) is not None:
            self._repeat(interval)
        elif char == "[":
            self._put_bracket()
        elif char == "\\":
            self._put_escape()
        elif char == ".":
            self._put(".")
        else:
            self._put(_literal(char))

    def _put(self, piece: str, *, width: int = 1, repeatable: bool = True) -> None:
        self.groups[-1].append(piece)
        self.position += width
        self.repeatable = repeatable

    def _open(self) -> None:
        if len(self.groups) > _DEPTH_MAX:
            _refuse("groups are nested too deep")
        self.groups.append([])
        self.position += 1
        self.repeatable = False

    def _close(self) -> None:
        content = "".join(self.groups.pop())
        self._put(f"(?:{content})")

    def _repeat(self, operator: str) -> None:
        """Repeats the last piece; wrapped, because two operators in a row mean something else in the target."""
        if self.repeatable:
            pieces = self.groups[-1]
            pieces[-1] = f"(?:{pieces[-1]}{operator})"

    def _interval(self) -> str | None:
        """The repetition that starts here, moved past; None where `{` is just a character."""
        match = _INTERVAL.match(self.pattern, self.position)
        if match is None or not (match[1] or match[2]):
            return None
        low = int((match[1] or "0")[:6])
        high = int(match[3][:6]) if match[3] else None
        if low > _REPEAT_MAX or (high or 0) > _REPEAT_MAX:
            _refuse(f"a repetition of more than {_REPEAT_MAX}")
        if high is not None and high < low:
            _refuse("a repetition whose end is below its start")
        self.position = match.end()
        if not match[2]:
            return f"{{{low}}}"
        return f"{{{low},{'' if high is None else high}}}"

    def _put_escape(self) -> None:
        following = self.pattern[self.position + 1 : self.position + 2]
        if not following:
            _refuse("a backslash at the end")
        if following in _ESCAPES:
            self._put(_ESCAPES[following], width=2, repeatable=following not in _ASSERTIONS)
        elif following.isdigit():
            _refuse("back-references are not part of POSIX extended expressions")
        elif following.isalpha():
            _refuse(f"`\\{following}` has no meaning in POSIX; for classes write for example [[:digit:]]")
        else:
            self._put(_literal(following), width=2)

    def _put_bracket(self) -> None:
        """A bracket expression: backslash is itself in it, `]` comes first to be itself, classes are spelled out."""
        position = self.position + 1
        negated = self.pattern.startswith("^", position)
        position += negated
        items: list[str] = []
        first = True
        while first or not self.pattern.startswith("]", position):
            first = False
            item, position, single = self._bracket_item(position)
            if self.pattern.startswith("-", position) and self.pattern[position + 1 : position + 2] not in ("]", ""):
                end, position, end_single = self._bracket_item(position + 1)
                if not single or not end_single:
                    _refuse("a range needs a character at both ends")
                if ord(end) < ord(item):
                    _refuse("a range whose end is below its start")
                items.append(f"{_literal(item)}-{_literal(end)}")
            else:
                items.append(_literal(item) if single else item)
        self.groups[-1].append(f"[{'^' if negated else ''}{''.join(items)}]")
        self.position = position + 1
        self.repeatable = True

    def _bracket_item(self, position: int) -> tuple[str, int, bool]:
        """What stands at `position` in a bracket, the position behind it, and whether it is one character."""
        pattern = self.pattern
        if position >= len(pattern):
            _refuse("a `[` is not closed")
        kind = pattern[position + 1 : position + 2]
        if pattern[position] != "[" or kind not in (":", ".", "=") or not kind:
            return pattern[position], position + 1, True
        end = pattern.find(kind + "]", position + 2)
        name = pattern[position + 2 : end]
        if end < 0:
            _refuse("a `[` is not closed")
        if kind == ":":
            if name not in _CLASSES:
                _refuse(f"there is no class [:{name[:20]}:]")
            return _CLASSES[name], end + 2, False
        if len(name) != 1:
            _refuse("collating elements of several characters are not supported")
        return name, end + 2, True


def _literal(char: str) -> str:
    """The character itself, in and out of brackets."""
    return f"\\{char}" if char in _SPECIAL else char
