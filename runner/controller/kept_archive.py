"""One archive of the host's store on its way into a workspace, and out of it.

Both ways it is a program in the container that knows what is in the archive. The host counts bytes, takes their digest
and stores them; it reads none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from runner.controller.cache_store import CACHE_DRAFT, CacheStore, Draft
from runner.controller.environment import command_environment
from runner.engine.contract import OutputSink, SpawnRequest, SpawnResult

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["PACK", "UNPACK", "KeptArchive", "Unpacking", "run_in", "store_of"]

UNPACK = ("/usr/bin/tar", "--extract", "--no-same-owner", "--no-same-permissions", "--file=-")
"""Unpacks its standard input."""

PACK = (
    "/usr/bin/tar", "--create", "--sort=name", "--format=posix", "--pax-option=delete=atime,delete=ctime",
    "--numeric-owner", "--file=-",
)  # fmt: skip
"""Writes an archive to its standard output; a folder and what to take from it are to be named behind it."""

_MAX_ARCHIVE_BYTES = 1024 * 1024 * 1024  # what the largest installs make, and what the home folder inside can hold
_SECONDS = 300.0
_OUTPUT_BYTES = 4096


def store_of(state_path: Path, cache_mib: int) -> CacheStore:
    """The kept archives of a state folder."""
    return CacheStore(state_path / "caches", cache_mib * 1024 * 1024)


def run_in(
    run: Prepared,
    argv: tuple[str, ...],
    *,
    stdin: Iterable[bytes] | None = None,
    sink: OutputSink | None = None,
    cap: int = _OUTPUT_BYTES,
) -> SpawnResult:
    """What became of a program of the image's own, in the workspace's root and without a network."""
    seconds = min(_SECONDS, run.remaining())
    return run.sandbox.spawn(SpawnRequest(argv, command_environment({}), seconds, cap, stdin=stdin, sink=sink))


class Unpacking(Enum):
    """How an archive came into the container."""

    MISSING = auto()
    DAMAGED = auto()
    DONE = auto()


class KeptArchive:
    """What the store has under `key`, or will have. `bytes` is its size once it was unpacked or packed."""

    def __init__(self, run: Prepared, key: str) -> None:
        self._run = run
        self._key = key
        self._store = store_of(run.host.state.path, run.host.cache_mib)
        self.bytes = 0

    def bring_in(self, *argv: str, folder: str) -> Unpacking:
        """It is in the folder, which is made. One that is damaged, or that `argv` fails on, is not kept any more."""
        kept = self._store.find(self._key)
        if kept is None:
            return Unpacking.MISSING
        run_in(self._run, ("/usr/bin/mkdir", "-p", folder))
        try:
            ended = run_in(self._run, (*argv, f"--directory={folder}"), stdin=kept.pieces()).exit
        except (ValueError, OSError):
            ended = 1
        if ended != 0:
            self._store.drop(kept)
            return Unpacking.DAMAGED
        self.bytes = kept.size
        return Unpacking.DONE

    def drop(self) -> None:
        """Nothing is kept under the key."""
        kept = self._store.find(self._key)
        if kept is not None:
            self._store.drop(kept)

    def pack(self, *argv: str, stdin: Iterable[bytes] | None = None) -> str | None:
        """What the program writes is kept under the key, whole; else why it is not, and nothing is left of it."""
        draft = None
        try:
            draft = Draft(self._run.record.folder / CACHE_DRAFT, min(_MAX_ARCHIVE_BYTES, self._store.max_bytes))
            reason = self._fill(draft, argv, stdin)
            if reason is None:
                self._store.keep(self._key, draft)
                self.bytes = draft.size
            return reason
        except OSError as error:  # a full disk of the host's costs the archive, not the run
            return error.strerror or "the host could not store it"
        finally:
            if draft is not None:
                draft.discard()

    def _fill(self, draft: Draft, argv: tuple[str, ...], stdin: Iterable[bytes] | None) -> str | None:
        def take(name: str, data: bytes) -> None:
            if name == "stdout":
                draft.write(data)

        cap = draft.max_bytes + 1  # one byte more, so that a cut is seen as one
        try:
            result = run_in(self._run, argv, stdin=stdin, sink=take, cap=cap)
        except OverflowError:
            return f"it has more than {draft.max_bytes >> 20} MiB"
        return None if result.exit == 0 and not result.truncated else "it could not be packed"
