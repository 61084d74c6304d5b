"""A working tree of this host, read as data for an explanation: nothing in it is executed and no link is followed.

The tree may be hostile. Every folder on the way to a path is opened by itself, without following links, beneath the
root's own descriptor; what a link says is text, and is taken apart here, so it can lead nowhere but to another path
beneath the root. What git has tracked counts as there when the run starts, since a run begins with a clone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.doors.git_index import MAX_INDEX_BYTES, tracked_paths
from runner.model.errors import UsageError
from runner.model.tree import EntryKind
from runner.policy.facts_file import Place

__all__ = ["LocalTree"]

_MAX_TEXT_BYTES = 1024 * 1024  # as in a run
_MAX_LINKS = 40  # Linux's own bound on links in one path
_MAX_OPENED = 20_000  # folders opened for one path: ten times what the deepest path has
_INSIDE = "/workspace"  # where a run would have the tree
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class LocalTree:
    """A `Terrain` over one folder. Close it when done."""

    def __init__(self, root: Path) -> None:
        try:
            self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            hint = "Name the folder of a working tree."
            raise UsageError(f"--repo {root} cannot be read: {error.strerror}", hint=hint) from error
        self._tracked = self._read_index()

    def close(self) -> None:
        """The root's descriptor is given back."""
        os.close(self._root)

    def kind(self, path: str) -> EntryKind | None:
        """What is at the path, links followed as text beneath the root."""
        mode = self._mode(path)
        if mode is None:
            return None
        if stat.S_ISREG(mode):
            return EntryKind.FILE
        return EntryKind.DIR if stat.S_ISDIR(mode) else EntryKind.OTHER

    def read_text(self, path: str) -> str | None:
        """The text of a regular file of at most 1 MiB."""
        data = self._read(self.place(path).real_path, _MAX_TEXT_BYTES)
        return None if data is None else data.decode("utf-8", "replace")

    def created_by_run(self, path: str) -> bool:
        """Whether the path is there and not tracked, so that a clone would not have it."""
        real = self.place(path).real_path
        return real is not None and self._mode(path) is not None and not self.existed_at_start(real)

    def changed_by_run(self, path: str) -> bool:
        """Never: the tree stands for the moment at which a run starts."""
        return False

    def git_aliases(self) -> Mapping[str, str]:
        """None: a run's clone is new, and does not bring the configuration of this tree."""
        return {}

    def real_path(self, path: str) -> str:
        """Where the path leads; the path itself when it leads out."""
        return self.place(path).real_path or path

    def created_files(self) -> tuple[str, ...]:
        """Nothing: a run that starts has made nothing yet."""
        return ()

    def place(self, path: str) -> Place:
        """Where the path leads, each link taken apart as text; an absolute one leads out unless into the workspace.

        Each folder on the way is opened once. What takes more of that than any path needs leads nowhere.
        """
        todo, links = list(reversed(path.split("/"))), 0
        with _Walk(self._root) as walk:
            while todo:
                if links > _MAX_LINKS or walk.opened > _MAX_OPENED:
                    return Place(None, via_link=True)
                part = todo.pop()
                if part in ("", "."):
                    continue
                if part == "..":
                    if not walk.parts:
                        return Place(None, links > 0)
                    walk.go(walk.parts[:-1])
                    continue
                target = walk.link(part)
                if target is None:
                    walk.enter(part)
                    continue
                links += 1
                if target.startswith("/"):
                    if target != _INSIDE and not target.startswith(_INSIDE + "/"):
                        return Place(None, via_link=True)
                    target = target[len(_INSIDE) :]
                    walk.go([])
                todo += reversed(target.split("/"))
            return Place("/".join(walk.parts) or ".", links > 0)

    def existed_at_start(self, real_path: str) -> bool:
        """Whether git tracks the path, or something beneath it; without an index, whether it is there."""
        if self._tracked is None:
            return self._mode(real_path) is not None
        return real_path == "." or real_path in self._tracked

    def _read_index(self) -> frozenset[str] | None:
        data = self._read(".git/index", MAX_INDEX_BYTES)
        return None if data is None else tracked_paths(data)

    def _mode(self, path: str) -> int | None:
        real = self.place(path).real_path
        if real is None:
            return None
        if real == ".":
            return os.fstat(self._root).st_mode
        with suppress(OSError, ValueError), self._folder(real.split("/")[:-1]) as folder:
            return os.stat(real.rpartition("/")[2], dir_fd=folder, follow_symlinks=False).st_mode
        return None

    def _read(self, path: str | None, bound: int) -> bytes | None:
        if path is None:
            return None
        with suppress(OSError, ValueError), self._folder(path.split("/")[:-1]) as folder:
            descriptor = os.open(path.rpartition("/")[2], _FILE, dir_fd=folder)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - the open descriptor is judged, so no swap can follow
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode) and status.st_size <= bound:
                    return file.read(bound)
        return None

    @contextmanager
    def _folder(self, parts: list[str]) -> Iterator[int]:
        """A descriptor of the folder. Raises OSError where a part is no folder, a link included."""
        current = os.dup(self._root)
        try:
            for part in parts:
                following = os.open(part, _FOLDER, dir_fd=current)
                os.close(current)
                current = following
            yield current
        finally:
            os.close(current)


class _Walk:
    """A way down from a folder. Each part is opened by itself, beneath the one before, and never through a link.

    Only the folder that it stands in is held open, since a path may be deeper than a process may hold files.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._here: int | None = os.dup(root)
        self.parts: list[str] = []
        self.opened = 0

    def __enter__(self) -> _Walk:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def link(self, part: str) -> str | None:
        """What the link of that name says, None where there is no link."""
        if self._here is not None:
            with suppress(OSError, ValueError):
                return os.readlink(part, dir_fd=self._here)
        return None

    def enter(self, part: str) -> None:
        """One further down, whether there is such a folder or not."""
        self.parts.append(part)
        above, self._here = self._here, None
        if above is None:
            return
        self.opened += 1
        with suppress(OSError, ValueError):
            self._here = os.open(part, _FOLDER, dir_fd=above)
        os.close(above)

    def go(self, parts: Sequence[str]) -> None:
        """Down these parts from the root again: a descriptor's own `..` may lead elsewhere by now."""
        self._close()
        self._here, self.parts = os.dup(self._root), []
        for part in parts:
            self.enter(part)

    def _close(self) -> None:
        if self._here is not None:
            os.close(self._here)
            self._here = None
