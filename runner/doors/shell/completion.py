"""Completion at the prompt: words, tools, their arguments' names, and paths as the host knows them.

Paths come from the run's own account of the tree. Asking the workspace would count as a call, and use up the budget.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from runner.doors.render import visible
from runner.doors.shell.words import SHORT
from runner.tools.registry import TOOLS

__all__ = ["WordCompleter"]

_MAX_SHOWN = 200


class WordCompleter(Completer):
    """Completes a line. `paths` gives the paths of the tree, `commands` are the words that begin with a colon."""

    def __init__(self, paths: Callable[[], Iterable[str]], commands: Iterable[str]) -> None:
        self._paths = paths
        self._commands = tuple(commands)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """What may stand at the cursor."""
        del complete_event
        before = document.text_before_cursor.lstrip()
        words = before.split(" ")
        for found in list(self._candidates(words))[:_MAX_SHOWN]:
            yield Completion(found, start_position=-len(words[-1]), display=visible(found))

    def _candidates(self, words: list[str]) -> Iterator[str]:
        first, last = words[0], words[-1]
        if len(words) == 1:
            yield from (word for word in (*SHORT, *self._commands, *TOOLS) if word.startswith(last))
        elif first in SHORT:
            places = SHORT[first].paths
            if places is None or len(words) - 2 in places:
                yield from self._beneath(last)
        elif first in TOOLS:
            fields: Any = TOOLS[first].arguments.model_fields
            yield from (f"{name}=" for name in fields if name.startswith(last))
            name, equals, begun = last.partition("=")
            if equals and name == "path":
                yield from (f"path={path}" for path in self._beneath(begun))

    def _beneath(self, begun: str) -> Iterator[str]:
        """The next part of each path that begins so: a folder with its slash, or a file; quoted where it has to be."""
        seen: set[str] = set()
        for path in self._paths():
            if path.startswith(begun):
                head, slash, _ = path[len(begun) :].partition("/")
                seen.add(begun + head + slash)
        yield from (shlex.quote(path) for path in sorted(seen) if f"{path}/" not in seen)
