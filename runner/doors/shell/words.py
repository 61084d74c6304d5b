"""From a line that a person typed to a call: short words for each tool, or a tool's own name with its arguments.

Words are split as a shell splits them, and nothing else of a shell: no variables, no globs, no pipes.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.tools.registry import TOOLS

__all__ = ["SHORT", "Misread", "ShortWord", "read_line"]


class Misread(Exception):
    """The line is no call; the message says how it would be one."""


@dataclass(frozen=True, slots=True)
class ShortWord:
    """A short word for a tool. `least` words have to follow it; `paths` says which of them are paths, None all."""

    tool: str
    usage: str
    least: int
    arguments: Callable[[Sequence[str]], dict[str, Any]]
    paths: frozenset[int] | None = frozenset({0})


def _read(words: Sequence[str]) -> dict[str, Any]:
    window = dict(zip(("startLine", "limit"), (_number(word) for word in words[1:3]), strict=False))
    return {"path": words[0], **window}


def _number(word: str) -> int:
    if not word.isdecimal():
        raise Misread(f"{word!r} is no number.")
    return int(word)


def _search(words: Sequence[str]) -> dict[str, Any]:
    return {"pattern": words[0], **({"globs": list(words[1:])} if words[1:] else {})}


SHORT: Mapping[str, ShortWord] = {
    "read": ShortWord("workspace.read_file", "read PATH [FIRST-LINE [LINES]]", 1, _read),
    "ls": ShortWord("workspace.list_dir", "ls [PATH]", 0, lambda w: {"path": w[0] if w else "."}),
    "write": ShortWord("workspace.write_file", "write PATH TEXT", 2, lambda w: {"path": w[0], "content": w[1] + "\n"}),
    "rm": ShortWord("workspace.delete_file", "rm PATH", 1, lambda w: {"path": w[0]}),
    "edit": ShortWord(
        "workspace.edit", "edit PATH OLD NEW", 3, lambda w: {"path": w[0], "oldString": w[1], "newString": w[2]}
    ),
    "search": ShortWord("workspace.search", "search TEXT [GLOB ...]", 1, _search, frozenset()),
    "run": ShortWord("workspace.run_command", "run PROGRAM [WORD ...]", 1, lambda w: {"argv": list(w)}, None),
    "git": ShortWord("git", "git WORD ...", 1, lambda w: {"args": list(w)}, None),
    "commit": ShortWord("workspace.git_commit", "commit MESSAGE", 1, lambda w: {"message": " ".join(w)}, frozenset()),
    "push": ShortWord("workspace.git_push", "push", 0, lambda _w: {}, frozenset()),
}


def read_line(line: str) -> tuple[str, dict[str, Any]]:
    """The tool and its arguments.

    Raises:
        Misread: with the usage.
    """
    first, _, rest = line.strip().partition(" ")
    short = SHORT.get(first)
    if short is not None:
        words = _split(rest)
        if len(words) < short.least:
            raise Misread(f"Say: {short.usage}")
        return short.tool, short.arguments(words)
    if first in TOOLS:
        return first, _named(rest.strip())
    raise Misread(f"{first!r} is no word here. Words: {', '.join(SHORT)}; or a tool's name; or :help.")


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Misread(f"The words cannot be told apart: {error}.") from None


def _named(text: str) -> dict[str, Any]:
    """Arguments as one JSON object, or as NAME=VALUE words whose values are JSON or else text."""
    if text.startswith("{"):
        try:
            given = json.loads(text)
        except ValueError as error:
            raise Misread(f"The JSON cannot be read: {error}.") from None
        return dict(given)
    arguments: dict[str, Any] = {}
    for word in _split(text):
        name, equals, value = word.partition("=")
        if not equals:
            raise Misread(f"{word!r} is not NAME=VALUE.")
        arguments[name] = _value(value)
    return arguments


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
