"""A tree that is described instead of looked at: facts about single paths, over another tree or over nothing.

Facts come from `--fact PATH=existed|changed|created|link|missing` and from the `facts:` of an example. A path that
nobody speaks of is as the tree beneath says; over nothing, it is not there. Paths are relative to the workspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from runner.model.tree import EntryKind
from runner.policy.answers import CommandTree
from runner.policy.paths import parse_path

__all__ = ["DescribedTree", "Fact", "FactState", "Place", "Terrain"]


class FactState(StrEnum):
    """What is true of a path at the moment of the call."""

    EXISTED = "existed"  # there, and as it was when the run started
    CHANGED = "changed"  # there, was there when the run started, has other content now
    CREATED = "created"  # there, made by the run
    LINK = "link"  # a symbolic link; where it leads is not told
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Fact:
    """One path's state; `text` is the file's text, of an existing one also at the start. None: not told."""

    state: FactState
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: the real path beneath the root, None outside it, and whether a link was on the way."""

    real_path: str | None
    via_link: bool = False


class Terrain(CommandTree, Protocol):
    """Everything that an explanation may ask about a tree."""

    def place(self, path: str) -> Place:
        """Where the cleaned path leads."""
        ...

    def existed_at_start(self, real_path: str) -> bool:
        """Whether the real path was there when the run started."""
        ...


class DescribedTree:
    """A `Terrain` made of facts, over another one or over nothing."""

    def __init__(self, facts: Mapping[str, Fact], beneath: Terrain | None = None) -> None:
        self._facts = {parse_path(path): fact for path, fact in facts.items()}
        self._beneath = beneath

    def kind(self, path: str) -> EntryKind | None:
        """A told path is a file (where a link leads nobody knows), and what is above one is a folder."""
        fact = self._facts.get(path)
        if fact is not None:
            return None if fact.state in (FactState.LINK, FactState.MISSING) else EntryKind.FILE
        if any(_there(fact) and name.startswith(f"{path}/") for name, fact in self._facts.items()) or path == ".":
            return EntryKind.DIR
        return None if self._beneath is None else self._beneath.kind(path)

    def read_text(self, path: str) -> str | None:
        """The text that was told."""
        if path in self._facts:
            return self._facts[path].text
        return None if self._beneath is None else self._beneath.read_text(path)

    def created_by_run(self, path: str) -> bool:
        """Whether it was told so."""
        if path in self._facts:
            return self._facts[path].state is FactState.CREATED
        return self._beneath is not None and self._beneath.created_by_run(path)

    def changed_by_run(self, path: str) -> bool:
        """Whether it was told so."""
        if path in self._facts:
            return self._facts[path].state is FactState.CHANGED
        return self._beneath is not None and self._beneath.changed_by_run(path)

    def git_aliases(self) -> Mapping[str, str]:
        """Those of the tree beneath; a fresh clone has none of its own."""
        return {} if self._beneath is None else self._beneath.git_aliases()

    def real_path(self, path: str) -> str:
        """The path itself, unless the tree beneath knows better."""
        return self.place(path).real_path or path

    def created_files(self) -> tuple[str, ...]:
        """What was told to be made by the run."""
        told = {path for path, fact in self._facts.items() if fact.state is FactState.CREATED}
        beneath = () if self._beneath is None else self._beneath.created_files()
        return tuple(sorted(told | {path for path in beneath if path not in self._facts}))

    def place(self, path: str) -> Place:
        """The path itself; through a link when it, or what is above it, was told to be one."""
        above = path.split("/")
        links = ("/".join(above[:length]) for length in range(1, len(above) + 1))
        if any(name in self._facts and self._facts[name].state is FactState.LINK for name in links):
            return Place(path, via_link=True)
        if path in self._facts or self._beneath is None:
            return Place(path)
        return self._beneath.place(path)

    def existed_at_start(self, real_path: str) -> bool:
        """Whether it was told so."""
        if real_path in self._facts:
            return self._facts[real_path].state in (FactState.EXISTED, FactState.CHANGED)
        return self._beneath is not None and self._beneath.existed_at_start(real_path)

    def assumes(self, real_path: str) -> bool:
        """Whether nobody has told of the path and no tree was looked at, so that it counts as not there."""
        return self._beneath is None and real_path not in self._facts

    def told(self) -> Mapping[str, Fact]:
        """The facts by cleaned path."""
        return self._facts


def _there(fact: Fact) -> bool:
    return fact.state is not FactState.MISSING
