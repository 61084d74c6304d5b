"""What argv rules asked of the tree and were told: kept while a run goes on, given again when it is re-judged.

A record holds answers, not files: of a package.json only what the rules read of it (`scripts`, `main`), of any other
file's text nothing. It is bounded; what did not fit, was hidden, or was never asked is `Unrecorded`, and no answer is
made up for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from runner.model.tree import EntryKind, TreeView

__all__ = ["MAX_ANSWER_BYTES", "CommandTree", "RecordedTree", "RecordingTree", "Unrecorded"]

MAX_ANSWER_BYTES = 64 * 1024
"""All answers of one decision, as text. An ordinary command asks ten questions and reads one package.json."""

_BOM = "\ufeff"


class Unrecorded(Exception):
    """The record does not hold the fact that a decision depends on. The text says which, in a few words."""


class CommandTree(TreeView, Protocol):
    """A `TreeView` that also knows where paths really lead and which files the run made."""

    def real_path(self, path: str) -> str:
        """Where the path leads, links resolved; the path itself where that cannot be told."""
        ...

    def created_files(self) -> tuple[str, ...]:
        """The real paths of everything that the run made and that is there now."""
        ...


class RecordingTree:
    """Answers as the tree behind it does, and keeps the answers until the bound is reached."""

    def __init__(self, tree: CommandTree) -> None:
        self._tree = tree
        self._kept: dict[str, dict[str, Any]] = {"kind": {}, "text": {}, "created": {}, "changed": {}, "real": {}}
        self._whole: dict[str, Any] = {}
        self._room = MAX_ANSWER_BYTES
        self._cut = False

    def kind(self, path: str) -> EntryKind | None:
        """What is at the path."""
        answer = self._tree.kind(path)
        self._keep("kind", path, None if answer is None else str(answer))
        return answer

    def read_text(self, path: str) -> str | None:
        """The text of a regular file."""
        answer = self._tree.read_text(path)
        if answer is None or path.rpartition("/")[2] == "package.json":
            self._keep("text", path, None if answer is None else _manifest(answer))
        return answer

    def created_by_run(self, path: str) -> bool:
        """Whether the run made the file."""
        answer = self._tree.created_by_run(path)
        self._keep("created", path, answer)
        return answer

    def changed_by_run(self, path: str) -> bool:
        """Whether the run changed the file."""
        answer = self._tree.changed_by_run(path)
        self._keep("changed", path, answer)
        return answer

    def real_path(self, path: str) -> str:
        """Where the path leads."""
        answer = self._tree.real_path(path)
        self._keep("real", path, answer)
        return answer

    def git_aliases(self) -> Mapping[str, str]:
        """Aliases as git reads them."""
        answer = self._tree.git_aliases()
        self._keep_whole("aliases", dict(answer))
        return answer

    def created_files(self) -> tuple[str, ...]:
        """What the run made."""
        answer = self._tree.created_files()
        self._keep_whole("created_files", answer)
        return answer

    def answers(self) -> dict[str, Any]:
        """The record, as JSON; `cut` says that not every answer fitted."""
        kept = {name: dict(answers) for name, answers in self._kept.items() if answers}
        return {**kept, **self._whole, **({"cut": True} if self._cut else {})}

    def _keep(self, question: str, path: str, answer: str | bool | None) -> None:
        size = len(path) + (len(answer) if isinstance(answer, str) else 0) + 8
        if path not in self._kept[question] and self._fits(size):
            self._kept[question][path] = answer

    def _keep_whole(self, name: str, answer: Mapping[str, str] | tuple[str, ...]) -> None:
        pairs = answer.items() if isinstance(answer, Mapping) else ((path, "") for path in answer)
        if name not in self._whole and self._fits(sum(len(key) + len(value) + 8 for key, value in pairs)):
            self._whole[name] = dict(answer) if isinstance(answer, Mapping) else list(answer)

    def _fits(self, size: int) -> bool:
        if size > self._room:
            self._cut = True
            return False
        self._room -= size
        return True


class RecordedTree:
    """A `CommandTree` over a record. Every method raises Unrecorded for what the record does not hold."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def kind(self, path: str) -> EntryKind | None:
        """What was at the path."""
        answer = self._answer("kind", path, (str, type(None)))
        if answer is not None and answer not in set(EntryKind):
            raise Unrecorded(f"the kind of {path}")
        return None if answer is None else EntryKind(answer)

    def read_text(self, path: str) -> str | None:
        """What the rules read of the file."""
        text: str | None = self._answer("text", path, (str, type(None)))
        return text

    def created_by_run(self, path: str) -> bool:
        """Whether the run had made the file."""
        return bool(self._answer("created", path, bool))

    def changed_by_run(self, path: str) -> bool:
        """Whether the run had changed the file."""
        return bool(self._answer("changed", path, bool))

    def real_path(self, path: str) -> str:
        """Where the path led. What the run made is listed by real paths, so those lead to themselves."""
        made = self._answers.get("created_files")
        if isinstance(made, list) and path in made:
            return path
        return str(self._answer("real", path, str))

    def git_aliases(self) -> Mapping[str, str]:
        """The aliases at that moment."""
        answer = self._answers.get("aliases")
        if not isinstance(answer, dict) or not all(isinstance(value, str) for value in answer.values()):
            raise Unrecorded("git's aliases")
        return answer

    def created_files(self) -> tuple[str, ...]:
        """What the run had made at that moment."""
        answer = self._answers.get("created_files")
        if not isinstance(answer, list) or not all(isinstance(path, str) for path in answer):
            raise Unrecorded("which files the run had made")
        return tuple(answer)

    def _answer(self, question: str, path: str, types: type | tuple[type, ...]) -> Any:
        answers = self._answers.get(question)
        if not isinstance(answers, dict) or path not in answers or not isinstance(answers[path], types):
            raise Unrecorded(f"{_QUESTIONS[question]} {path}")
        return answers[path]


_QUESTIONS = {
    "kind": "the kind of",
    "text": "the text of",
    "created": "whether the run had made",
    "changed": "whether the run had changed",
    "real": "where the path really leads:",
}


def _manifest(text: str) -> str:
    """What the rules read of a package.json, as one; text that is none stays none."""
    bom = _BOM if text.startswith(_BOM) else ""  # Node does not find a `main` behind it, the script runners do
    try:
        manifest = json.loads(text.removeprefix(_BOM))
    except (ValueError, RecursionError):
        return bom
    if not isinstance(manifest, dict):
        return bom
    scripts, main = manifest.get("scripts"), manifest.get("main")
    kept: dict[str, Any] = {}
    if isinstance(scripts, dict):
        kept["scripts"] = {name: line for name, line in scripts.items() if isinstance(line, str)}
    if isinstance(main, str):
        kept["main"] = main
    return bom + json.dumps(kept, ensure_ascii=True)
