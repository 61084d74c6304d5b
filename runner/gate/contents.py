"""What the outgoing objects hold, one after the other: files, names in trees, and messages of commits.

Sizes are asked first, so that a pack that unfolds to more than a workspace can hold is refused and not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

__all__ = ["MAX_TOTAL_BYTES", "TooMuch", "contents_of"]

Batch = Callable[[Sequence[str], bytes, int], bytes]
"""Runs git with these arguments, this input and this bound on its output."""

MAX_TOTAL_BYTES = 4 * 1024**3
"""All objects of one push, unfolded. A hundred commits to a lock file of 10 MB are 1 GB."""

_GROUP_BYTES = 32 * 1024 * 1024
_FACTS_BYTES = 100  # the line before each object
_LISTING_BYTES = 128 << 20


class TooMuch(Exception):
    """The objects hold more than is looked through; the text says what."""


def contents_of(git: Batch, wanted: bytes, max_object_bytes: int) -> Iterator[tuple[str, bytes]]:
    """The name (a path, else `commit NAME`) and the content of each object that `rev-list --stdin` finds for `wanted`.

    Raises:
        TooMuch: one object is larger than `max_object_bytes`, or all are larger than MAX_TOTAL_BYTES.
    """
    paths = _listed(git(["rev-list", "--objects", "--stdin"], wanted, _LISTING_BYTES))
    sizes = _sizes(git, list(paths))
    if any(size > max_object_bytes for size in sizes.values()) or sum(sizes.values()) > MAX_TOTAL_BYTES:
        raise TooMuch("the outgoing objects unfold to more than can be looked through")
    if any(size < 0 for size in sizes.values()):
        raise ValueError("an object of less than nothing")
    for group in _groups(sizes):
        room = sum(sizes[oid] + _FACTS_BYTES for oid in group)
        answer, place = git(["cat-file", "--batch"], _lines(group), room), 0
        for oid in group:
            start = answer.index(b"\n", place) + 1
            place = start + sizes[oid] + 1
            yield paths[oid] or f"commit {oid[:12]}", answer[start : place - 1]


def _listed(listing: bytes) -> dict[str, str]:
    """Path by object; empty for a commit. The path is the first one that an object has."""
    found: dict[str, str] = {}
    for line in filter(None, listing.split(b"\n")):
        oid, _, path = line.partition(b" ")
        found.setdefault(oid.decode("ascii"), path.decode("utf-8", "replace"))
    return found


def _sizes(git: Batch, oids: Sequence[str]) -> dict[str, int]:
    told = git(["cat-file", "--batch-check=%(objectsize)"], _lines(oids), _LISTING_BYTES).split()
    return {oid: int(size) for oid, size in zip(oids, told, strict=True)}


def _groups(sizes: dict[str, int]) -> Iterator[list[str]]:
    group: list[str] = []
    room = _GROUP_BYTES
    for oid, size in sizes.items():
        if group and size > room:
            yield group
            group, room = [], _GROUP_BYTES
        group.append(oid)
        room -= size
    if group:
        yield group


def _lines(oids: Sequence[str]) -> bytes:
    return "".join(f"{oid}\n" for oid in oids).encode("ascii")
