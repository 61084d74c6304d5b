"""The base commit's files as the host's own mirror has them: nothing that the workspace says has a part in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.gate.fetch import Fetched, mirror_broken
from runner.gate.git import Git, GitFailed, reading

__all__ = ["BaseListing", "list_base", "read_objects"]

_MAX_LISTING_BYTES = 512 * 1024 * 1024  # a million paths of 500 bytes
_GITLINK, _LINK = b"160000", b"120000"


@dataclass(frozen=True, slots=True)
class BaseListing:
    """Path to object name. `gitlinks` are submodules, `links` are symbolic links; both are in `objects` too."""

    objects: Mapping[str, str]
    gitlinks: tuple[str, ...] = ()
    links: frozenset[str] = frozenset()


def list_base(gate: Git, fetched: Fetched) -> BaseListing:
    """Every path of the base commit.

    Raises:
        RepositoryUnavailable: git could not list them.
    """
    try:
        listing = gate.output(
            ["ls-tree", "-r", "-z", "--full-tree", fetched.base],
            repository=fetched.mirror,
            max_stdout_bytes=_MAX_LISTING_BYTES,
        )
        return _listing(listing)
    except GitFailed as failure:
        raise mirror_broken(fetched.mirror, failure) from failure


def _listing(listing: bytes) -> BaseListing:
    objects: dict[str, str] = {}
    odd: dict[bytes, list[str]] = {_GITLINK: [], _LINK: []}
    with reading("ls-tree"):
        for record in filter(None, listing.split(b"\0")):
            facts, _, raw = record.partition(b"\t")
            path = raw.decode("utf-8", "surrogateescape")
            mode, _, name = facts.split()
            objects[path] = name.decode("ascii")
            if mode in odd:
                odd[mode].append(path)
    return BaseListing(objects, tuple(odd[_GITLINK]), frozenset(odd[_LINK]))


def read_objects(gate: Git, mirror: Path, names: Iterable[str], max_bytes: int) -> list[bytes] | None:
    """The objects' content, in order; None when one is missing or they hold more than `max_bytes` together."""
    asked = [f"{name}\n".encode("ascii") for name in names]
    if not asked:
        return []
    room = max_bytes + 100 * len(asked)  # each has a line of facts before it
    try:
        answer = gate.output(["cat-file", "--batch"], repository=mirror, stdin=asked, max_stdout_bytes=room)
    except GitFailed:
        return None
    found: list[bytes] = []
    place = 0
    for _ in asked:
        facts, newline, _ = answer[place : place + 200].partition(b"\n")
        words = facts.split()
        if not newline or len(words) != 3 or not words[2].isdigit() or int(words[2]) > room:
            return None
        start = place + len(facts) + 1
        place = start + int(words[2]) + 1
        found.append(answer[start : place - 1])
    return found
