"""What a clone does not hold though its tree names it: content behind LFS pointers, and submodules.

Both would take connections and credentials of their own, and programs that the repository configures. They are left as
they are, and said, so that nobody takes a pointer for the file. A repository without a `.gitattributes` that names the
LFS filter costs nothing; otherwise small blobs are looked at, a bounded number of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runner.controller.base_tree import BaseListing, read_objects
from runner.gate.fetch import Fetched, mirror_broken
from runner.gate.git import Git, GitFailed

__all__ = ["LeftOut", "find_left_out"]

_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_POINTER_MIN_BYTES, _POINTER_MAX_BYTES = 100, 1024  # LFS's own bound; without extensions a pointer has about 130
_MAX_ATTRIBUTE_FILES = 200
_MAX_ATTRIBUTE_BYTES = 4 * 1024 * 1024
_MAX_CANDIDATES = 20_000  # together at most 20 MiB, half a second of git's time
_MAX_LISTING_BYTES = 512 * 1024 * 1024
_NAMED = 20


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Paths of each kind. `more_pointers` says that not every small file was looked at."""

    submodules: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    more_pointers: bool = False

    def notes(self) -> Iterator[str]:
        """For people."""
        if self.submodules:
            names = ", ".join(self.submodules[:3]) + (", …" if len(self.submodules) > 3 else "")
            yield f"{_count(len(self.submodules), 'submodule is', 'submodules are')} not fetched: {names}"
        if self.pointers or self.more_pointers:
            least = "at least " if self.more_pointers else ""
            files = _count(len(self.pointers), "file is an LFS pointer", "files are LFS pointers")
            yield f"{least}{files}; their content is not fetched"

    def facts(self) -> dict[str, Any]:
        """For the report."""
        return {
            "submodules": {"count": len(self.submodules), "paths": list(self.submodules[:_NAMED])},
            "lfs_pointers": {
                "count": len(self.pointers),
                "paths": list(self.pointers[:_NAMED]),
                "at_least": self.more_pointers,
            },
        }


def find_left_out(gate: Git, fetched: Fetched, base: BaseListing) -> LeftOut:
    """What of the base commit is not in the clone.

    Raises:
        RepositoryUnavailable: the mirror cannot be read.
    """
    if not _uses_lfs(gate, fetched, base):
        return LeftOut(base.gitlinks)
    try:
        small = [path for path in _small_files(gate, fetched, base) if path in base.objects]
    except GitFailed as failure:
        raise mirror_broken(fetched.mirror, failure) from failure
    looked_at = small[:_MAX_CANDIDATES]
    objects = [base.objects[path] for path in looked_at]
    contents = read_objects(gate, fetched.mirror, objects, _MAX_CANDIDATES * _POINTER_MAX_BYTES)
    if contents is None:
        return LeftOut(base.gitlinks, more_pointers=True)
    found = [path for path, data in zip(looked_at, contents, strict=True) if data.startswith(_POINTER)]
    return LeftOut(base.gitlinks, tuple(found), more_pointers=len(small) > len(looked_at))


def _uses_lfs(gate: Git, fetched: Fetched, base: BaseListing) -> bool:
    """Whether an attribute file of the tree names the filter. Too many or too large ones count as a yes."""
    names = [name for path, name in base.objects.items() if path.rpartition("/")[2] == ".gitattributes"]
    contents = read_objects(gate, fetched.mirror, names[:_MAX_ATTRIBUTE_FILES], _MAX_ATTRIBUTE_BYTES)
    return contents is None or any(b"filter=lfs" in data for data in contents)


def _small_files(gate: Git, fetched: Fetched, base: BaseListing) -> list[str]:
    """Regular files of a pointer's size."""
    listing = gate.output(
        ["ls-tree", "-r", "-l", "-z", "--full-tree", fetched.base],
        repository=fetched.mirror,
        max_stdout_bytes=_MAX_LISTING_BYTES,
    )
    found: list[str] = []
    for record in listing.split(b"\0"):
        facts, _, raw = record.partition(b"\t")
        size = facts.rsplit(b" ", 1)[-1]
        if size.isdigit() and _POINTER_MIN_BYTES <= int(size) < _POINTER_MAX_BYTES:
            path = raw.decode("utf-8", "surrogateescape")
            if path not in base.links:
                found.append(path)
    return found


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
