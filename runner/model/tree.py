"""What is in a workspace: kinds of entries, entries as a scan reports them, and changes between two git trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

__all__ = ["EntryKind", "ScanEntry", "TreeChange", "TreeView"]


class EntryKind(StrEnum):
    """The kinds that the contract names. Everything that is not a file, folder or link is `other`."""

    FILE = "file"
    DIR = "dir"
    SYMLINK = "symlink"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ScanEntry:
    """One path below the workspace root as a scan saw it. `path` is relative, POSIX, without a leading `./`.

    `stamp` changes whenever content or metadata changed: it holds inode, size, mode, mtime and ctime, and ctime
    cannot be set by an unprivileged program.
    """

    path: str
    kind: EntryKind
    size: int
    mode: int
    stamp: str


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One path that differs between two git trees. `None` on a side means that the path is not there.

    Modes are git's (0o100644, 0o100755, 0o120000 link, 0o160000 gitlink); blobs are full object names. A rename is
    two changes, a removal and an addition.
    """

    path: str
    old_mode: int | None
    new_mode: int | None
    old_blob: str | None
    new_blob: str | None


class TreeView(Protocol):
    """The facts about the workspace that argv rules may ask for. Answers come from the untrusted side."""

    def kind(self, path: str) -> EntryKind | None:
        """What is at the workspace-relative path, links followed beneath the root; None when nothing is there."""
        ...

    def read_text(self, path: str) -> str | None:
        """The text of a regular file of at most 1 MiB, links followed beneath the root; None for anything else."""
        ...

    def created_by_run(self, path: str) -> bool:
        """Whether the real path behind `path` was not there when the run started."""
        ...

    def changed_by_run(self, path: str) -> bool:
        """Whether the real path behind `path` was there when the run started and has other content now."""
        ...

    def git_aliases(self) -> Mapping[str, str]:
        """Alias name (lower case) to value, from every scope and include that git would read for a command."""
        ...
