"""What the hostile repositories are made with: a place to put them, and traps that tell when they are sprung."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.evil_listener import EvilListener
from tests.support.repos import Commit, bare_repository

__all__ = [
    "BORROWED",
    "CLEAN",
    "OBJECTS",
    "OUTSIDE",
    "SPECIAL_FILE",
    "UNAVAILABLE",
    "Flaw",
    "Site",
    "Trap",
    "hostile_site",
]

CLEAN = "clean"
"""The outcome of a fetch that is made although the repository is hostile: its flaw does nothing to who fetches."""

BORROWED = "borrowed"
"""The outcome of a fetch that brought in what belongs to another repository of this host. None may have it."""

OBJECTS = "repository_objects_refused"
UNAVAILABLE = "repository_unavailable"
SPECIAL_FILE = "repository_special_file"
OUTSIDE = "repository_outside_folder"


@dataclass(frozen=True)
class Trap:
    """Programs that leave a mark on this host, or call the listener where they run elsewhere."""

    marks: Path
    evil: EvilListener

    def shell(self, name: str) -> str:
        """Shell text that springs the trap, for settings that a shell reads."""
        mark = shlex.quote(str(self.marks / name))
        return f"touch {mark} 2>/dev/null; bash -c {shlex.quote(self.evil.call(name))} # "

    def program(self, path: Path, name: str) -> str:
        """The path of a program that springs the trap and then does what it was asked to."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\n{self.shell(name)}\nexec "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def sprung(self) -> list[str]:
        """The names of the traps that left a mark."""
        return sorted(path.name for path in self.marks.iterdir())


@dataclass(frozen=True)
class Site:
    """One hostile repository in the making. `repository` is bare, with two commits on main; `outside` is beside it."""

    repository: Path
    outside: Path
    trap: Trap

    @property
    def somebody_elses(self) -> Path:
        """Where a repository lies that the hostile one may try to borrow from."""
        return self.outside / "somebody-elses.git"

    def make_somebody_elses(self) -> Path:
        """That repository; its main is a commit that no other has."""
        return bare_repository(self.somebody_elses, [Commit({"secret": "not yours\n"})])

    def configure(self, text: str) -> None:
        """The text stands at the end of the repository's own configuration. By hand: git might act on it."""
        with (self.repository / "config").open("a", encoding="utf-8") as config:
            config.write(text)

    def configure_key(self, *keys: str, value: str) -> None:
        """Each key (`section.name` or `section.sub.name`) has this value."""
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        for key in keys:
            section, _, name = key.rpartition(".")
            head, dot, sub = section.partition(".")
            self.configure(f'[{head} "{sub}"]\n' if dot else f"[{head}]\n")
            self.configure(f'\t{name} = "{quoted}"\n')

    def ref(self, name: str, value: str) -> None:
        """The loose ref holds this, whether or not git would allow it."""
        path = self.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Flaw:
    """A way to be hostile, and what comes of a fetch.

    `local` and `served` are outcomes over file:// and over https: CLEAN, BORROWED, the code of the refusal, or None
    where the flaw cannot be met that way. `seconds` bounds the fetch; short for what makes git wait for ever.
    """

    arm: Callable[[Site], None]
    local: str | None
    served: str | None
    seconds: float = 60

    @property
    def name(self) -> str:
        """What the flaw is called."""
        return self.arm.__name__


def hostile_site(folder: Path, marks: Path, evil: EvilListener) -> Site:
    """A repository that nothing is wrong with yet."""
    marks.mkdir()
    repository = bare_repository(folder / "hostile.git", [Commit({"a": "1\n"}), Commit({"a": "2\n", "b/c": "3\n"})])
    (folder / "outside").mkdir()
    return Site(repository, folder / "outside", Trap(marks, evil))
