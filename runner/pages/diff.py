"""A patch of git's as a page shows it: per file, with what kind each line is. Bounded, and what is cut is told.

Lines are counted by the heads of their hunks, as git does it, so that a removed line which reads like another file's
head stays a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from runner.pages.untrusted import Untrusted, untrusted

__all__ = ["Diff", "DiffFile", "DiffLine", "read_diff"]

_MAX_FILES = 300
_MAX_LINES = 1500  # of one file
_MAX_CHARACTERS = 1000  # of one line
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)
_KINDS = {"+": "added", "-": "removed", " ": "same", "\\": "note"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """`kind`: added, removed, same, note or hunk. `old` and `new` number the line in its file before and after."""

    kind: str
    text: Untrusted
    old: int | None = None
    new: int | None = None


@dataclass(slots=True)
class DiffFile:
    """One file; `kind`: changed, created or deleted. `cut` counts its lines that are not shown."""

    path: Untrusted
    kind: str = "changed"
    binary: bool = False
    added: int = 0
    removed: int = 0
    lines: list[DiffLine] = field(default_factory=list)
    notes: list[Untrusted] = field(default_factory=list)
    cut: int = 0

    def take(self, line: DiffLine) -> None:
        """One more line, kept while there is room."""
        self.added += line.kind == "added"
        self.removed += line.kind == "removed"
        if len(self.lines) < _MAX_LINES:
            self.lines.append(line)
        else:
            self.cut += 1


@dataclass(frozen=True, slots=True)
class Diff:
    """The files that are shown, how many are not, and the bytes of the patch that were not looked at."""

    files: tuple[DiffFile, ...]
    unlisted: int
    unread_bytes: int


def read_diff(patch: bytes, size: int) -> Diff:
    """The diff in the first bytes of a patch that has `size` bytes in all."""
    files = list(_files(iter(patch.decode("utf-8", "backslashreplace").split("\n"))))
    return Diff(tuple(files[:_MAX_FILES]), max(0, len(files) - _MAX_FILES), max(0, size - len(patch)))


def _files(lines: Iterator[str]) -> Iterator[DiffFile]:
    file: DiffFile | None = None
    for line in lines:
        if line.startswith("diff --git "):
            if file is not None:
                yield file
            file = DiffFile(untrusted(_first_name(line)))
        elif file is not None:
            _take(file, line, lines)
    if file is not None:
        yield file


def _first_name(head: str) -> str:
    """The name in `diff --git a/X b/X`: both are the same, since renames are not looked for."""
    names = head.removeprefix("diff --git ")
    one = names[: (len(names) - 1) // 2]
    return one.removeprefix('"').removeprefix("a/").removesuffix('"')


def _take(file: DiffFile, line: str, rest: Iterator[str]) -> None:
    hunk = _HUNK.match(line)
    if hunk is not None:
        file.take(DiffLine("hunk", untrusted(line, _MAX_CHARACTERS)))
        _take_hunk(file, hunk, rest)
    elif line.startswith(("GIT binary patch", "Binary files ")):
        file.binary = True
    elif line.startswith("new file mode "):
        file.kind = "created"
        mode = line.removeprefix("new file mode ")
        if mode != "100644":  # a program, a link: what a reader wants to know
            file.notes.append(untrusted(f"mode {mode}"))
    elif line.startswith("deleted file mode "):
        file.kind = "deleted"
    elif line.startswith(("old mode ", "new mode ")):
        file.notes.append(untrusted(line))
    elif line.startswith("\\"):
        file.take(DiffLine("note", untrusted(line, _MAX_CHARACTERS)))


def _take_hunk(file: DiffFile, head: re.Match[str], rest: Iterator[str]) -> None:
    old, new = int(head[1]), int(head[3])
    old_end, new_end = old + int(head[2] or 1), new + int(head[4] or 1)
    while old < old_end or new < new_end:
        line = next(rest, None)
        if line is None:
            return
        kind = _KINDS.get(line[:1], "same")
        before, after = kind in ("removed", "same"), kind in ("added", "same")
        text = untrusted(line[1:], _MAX_CHARACTERS)
        file.take(DiffLine(kind, text, old if before else None, new if after else None))
        old, new = old + before, new + after
