"""Shell text taken apart far enough to see which commands it would start. Nothing here runs a shell.

Package scripts and shell aliases are read as text: operators, new lines and substitutions end a command, assignments
before a command are its environment. What only a running shell can know (variables, functions) is not guessed.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

__all__ = ["ShellCommand", "assignment", "commands_in"]

_MAX_QUOTED_LENGTH = (
    16 * 1024
)  # longer text is split at blanks and operators only: shlex is slow, and no script is so long
_OPERATORS = frozenset("();<>|&{}!")
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "time", "exec", "command", "builtin", "nohup"}
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SUBSTITUTION = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
_REDIRECTION = re.compile(r"[<>]+[&|]?")  # all else that is made of operators ends a command: in dash, `&>` does
_INTO_A_FILE = re.compile(r"[<>][&|]?$")  # the next word names a file
_CRUDE = re.compile(r"[\s\"']+")


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of a shell line: the assignments before it, and its words."""

    environment: tuple[tuple[str, str], ...]
    words: tuple[str, ...]


def assignment(word: str) -> tuple[str, str] | None:
    """Name and value of a word of the form NAME=VALUE."""
    found = _ASSIGNMENT.fullmatch(word)
    return (found[1], found[2]) if found else None


def commands_in(text: str) -> list[ShellCommand]:
    """The commands that the text would start, in order, those in substitutions last."""
    commands: list[list[str]] = [[]]
    redirected = False
    for token in _tokens(text):
        operator = token != "" and set(token) <= _OPERATORS
        if operator and not _REDIRECTION.fullmatch(token):
            commands.append([])
        elif not operator and not redirected:
            commands[-1].append(token)
        redirected = operator and _INTO_A_FILE.search(token) is not None
    found = [_command(words) for words in commands if words]
    if len(text) <= _MAX_QUOTED_LENGTH:
        for inner in _SUBSTITUTION.finditer(text):
            found.extend(_command(words) for words in _split_plain(inner[1] or inner[2] or "") if words)
    return found


def _tokens(text: str) -> list[str]:
    if len(text) <= _MAX_QUOTED_LENGTH:
        lexer = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            return list(lexer)
        except ValueError:
            pass  # unbalanced quotes: a shell would refuse it too, but look all the same
    return [token for words in _split_plain(text) for token in (*words, ";")]


def _split_plain(text: str) -> list[list[str]]:
    return [[word for word in _CRUDE.split(part) if word] for part in re.split(r"[;&|()\n`]+", text)]


def _command(words: list[str]) -> ShellCommand:
    environment: list[tuple[str, str]] = []
    for index, word in enumerate(words):
        pair = assignment(word)
        if pair is not None:
            environment.append(pair)
        elif word not in _KEYWORDS and word not in ("{", "}", "!"):
            return ShellCommand(tuple(environment), tuple(words[index:]))
    return ShellCommand(tuple(environment), ())
