"""What the host keeps of runs: one folder each, made before anything else exists, and locked while the run lives.

The lock is an flock, which the kernel releases however the controller ends; so "is that run's controller alive?" needs
no process ids and no clock. `controller_id` names this state folder on objects of the engine, so that two controllers
on one engine never sweep each other's runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from runner.gate.folders import remove_tree
from runner.model.errors import RunnerError, UsageError

__all__ = ["LOST", "WARM", "RunRecord", "StateFolder", "as_text", "copy_out", "new_run_id", "open_new"]

LOST = "lost"
"""How a run ended that nobody ended: its workspace was lost, or its controller, which then left no report."""

WARM = "warm.json"
"""What the folder of a run has whose containers wait for it: there before they are, and until the run begins."""

_RUN_ID_BYTES = 6  # 48 bits: names stay short, and a clash within one host is out of reach


def new_run_id() -> str:
    """A name for a run, for whoever has to say it before the run begins."""
    return secrets.token_hex(_RUN_ID_BYTES)


def open_new(path: Path) -> IO[bytes]:
    """A new file in the place of what was there, for its owner alone, whatever the umask and the folder's mode say.

    A record outside the state folder's 0700 is as much a company's own as inside: its owner may let others read it.

    Raises:
        OSError: it cannot be made.
    """
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def copy_out(source: Path, target: Path) -> None:
    """The target is a new file with what the source holds, for its owner alone. Raises OSError when it cannot be."""
    with source.open("rb") as read, open_new(target) as written:
        shutil.copyfileobj(read, written)


def as_text(facts: Mapping[str, Any]) -> str:
    """The facts as a file of ours has them."""
    # ASCII by escapes: a tool's name or a path may hold lone surrogates, which no UTF-8 file can.
    return json.dumps(facts, indent=2, sort_keys=True) + "\n"


def _place_of(file: Path) -> str:
    seen = file.stat()
    return f"{seen.st_dev:x}:{seen.st_ino:x}"


def _identity_in(file: Path) -> str | None:
    """What the file says, where it was written. In a copy of the folder it would call the original's live runs dead."""
    try:
        identity, _, place = file.read_text(encoding="ascii", errors="replace").strip().partition(" ")
        return identity if place == _place_of(file) else None
    except FileNotFoundError:
        return None


def _new_identity(file: Path) -> str:
    identity = secrets.token_hex(8)
    draft = file.with_name(".controller-id.new")
    draft.touch(0o600)
    draft.write_text(f"{identity} {_place_of(draft)}\n", encoding="ascii")
    draft.replace(file)  # whole, and still the same inode
    return identity


@contextlib.contextmanager
def _held_alone(file: Path) -> Iterator[None]:
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


class RunRecord:
    """The folder of one run. The lock is held until `release`."""

    def __init__(self, folder: Path, run_id: str, lock: int) -> None:
        self.folder = folder
        self.run_id = run_id
        self._lock: int | None = lock

    def note(self, name: str, facts: Mapping[str, Any]) -> None:
        """The JSON file `name` of this run has `facts`, replaced as a whole.

        Raises:
            RunnerError: code `state_unwritable`; then the file is as it was.
        """
        draft = self.folder / f".{name}.new"
        try:
            draft.write_text(as_text(facts), encoding="ascii")
            draft.replace(self.folder / name)
        except OSError as error:
            raise RunnerError(
                f"{self.folder / name} cannot be written: {error.strerror}",
                hint="Free space there, or choose another state folder with RUNNER_STATE_DIR.",
                code="state_unwritable",
            ) from error

    def keep(self, name: str, data: bytes) -> None:
        """The file `name` of this run has exactly `data`, on the disk, replaced as a whole."""
        draft = self.folder / f".{name}.new"
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / name)

    def taken(self) -> None:
        """It is the record of a run that goes on, and no longer of one that may come."""
        (self.folder / WARM).unlink(missing_ok=True)

    def release(self) -> None:
        """The run counts as ended from here on."""
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(OSError):
                os.close(lock)

    def discard(self) -> None:
        """There is no such run, and never was one."""
        remove_tree(self.folder)
        self.release()


class StateFolder:
    """The state folder of one controller."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            (path / "runs").mkdir(exist_ok=True, mode=0o700)
            (path / "mirrors").mkdir(exist_ok=True, mode=0o700)
            (path / "unswept").mkdir(exist_ok=True, mode=0o700)
            self.controller_id = self._identity()
        except OSError as error:
            raise UsageError(
                f"the state folder {path} cannot be used: {error.strerror}",
                hint="Choose another with RUNNER_STATE_DIR.",
            ) from error

    def _identity(self) -> str:
        file = self.path / "controller-id"
        # Nothing is written where it is known: `runner gc` works on a full disk too.
        known = _identity_in(file)
        if known is None:
            with _held_alone(self.path / "controller-id.lock"):  # two that start at once agree on one
                known = _identity_in(file) or _new_identity(file)
        return known

    @property
    def mirrors(self) -> Path:
        """Where repositories are mirrored between runs."""
        return self.path / "mirrors"

    @property
    def places(self) -> Path:
        """Where runs queue for a place on this host; there once one has come."""
        return self.path / "places"

    def begin(self, run_id: str | None = None) -> RunRecord:
        """A new run's folder, locked; `run_id` is a name from `new_run_id` that nobody has used yet."""
        run_id = run_id or new_run_id()
        folder = self.path / "runs" / run_id
        folder.mkdir(mode=0o700)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits for who looks whether it is held, and for nobody else
        # After the lock, or a sweep would take the run for a dead one; before anything that has to be swept.
        (self.path / "unswept" / run_id).touch(mode=0o600)
        return RunRecord(folder, run_id, lock)

    def unswept(self) -> list[Path]:
        """The folders of runs that have ended, however they did, and that no sweep has looked into.

        So a sweep costs what has happened since the last one, and not what was ever kept.
        """
        begun = [path.name for path in (self.path / "unswept").iterdir()]
        return [self.path / "runs" / run_id for run_id in begun if not self.alive(run_id)]

    def swept(self, folder: Path) -> None:
        """Nothing but the record is left in that folder of a run."""
        (self.path / "unswept" / folder.name).unlink(missing_ok=True)

    def alive(self, run_id: str) -> bool:
        """Whether a controller holds the run now."""
        if not run_id.isalnum():
            return False
        try:
            lock = os.open(self.path / "runs" / run_id / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def warm(self, run_id: str) -> dict[str, Any] | None:
        """What was noted of a run that may come, whose containers wait for it in a process that lives; else None."""
        if not self.alive(run_id):
            return None
        with contextlib.suppress(OSError, ValueError):
            noted: dict[str, Any] = json.loads((self.path / "runs" / run_id / WARM).read_text(encoding="ascii"))
            return noted
        return None

    def ending(self, run_id: str) -> str:
        """How a run ended: its report's status; without one its controller was killed, which is `lost` too."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            report = json.loads((self.path / "runs" / run_id / "report.json").read_text(encoding="utf-8"))
            return str(report["status"])
        return LOST

    def runs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run ids and what was noted of each at its start, newest folder first."""
        folders = sorted((self.path / "runs").iterdir(), key=lambda f: f.stat().st_mtime, reverse=True)
        for folder in folders:
            with contextlib.suppress(OSError, ValueError):
                yield folder.name, json.loads((folder / "run.json").read_text(encoding="utf-8"))
