"""What a workspace is given: one pack, with its index, of all that the recorded branches and tags hold.

It is made once for each state of a mirror and kept beside it, so that a later run of the same state neither packs on
the host nor indexes in the workspace, which together took longer than copying the files. Objects of branches that are
gone from the remote stay in the mirror and are not in it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from runner.gate.fetch import Fetched, mirror_broken
from runner.gate.git import Git, GitFailed, GitResult
from runner.gate.mirror import FetchLimits, Progress, locked

__all__ = ["Part", "Shipment", "shipment"]

_CHUNK_BYTES = 1 << 20
_PACK = re.compile(r"pack-([0-9a-f]{40})\.pack")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DEFAULT_LIMITS = FetchLimits()


class Part(StrEnum):
    """The two files of a shipment, by the ending of their names."""

    PACK = "pack"
    INDEX = "idx"


@dataclass(frozen=True, slots=True)
class Shipment:
    """An open shipment. `name` is the pack's own, 40 hexadecimal digits."""

    name: str
    pack: BinaryIO
    index: BinaryIO

    def chunks(self, part: Part) -> Iterator[bytes]:
        """The file's bytes, from its beginning, in pieces of at most 1 MiB."""
        file = self.pack if part is Part.PACK else self.index
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


@contextmanager
def shipment(
    git: Git,
    fetched: Fetched,
    *,
    progress: Progress = lambda _: None,
    limits: FetchLimits = _DEFAULT_LIMITS,
) -> Iterator[Shipment]:
    """The shipment for `fetched`, open for reading; made now when this state has none yet.

    Raises:
        RepositoryUnavailable: the mirror does not work, or stayed busy.
    """
    wanted = sorted({fetched.base, *fetched.refs.values()})
    digest = hashlib.sha256("\n".join(wanted).encode("ascii")).hexdigest()
    folder = fetched.mirror.parent / "shipments" / digest
    with locked(fetched.mirror, limits, progress):
        if not folder.is_dir():
            progress("packing the repository for the workspace")
            _make(git, fetched, folder, wanted, limits)
        # Opened under the lock: another run's newer shipment may then replace these files, but not under this reader.
        name, pack, index = _open(fetched, folder)
    with pack, index:
        yield Shipment(name, pack, index)


def _open(fetched: Fetched, folder: Path) -> tuple[str, BinaryIO, BinaryIO]:
    """The pack's name, the pack and its index. No link is followed: what the gate's container wrote is not trusted."""
    opened: list[BinaryIO] = []
    try:
        shipments = os.open(folder.parent, _FOLDER)
        try:
            inside = os.open(folder.name, _FOLDER, dir_fd=shipments)
        finally:
            os.close(shipments)
        try:
            with os.scandir(inside) as entries:
                name = next(match[1] for entry in entries if (match := _PACK.fullmatch(entry.name)))
            for part in (Part.PACK, Part.INDEX):
                opened.append(open(os.open(f"pack-{name}.{part}", _FILE, dir_fd=inside), "rb"))  # noqa: PTH123
        finally:
            os.close(inside)
    except (OSError, StopIteration):
        for file in opened:
            file.close()
        failed = GitResult(0, b"", "the shipment is not as it was made")
        raise mirror_broken(fetched.mirror, GitFailed("pack-objects", failed)) from None
    return name, opened[0], opened[1]


def _make(git: Git, fetched: Fetched, folder: Path, wanted: list[str], limits: FetchLimits) -> None:
    """The shipment is in `folder`, whole, and those of older states are gone."""
    shutil.rmtree(folder.parent, ignore_errors=True)  # refuses a link, and then so does the making of the folder
    fresh = folder.with_suffix(".new")
    folder.parent.mkdir(mode=0o700)
    fresh.mkdir(mode=0o700)
    arguments = ["pack-objects", "--revs", "--quiet", "--delta-base-offset", str(fresh / "pack")]
    result = git.run(
        arguments,
        repository=fetched.mirror,
        stdin=["".join(f"{oid}\n" for oid in wanted).encode("ascii")],
        deadline_seconds=limits.seconds,
    )
    if not result.ok:
        shutil.rmtree(folder.parent, ignore_errors=True)
        raise mirror_broken(fetched.mirror, GitFailed("pack-objects", result))
    fresh.rename(folder)
