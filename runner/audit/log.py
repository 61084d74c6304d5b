"""The record of a run: JSON Lines on the host, each line chained to the one before by its hash.

A line is written and flushed before the effect that it announces: no audit, no action. That holds for the whole run:
once a line of any thread is missing, none is announced any more, and only what announces nothing is still told.

A line's `hash` is the SHA-256 over the line without that field, in canonical JSON (sorted keys, no blanks, ASCII), and
`prev` is the hash of the line before, or 64 zeros for the first. `runner.audit.chain` finds a changed, missing,
reordered or inserted line; a cut at the end, and a log that was written anew, are found against the run's receipt.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.audit.canonical import canonical, digest
from runner.audit.chain import FIRST_PREV
from runner.audit.scrub import Scrubber
from runner.model.errors import RunnerError

__all__ = ["AUDIT_VERSION", "AuditLog", "AuditUnwritable", "argument_digest"]

AUDIT_VERSION = 1


class AuditUnwritable(RunnerError):
    """The audit log cannot be written, so nothing may be done any more."""

    code = "audit_unwritable"


def argument_digest(arguments: Any) -> str:
    """SHA-256 of a call's arguments, so that the log can name a call without holding its content."""
    return digest(arguments)


class AuditLog:
    """Appends to one file. `now` gives the time in ISO 8601, UTC; what `scrubber` hides stands in no line."""

    def __init__(self, path: Path, run_id: str, now: Callable[[], str], scrubber: Scrubber | None = None) -> None:
        self.path = path
        self._run_id = canonical(run_id)
        self._now = now
        self._scrubber = scrubber or Scrubber()
        self._seq = 0
        self._prev = FIRST_PREV
        self._bytes = 0
        self._pending: tuple[int, str] | None = None  # size and hash that the log has once the line at hand is in it
        self._lost: AuditUnwritable | None = None
        self._lock = threading.Lock()  # the egress proxy tells its connections from a thread of its own
        try:
            # Owner only: arguments and outputs of a company's run are nobody else's business.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise AuditUnwritable(
                f"the audit log {path} cannot be written: {error.strerror}",
                hint="Free space, or choose another state folder with RUNNER_STATE_DIR.",
            ) from error
        self._file = os.fdopen(descriptor, "ab", buffering=0)

    @property
    def lines(self) -> int:
        """How many lines were written."""
        return self._seq

    @property
    def last_hash(self) -> str:
        """The hash of the last line, which pins the whole log."""
        return self._prev

    @property
    def closed(self) -> bool:
        """Whether the log takes no more lines."""
        return self._file.closed

    @property
    def lost(self) -> AuditUnwritable | None:
        """Why a line of the run is missing, whichever thread had it to write; None while none is."""
        return self._lost

    def append(self, event: str, data: Mapping[str, Any]) -> None:
        """The line is in the file, handed to the operating system, and so is every line before it.

        Raises:
            AuditUnwritable: when one of them is not; then the announced effect must not happen.
        """
        with self._lock:
            if self._lost is not None:
                # Room that came back brings no line back. The thread that lost it may have had nobody to tell.
                raise self._lost
            self._write(event, data)

    def tell(self, event: str, data: Mapping[str, Any]) -> None:
        """The same for a line that announces nothing, such as an end: it is written although one before it is missing.

        Raises:
            AuditUnwritable: when it is not in the file.
        """
        with self._lock:
            self._write(event, data)

    def _write(self, event: str, data: Mapping[str, Any]) -> None:
        try:
            self._append(event, data)
        except AuditUnwritable as error:
            self._lost = self._lost or error
            raise

    def _append(self, event: str, data: Mapping[str, Any]) -> None:
        self._settle()
        # In the order of its keys, cut where `hash` belongs: so it is encoded once, for hash and file.
        told = {"at": self._now(), "data": self._scrubber.value(dict(data)), "event": event}
        before = canonical(told)[:-1]
        place = self._prev.encode("ascii"), self._run_id, self._seq + 1, AUDIT_VERSION
        after = b',"prev":"%b","run":%b,"seq":%d,"v":%d}' % place
        made = hashlib.sha256(before + after).hexdigest()
        whole = b'%b,"hash":"%b"%b\n' % (before, made.encode("ascii"), after)
        self._pending = (self._bytes + len(whole), made)
        try:
            self._file.write(whole)
        except (OSError, ValueError) as error:
            self._settle()
            raise AuditUnwritable(f"the audit log cannot be written: {error}", hint="Free space there.") from error
        if not self._settle():
            why = "the disk is full, or somebody else writes to it"
            raise AuditUnwritable(f"the audit log cannot be written: {why}", hint="Free space there.")

    def _settle(self) -> bool:
        """Whether the line at hand got into the file whole; if not, nothing of it is there.

        Asked of the file, since a Ctrl-C may come between the write and our taking note of it, and a full disk takes
        part of a line: in either case the next line has to follow what is really there.
        """
        if self._pending is None:
            return True
        size, made = self._pending
        with suppress(OSError, ValueError):
            there = os.fstat(self._file.fileno()).st_size
            if there == size:
                self._seq, self._prev, self._bytes, self._pending = self._seq + 1, made, size, None
                return True
            if there > self._bytes:
                os.ftruncate(self._file.fileno(), self._bytes)
        self._pending = None
        return False

    def close(self) -> None:
        """The file is closed, and on the disk; a later append raises AuditUnwritable."""
        with self._lock, suppress(OSError, ValueError):
            self._settle()
            # A receipt that outlives a power cut must not accuse a log that lost its end in it.
            os.fsync(self._file.fileno())
        self._file.close()
