"""A working tree of this host, read as data for an explanation: nothing in it is executed and no link is followed.

The tree may be hostile. Every folder on the way to a path is opened by itself, without following links, beneath the
root's own descriptor; what a link says is text, and is taken apart here, so it can lead nowhere but to another path
beneath the root. What git has tracked counts as there when the run starts, since a run begins with a clone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.doors.git_index import MAX_INDEX_BYTES, tracked_paths
from runner.model.errors import UsageError
from runner.model.tree import EntryKind
from runner.policy.facts_file import Place

__all__ = ["LocalTree"]

_MAX_TEXT_BYTES = 1024 * 1024  # as in a run
_MAX_LINKS = 40  # Linux's own bound on links in one path
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
        """Where the path leads, each link taken apart as text; an absolute one leads out unless into the workspace."""
        todo, done, links = list(reversed(path.split("/"))), list[str](), 0
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    return Place(None, links > 0)
                done.pop()
                continue
            target = self._link([*done, part])
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > _MAX_LINKS:
                return Place(None, via_link=True)
            if target.startswith("/"):
                if target != _INSIDE and not target.startswith(_INSIDE + "/"):
                    return Place(None, via_link=True)
                target, done = target[len(_INSIDE) :], []
            todo += reversed(target.split("/"))
        return Place("/".join(done) or ".", links > 0)

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

    def _link(self, parts: list[str]) -> str | None:
        """What the link at the path says, None where there is no link."""
        with suppress(OSError, ValueError), self._folder(parts[:-1]) as folder:
            return os.readlink(parts[-1], dir_fd=folder)
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
