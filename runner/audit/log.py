"""The record of a run: JSON Lines on the host, each line chained to the one before by its hash.

A line is written and flushed before the effect that it announces: no audit, no action. A line's `hash` is the SHA-256
over the line without that field, in canonical JSON (sorted keys, no blanks, ASCII), and `prev` is the hash of the line
before, or 64 zeros for the first. `verify_chain` finds a changed, missing, reordered or inserted line; a cut at the end
is found against the line count and last hash that the run's report keeps.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runner.model.errors import RunnerError

__all__ = ["AUDIT_VERSION", "AuditLog", "AuditUnwritable", "argument_digest", "verify_chain"]

AUDIT_VERSION = 1
FIRST_PREV = "0" * 64

MIN_SECRET_CHARACTERS = 8
"""Shorter texts stand in ordinary words too, and replacing those would make lines unreadable and secrets no safer."""


class AuditUnwritable(RunnerError):
    """The audit log cannot be written, so nothing may be done any more."""

    code = "audit_unwritable"


def canonical(value: Any) -> bytes:
    """The one byte form of a JSON value that hashes are taken over."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def argument_digest(arguments: Any) -> str:
    """SHA-256 of a call's arguments, so that the log can name a call without holding its content."""
    return hashlib.sha256(canonical(arguments)).hexdigest()


class AuditLog:
    """Appends to one file. `now` gives the time in ISO 8601, UTC."""

    def __init__(self, path: Path, run_id: str, now: Callable[[], str]) -> None:
        self.path = path
        self._run_id = run_id
        self._now = now
        self._seq = 0
        self._prev = FIRST_PREV
        self._hidden: tuple[str, ...] = ()
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

    def hide(self, secret: str) -> None:
        """From the next line on, `***` stands wherever the secret would, as it is or quoted for an address.

        A secret that is too short to be one is not hidden.
        """
        if len(secret) >= MIN_SECRET_CHARACTERS:
            self._hidden = tuple(sorted({*self._hidden, secret, quote(secret, safe="")}, key=len, reverse=True))

    def append(self, event: str, data: Mapping[str, Any]) -> None:
        """The line is in the file, handed to the operating system.

        Raises:
            AuditUnwritable: when it is not; then the announced effect must not happen.
        """
        with self._lock:
            self._append(event, data)

    def _append(self, event: str, data: Mapping[str, Any]) -> None:
        line: dict[str, Any] = {
            "v": AUDIT_VERSION,
            "seq": self._seq + 1,
            "run": self._run_id,
            "at": self._now(),
            "event": event,
            "data": self._scrubbed(dict(data)) if self._hidden else dict(data),
            "prev": self._prev,
        }
        digest = hashlib.sha256(canonical(line)).hexdigest()
        whole = canonical({**line, "hash": digest}) + b"\n"
        try:
            written = self._file.write(whole)
        except (OSError, ValueError) as error:
            raise AuditUnwritable(f"the audit log cannot be written: {error}", hint="Free space there.") from error
        if written != len(whole):
            raise AuditUnwritable("the audit log cannot be written: the disk is full", hint="Free space there.")
        self._seq += 1
        self._prev = digest

    def _scrubbed(self, value: Any) -> Any:
        """The value with every hidden text replaced, keys included."""
        if isinstance(value, str):
            for secret in self._hidden:
                value = value.replace(secret, "***")
            return value
        if isinstance(value, Mapping):
            return {self._scrubbed(key): self._scrubbed(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._scrubbed(inner) for inner in value]
        return value

    def close(self) -> None:
        """The file is closed; a later append raises AuditUnwritable."""
        self._file.close()


def verify_chain(lines: Iterable[bytes]) -> int:
    """The number of lines of an unbroken chain.

    Raises:
        ValueError: naming the first line that breaks it.
    """
    prev, count = FIRST_PREV, 0
    for count, raw in enumerate(lines, start=1):
        try:
            line = json.loads(raw)
            # Bytes, not meaning: a key that stands twice, or a blank, would show a reader another line than is hashed.
            whole = raw.rstrip(b"\n") == canonical(line)
            digest = line.pop("hash")
            chained = line["prev"] == prev and line["seq"] == count
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"line {count} is not an audit line") from error
        if not chained:
            raise ValueError(f"line {count} does not follow the line before it")
        if not whole or hashlib.sha256(canonical(line)).hexdigest() != digest:
            raise ValueError(f"line {count} was changed after it was written")
        prev = digest
    return count
