"""A workspace's files in memory, with the faults of a real one. The fake sandbox and scripted programs share it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from runner.engine.contract import FileFault, FileRefused, Resolved
from runner.model.tree import EntryKind

__all__ = ["FakeNode", "FakeTree"]

_PATH_MAX_BYTES = 4096
_NAME_MAX_BYTES = 255
_DEPTH_MAX = 256
_LINKS_MAX = 40


@dataclass(frozen=True, slots=True)
class FakeNode:
    """What is at a path. `data` is a file's content or a link's target; `stamp` is new with every change."""

    kind: EntryKind
    data: bytes = b""
    mode: int = 0o644
    stamp: int = 0
    size_claimed: int | None = None  # a sparse file's size; its content is not held

    @property
    def size(self) -> int:
        """In bytes, as stat says it."""
        return len(self.data) if self.size_claimed is None else self.size_claimed


class FakeTree:
    """Nodes by canonical path. The methods without a verdict of their own are for tests that arrange a tree."""

    def __init__(self) -> None:
        self.nodes: dict[str, FakeNode] = {}
        self._stamps = 0

    # --- arranging

    def put_file(self, path: str, data: bytes, mode: int = 0o644, *, size_claimed: int | None = None) -> None:
        """A file is at the path, with all folders above it."""
        self._put(path, FakeNode(EntryKind.FILE, data, mode, size_claimed=size_claimed))

    def put_dir(self, path: str, mode: int = 0o755) -> None:
        """A folder is at the path, with all folders above it."""
        self._put(path, FakeNode(EntryKind.DIR, b"", mode))

    def put_link(self, path: str, target: str) -> None:
        """A symbolic link is at the path."""
        self._put(path, FakeNode(EntryKind.SYMLINK, target.encode("utf-8", "surrogateescape"), 0o777))

    def put_other(self, path: str) -> None:
        """A FIFO, socket or device is at the path."""
        self._put(path, FakeNode(EntryKind.OTHER))

    def chmod(self, path: str, mode: int) -> None:
        """The node has the mode."""
        self._put(path, replace(self.nodes[path], mode=mode))

    def remove(self, path: str) -> None:
        """Nothing is at or below the path."""
        for name in [name for name in self.nodes if name == path or name.startswith(path + "/")]:
            del self.nodes[name]

    def _put(self, path: str, node: FakeNode) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            parent = "/".join(parts[:depth])
            if parent not in self.nodes:
                self._stamps += 1
                self.nodes[parent] = FakeNode(EntryKind.DIR, b"", 0o755, self._stamps)
        self._stamps += 1
        self.nodes[path] = replace(node, stamp=self._stamps)

    # --- asking

    def node(self, path: str) -> FakeNode | None:
        """What is at the canonical path; `.` is the root."""
        return FakeNode(EntryKind.DIR, b"", 0o755) if path in (".", "") else self.nodes.get(path)

    def children(self, path: str) -> Iterator[tuple[str, FakeNode]]:
        """Names and nodes right below a folder, `.git` left out, sorted by name as bytes."""
        prefix = "" if path == "." else path + "/"
        names = [name[len(prefix) :] for name in self.nodes if name.startswith(prefix)]
        for name in sorted((n for n in names if "/" not in n and n.lower() != ".git"), key=_raw):
            yield name, self.nodes[prefix + name]

    def walk(self) -> Iterator[tuple[str, FakeNode]]:
        """Everything below the root, `.git` left out, in the order of path, folder by folder."""
        for path in sorted(self.nodes, key=lambda name: [_raw(part) for part in name.split("/")]):
            if all(part.lower() != ".git" for part in path.split("/")):
                yield path, self.nodes[path]

    def locate(self, path: str, *, absent_parent_is: FileFault = FileFault.MISSING) -> FakeNode | None:
        """What is at the path, no link met on the way.

        Raises:
            FileRefused: LINK, DENIED, NAME_TOO_LONG, OUTSIDE; for a missing parent MISSING, and for a parent that is
                no folder `absent_parent_is`.
        """
        parts = canonical_parts(path)
        for depth in range(1, len(parts)):
            parent = self.node("/".join(parts[:depth]))
            if parent is None:
                raise FileRefused(FileFault.MISSING, path)
            if parent.kind is EntryKind.SYMLINK:
                raise FileRefused(FileFault.LINK, path)
            if parent.kind is not EntryKind.DIR:
                raise FileRefused(absent_parent_is, path)
            if not parent.mode & 0o111:
                raise FileRefused(FileFault.DENIED, path)
        return self.node(path)

    def resolve(self, path: str) -> Resolved:
        """Where the path leads, links followed beneath the root. Raises FileRefused as `Sandbox.resolve` does."""
        pending = _split(path, path)
        names: list[str] = []
        absent: list[str] = []
        links = 0
        while pending:
            name = pending.pop()
            here = "/".join(names) or "."
            if not absent and self._kind(here) is not EntryKind.DIR:
                raise FileRefused(FileFault.NOT_A_DIRECTORY, path)
            if name in ("", "."):
                continue
            if name == "..":
                if not absent and not names:
                    raise FileRefused(FileFault.OUTSIDE, path)
                (absent or names).pop()
                continue
            if len(_raw(name)) > _NAME_MAX_BYTES or len(names) + len(absent) >= _DEPTH_MAX:
                raise FileRefused(FileFault.NAME_TOO_LONG, path)
            node = None if absent else self.node("/".join([*names, name]))
            if node is None:
                absent.append(name)
            elif node.kind is EntryKind.SYMLINK:
                links += 1
                if links > _LINKS_MAX:
                    raise FileRefused(FileFault.LOOP, path)
                pending += _split(node.data.decode("utf-8", "surrogateescape"), path)
            else:
                names.append(name)
        return self._resolved("/".join(names + absent) or ".", links > 0)

    def _kind(self, path: str) -> EntryKind | None:
        node = self.node(path)
        return node.kind if node else None

    def _resolved(self, path: str, via_link: bool) -> Resolved:
        node = self.node(path)
        if node is None:
            return Resolved(path, exists=False, kind=None, size=0, mode=0, links=0, via_link=via_link)
        return Resolved(path, True, node.kind, node.size, node.mode, 1, via_link)


def canonical_parts(path: str) -> list[str]:
    """The names of a canonical path; none for the root. Raises FileRefused: NAME_TOO_LONG, DENIED, OUTSIDE."""
    _check(path, path)
    if path == ".":
        return []
    parts = path.split("/")
    if len(parts) > _DEPTH_MAX:
        raise FileRefused(FileFault.NAME_TOO_LONG, path[:200])
    for part in parts:
        if part in ("", ".", ".."):
            raise FileRefused(FileFault.OUTSIDE, path)
        if len(_raw(part)) > _NAME_MAX_BYTES:
            raise FileRefused(FileFault.NAME_TOO_LONG, path)
    return parts


def _split(target: str, path: str) -> list[str]:
    """The parts of a path or link, last first."""
    if target.startswith("/"):
        raise FileRefused(FileFault.OUTSIDE, path)
    _check(target, path)
    return target.split("/")[::-1]


def _check(text: str, path: str) -> None:
    try:
        raw = _raw(text)
    except UnicodeEncodeError:
        raise FileRefused(FileFault.DENIED, path) from None
    if len(raw) > _PATH_MAX_BYTES:
        raise FileRefused(FileFault.NAME_TOO_LONG, path[:200])
    if b"\0" in raw:
        raise FileRefused(FileFault.DENIED, path)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
