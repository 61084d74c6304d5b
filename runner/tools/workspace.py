"""What a tool may do: the workspace as the controller hands it to tools, every method already under policy.

A tool gets no engine and no sandbox. Whatever it asks here has been decided on the real path, audited and bounded by
the controller before it takes effect; a refusal is a `ToolError`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from runner.model.tree import EntryKind

__all__ = [
    "MAX_TOOL_FILE_BYTES",
    "CommandOutcome",
    "CommitOutcome",
    "DirEntry",
    "FileBytes",
    "Found",
    "PushedBranch",
    "SearchQuery",
    "ToolWorkspace",
]

MAX_TOOL_FILE_BYTES = 50 * 1024 * 1024
"""The largest file that the file tools read, edit or write. Larger ones are a command's business."""


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file's whole content; `sha256` makes a later write conditional on nobody having changed it."""

    data: bytes

    @property
    def sha256(self) -> str:
        """In hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One name in a folder."""

    name: str
    kind: EntryKind
    size: int


@dataclass(frozen=True, slots=True)
class Found:
    """One matching line."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for, already validated; `max_results` at most 500."""

    pattern: str
    globs: tuple[str, ...]
    ignore_case: bool
    regex: bool
    max_results: int


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command ended; `code` is None only when it was killed before it ended by itself.

    The last two are about what it wrote outside the policy's patterns, where the policy takes that back.
    """

    code: int | None
    stdout: str
    stderr: str
    truncated: bool
    timed_out: bool
    timeout_secs: float
    duration_ms: float
    killed_by: str | None
    limits_hit: tuple[str, ...]
    outside_writes: tuple[str, ...]
    reverted: tuple[str, ...] = ()
    not_reverted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """The commit that was made, and the paths that it changes against its parent."""

    commit: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PushedBranch:
    """What the remote has now; `pushed` is False when it had it already."""

    branch: str
    commit: str
    pushed: bool


class ToolWorkspace(Protocol):
    """The workspace under policy. Every method may raise ToolError; its code is in the tool contract."""

    def read(self, path: str) -> FileBytes:
        """The bytes of a regular file beneath the root, links followed."""
        ...

    def read_for_edit(self, path: str) -> FileBytes:
        """The same, but only where an edit of it would be allowed: policy comes before existence and content."""
        ...

    def list_dir(self, path: str) -> tuple[tuple[DirEntry, ...], bool]:
        """The sorted entries of a folder and whether there were more than the bound."""
        ...

    def write(self, path: str, data: bytes, *, expect: str | None = None) -> None:
        """The file has exactly `data`."""
        ...

    def delete(self, path: str) -> None:
        """The file or link is gone."""
        ...

    def search(self, query: SearchQuery) -> tuple[tuple[Found, ...], bool]:
        """Matching lines and whether there are more."""
        ...

    def command(self, argv: list[str], *, tool: str) -> CommandOutcome:
        """Run an allowed argv to its end or its bounds. `tool` is `run_command` or `git`."""
        ...

    def commit(self, message: str) -> CommitOutcome:
        """Everything that changed is committed on the current branch, the repository's hooks having run."""
        ...

    def push(self) -> PushedBranch:
        """The current branch is on the bound remote, the repository's pre-push hook having run."""
        ...
