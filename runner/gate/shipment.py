"""What a workspace is given: one pack, with its index, of all that the recorded branches and tags hold.

It is made once for each state of a mirror and kept beside it, so that a later run of the same state neither packs on
the host nor indexes in the workspace, which together took longer than copying the files. Objects of branches that are
gone from the remote stay in the mirror and are not in it.

For a workspace that is to be shallow it holds the last commits of each ref, and says where history ends; git itself
picks them, by fetching from the mirror with a depth.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from runner.gate.address import Address
from runner.gate.fetch import Fetched, mirror_broken
from runner.gate.folders import remove_tree
from runner.gate.git import Git, GitFailed, GitResult
from runner.gate.mirror import FetchLimits, Progress, locked
from runner.gate.refs import OBJECT_NAME

__all__ = ["Part", "Shipment", "shipment"]

_CHUNK_BYTES = 1 << 20
_PACK = re.compile(r"pack-([0-9a-f]{40})\.pack")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DEFAULT_LIMITS = FetchLimits()
_SHALLOW = "shallow"  # git's own name for the list of commits whose parents are not there
_SHALLOW_BYTES = 64 << 20  # 1.6 million of them
_PART = "part.git"  # the repository that a fetch with a depth makes
_PACKS = (_PART, "objects", "pack")


class Part(StrEnum):
    """The two files of a shipment, by the ending of their names."""

    PACK = "pack"
    INDEX = "idx"


@dataclass(frozen=True, slots=True)
class Shipment:
    """An open shipment. `name` is the pack's own, 40 hexadecimal digits.

    `shallow` are the commits whose parents it leaves out; none, where it has the whole history.
    """

    name: str
    pack: BinaryIO
    index: BinaryIO
    shallow: tuple[str, ...] = ()

    def size(self, part: Part) -> int:
        """How many bytes the file has."""
        return os.fstat(self._file(part).fileno()).st_size

    def chunks(self, part: Part) -> Iterator[bytes]:
        """The file's bytes, from its beginning, in pieces of at most 1 MiB."""
        file = self._file(part)
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk

    def _file(self, part: Part) -> BinaryIO:
        return self.pack if part is Part.PACK else self.index


@contextmanager
def shipment(
    git: Git,
    fetched: Fetched,
    *,
    progress: Progress = lambda _: None,
    limits: FetchLimits = _DEFAULT_LIMITS,
    depth: int | None = None,
) -> Iterator[Shipment]:
    """The shipment for `fetched`, open for reading; made now when this state has none yet.

    With `depth`, it has so many commits of each line of history, counted from the refs and the base.

    Raises:
        RepositoryUnavailable: the mirror does not work, or stayed busy.
    """
    wanted = sorted({fetched.base, *fetched.refs.values()})
    digest = hashlib.sha256("\n".join([*wanted, *([] if depth is None else [str(depth)])]).encode("ascii")).hexdigest()
    folder = fetched.mirror.parent / ("shipments" if depth is None else "shallow-shipments") / digest
    with locked(fetched.mirror, limits, progress):
        if not folder.is_dir():
            progress("packing the repository for the workspace")
            _make(git, fetched, folder, wanted, limits, depth)
        # Opened under the lock: another run's newer shipment may then replace these files, but not under this reader.
        opened = _open(fetched, folder, shallow=depth is not None)
    with opened.pack, opened.index:
        yield opened


def _open(fetched: Fetched, folder: Path, *, shallow: bool) -> Shipment:
    """The open shipment. No link is followed: what the gate's container wrote is not trusted."""
    opened: list[BinaryIO] = []
    try:
        ends = _ends_of_history(folder) if shallow else ()
        inside = _beneath(folder, *(_PACKS if shallow else ()))
        try:
            with os.scandir(inside) as entries:
                name = next(match[1] for entry in entries if (match := _PACK.fullmatch(entry.name)))
            for part in (Part.PACK, Part.INDEX):
                opened.append(open(os.open(f"pack-{name}.{part}", _FILE, dir_fd=inside), "rb"))  # noqa: PTH123
        finally:
            os.close(inside)
    except (OSError, StopIteration, ValueError):
        for file in opened:
            file.close()
        failed = GitResult(0, b"", "the shipment is not as it was made")
        raise mirror_broken(fetched.mirror, GitFailed("pack-objects", failed)) from None
    return Shipment(name, opened[0], opened[1], ends)


def _beneath(folder: Path, *names: str) -> int:
    """A descriptor of the folder that the names lead to."""
    found = os.open(folder.parent, _FOLDER)
    for name in (folder.name, *names):
        try:
            inner = os.open(name, _FOLDER, dir_fd=found)
        finally:
            os.close(found)
        found = inner
    return found


def _ends_of_history(folder: Path) -> tuple[str, ...]:
    part = _beneath(folder, _PART)
    try:
        with open(os.open(_SHALLOW, _FILE, dir_fd=part), "rb") as file:  # noqa: PTH123
            names = file.read(_SHALLOW_BYTES).decode("ascii").split()
    except FileNotFoundError:  # no line of history is that long
        return ()
    finally:
        os.close(part)
    if not all(OBJECT_NAME.fullmatch(name) for name in names):
        raise ValueError("not a list of commits")
    return tuple(names)


def _make(
    git: Git, fetched: Fetched, folder: Path, wanted: list[str], limits: FetchLimits, depth: int | None = None
) -> None:
    """The shipment is in `folder`, whole, and those of older states are gone."""
    remove_tree(folder.parent)
    fresh = folder.with_suffix(".new")
    folder.parent.mkdir(mode=0o700)
    fresh.mkdir(mode=0o700)
    lines = "".join(f"{oid}\n" for oid in wanted).encode("ascii")
    try:
        if depth is None:
            _pack(git, fetched, fresh, lines, limits)
        else:
            _fetch_part(git, fetched, fresh / _PART, lines, limits, depth)
    except GitFailed as failure:
        remove_tree(folder.parent)
        raise mirror_broken(fetched.mirror, failure) from failure
    fresh.rename(folder)


def _pack(git: Git, fetched: Fetched, fresh: Path, lines: bytes, limits: FetchLimits) -> None:
    arguments = ["pack-objects", "--revs", "--quiet", "--delta-base-offset", str(fresh / "pack")]
    result = git.run(arguments, repository=fetched.mirror, stdin=[lines], deadline_seconds=limits.seconds)
    if not result.ok:
        raise GitFailed("pack-objects", result)


def _fetch_part(git: Git, fetched: Fetched, part: Path, lines: bytes, limits: FetchLimits, depth: int) -> None:
    """By object names, not by refs: another run may have brought the mirror's refs further meanwhile."""
    git.output(["init", "--quiet", "--bare", "--template=", "--", str(part)])
    mirror = Address(scheme="file", host="file", url=f"file://{quote(str(fetched.mirror))}", path=str(fetched.mirror))
    serving = f"--upload-pack={git.serving_command('upload-pack')}"
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", f"--depth={depth}", serving)
    result = git.run(
        ["fetch", *options, "--stdin", "--", mirror.url],
        repository=part,
        address=mirror,
        stdin=[lines],
        deadline_seconds=limits.seconds,
    )
    if not result.ok:
        raise GitFailed("fetch", result)
