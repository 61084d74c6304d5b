"""Package caches that are kept between runs: files that the host only stores, named by key and digest.

The content is a tar that was made in a container and is unpacked in a container. Nothing on the host reads it, so it
can be as hostile as it likes; its name holds the SHA-256 that it had when it was stored, and one that does not have it
any more is not used.

A file is written in the run's own folder and renamed when complete, so a half-made one is never found, and what a
killed controller leaves is swept with its run's folder. The folder's lock is held for renames and evictions; readers
need none, since an open file outlives its name. The least recently used go first when the bound is passed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CACHE_DRAFT", "DEFAULT_CACHE_MIB", "CacheStore", "Draft", "Kept"]

CACHE_DRAFT = "cache.part"
"""The file in a run's folder while the run writes it."""

DEFAULT_CACHE_MIB = 4096
"""Bound of a state folder's archives where the operator gives none."""

_PIECE_BYTES = 1024 * 1024
_SUFFIX = ".tar"


class Draft:
    """An archive in the making; `write` raises OverflowError beyond the bound."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.size = 0
        self.max_bytes = max_bytes
        self._digest = hashlib.sha256()
        # For its owner alone: a private package's content is in it.
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")

    def write(self, data: bytes) -> None:
        """The next bytes."""
        self.size += len(data)
        if self.size > self.max_bytes:
            raise OverflowError
        self._digest.update(data)
        self._file.write(data)

    def finish(self) -> str:
        """Everything is on its way to disk; the content's SHA-256."""
        self._file.close()
        return self._digest.hexdigest()

    def discard(self) -> None:
        """Nothing is left of it, unless it was kept."""
        with contextlib.suppress(OSError):
            self._file.close()
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored archive."""

    path: Path
    size: int

    def pieces(self) -> Iterator[bytes]:
        """The content, piece by piece; the last comes only when all of it is what was stored.

        Raises:
            ValueError: it is not.
        """
        digest, held = hashlib.sha256(), b""
        with self.path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
                if held:
                    yield held
                held = piece
        if digest.hexdigest() != self.path.name.removesuffix(_SUFFIX).rpartition(".")[2]:
            raise ValueError("the archive is not what was stored")
        yield held


class CacheStore:
    """The archives in `folder`, at most `max_bytes` together. Nothing is kept, or there, when that is 0."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self.max_bytes = max_bytes

    def find(self, key: str) -> Kept | None:
        """The archive of that key, which now counts as used; None when there is none."""
        for path in sorted(self._folder.glob(f"{key}.*{_SUFFIX}")) if self.max_bytes else ():
            with contextlib.suppress(OSError):
                os.utime(path)
                return Kept(path, path.stat().st_size)
        return None

    def keep(self, key: str, draft: Draft) -> None:
        """The draft is the archive of that key, in the place of an older one; the folder is within its bound."""
        digest = draft.finish()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with self._locked():
            for older in self._folder.glob(f"{key}.*{_SUFFIX}"):
                older.unlink(missing_ok=True)
            draft.path.replace(self._folder / f"{key}.{digest}{_SUFFIX}")
            self._evict(self.max_bytes)

    def drop(self, kept: Kept) -> None:
        """That archive is gone."""
        kept.path.unlink(missing_ok=True)

    def trim(self, max_bytes: int | None = None) -> int:
        """At most so many bytes are kept, the bound when None; how many archives went."""
        if not self._folder.is_dir():
            return 0
        with self._locked():
            return self._evict(self.max_bytes if max_bytes is None else max_bytes)

    def usage(self) -> tuple[int, int]:
        """Archives, and their bytes."""
        entries = self._entries()
        return len(entries), sum(size for _, size, _ in entries)

    def _entries(self) -> list[tuple[float, int, Path]]:
        """Last use, size and path of each, least recently used first."""
        found: list[tuple[float, int, Path]] = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # another controller evicted it
                facts = path.stat()
                found.append((facts.st_mtime, facts.st_size, path))
        return sorted(found)

    def _evict(self, max_bytes: int) -> int:
        entries = self._entries()
        held = sum(size for _, size, _ in entries)
        gone = 0
        for _, size, path in entries:
            if held <= max_bytes:
                break
            path.unlink(missing_ok=True)
            held -= size
            gone += 1
        return gone

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # held for renames only, never while a run transfers
            yield
        finally:
            os.close(descriptor)
