"""A `TreeView` that remembers its answers and takes only so many questions for one decision."""

from __future__ import annotations

from collections.abc import Mapping

from runner.model.tree import EntryKind, TreeView

__all__ = ["MAX_QUESTIONS", "BoundedTree", "TooManyQuestions"]

MAX_QUESTIONS = 4000
"""Each question may cost a round trip into the sandbox; 1000 named test files need about 2000."""


class TooManyQuestions(Exception):
    """The argv names more files than one decision looks at."""


class BoundedTree:
    """Answers as the tree behind it does; asks it every question once.

    Every method raises TooManyQuestions when the bound is reached.
    """

    def __init__(self, tree: TreeView) -> None:
        self._tree = tree
        self._left = MAX_QUESTIONS
        self._kinds: dict[str, EntryKind | None] = {}
        self._texts: dict[str, str | None] = {}
        self._created: dict[str, bool] = {}
        self._changed: dict[str, bool] = {}
        self._aliases: Mapping[str, str] | None = None

    def kind(self, path: str) -> EntryKind | None:
        """What is at the path."""
        if path not in self._kinds:
            self._count()
            self._kinds[path] = self._tree.kind(path)
        return self._kinds[path]

    def read_text(self, path: str) -> str | None:
        """The text of a regular file."""
        if path not in self._texts:
            self._count()
            self._texts[path] = self._tree.read_text(path)
        return self._texts[path]

    def created_by_run(self, path: str) -> bool:
        """Whether the run made the file."""
        if path not in self._created:
            self._count()
            self._created[path] = self._tree.created_by_run(path)
        return self._created[path]

    def changed_by_run(self, path: str) -> bool:
        """Whether the run changed the file."""
        if path not in self._changed:
            self._count()
            self._changed[path] = self._tree.changed_by_run(path)
        return self._changed[path]

    def git_aliases(self) -> Mapping[str, str]:
        """Aliases as git reads them."""
        if self._aliases is None:
            self._count()
            self._aliases = self._tree.git_aliases()
        return self._aliases

    def _count(self) -> None:
        if self._left == 0:
            raise TooManyQuestions
        self._left -= 1
