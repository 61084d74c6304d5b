"""A run's folder as it is read for a page: bounded, never trusted, and whole or not.

The folder may be of a run that goes on, of one whose controller was killed, or one that somebody has changed since.
Nothing in it makes reading fail: what cannot be read is missing, and the verdict says what is not as it was sealed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runner.audit.keys import PublicKey
from runner.audit.output_forms import Said
from runner.audit.receipt import MAX_RECEIPT_BYTES
from runner.audit.record_forms import ReportFile
from runner.audit.seal import RECEIPT, SAID, file_digests
from runner.audit.verify import Verdict, Word, verify_record

__all__ = ["AUDIT", "MAX_PATCH_BYTES", "NEVER_BEGUN", "RECORD_FILES", "NotBegun", "RecordFolder"]

AUDIT = "audit.jsonl"
RECORD_FILES = (AUDIT, RECEIPT, "report.json", "changes.patch", SAID)

MAX_PATCH_BYTES = 1024 * 1024
"""Of a patch that is shown. What is longer is for a program, not for a page."""

_MAX_JSON_BYTES = 32 * 1024 * 1024
_MAX_LINE_BYTES = 16 * 1024 * 1024
_MAX_SAID_BYTES = 20 * 1024 * 1024


NEVER_BEGUN = "There is no record: the run has not begun."


@dataclass(frozen=True, slots=True)
class NotBegun:
    """What is known of a run without a folder: it waits for a place, or ended before it had one.

    `status` is a word of ours, `asked` is what the run was asked to be, as in a `run.json`.
    """

    status: str
    asked: Mapping[str, Any] = field(default_factory=dict)
    code: str | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class RecordFolder:
    """One run's folder; `alive` says whether a controller holds the run now. `known` stands for a folder not there."""

    run_id: str
    path: Path
    alive: bool = False
    known: NotBegun | None = None

    def intent(self) -> dict[str, Any]:
        """What the run was asked to be; empty when that cannot be read."""
        return self._json("run.json") or dict(self.known.asked if self.known is not None else {})

    def report(self) -> ReportFile | None:
        """The report, None before the end, and when it is not in its form."""
        found = self._json("report.json")
        try:
            return None if found is None else ReportFile.model_validate(found)
        except ValidationError:
            return None

    def stamps(self) -> tuple[int, int]:
        """The log's bytes, and when the report was written in nanoseconds; 0 for what is not there."""
        return self._stat(AUDIT)[0], self._stat("report.json")[1]

    def lines(self) -> Iterator[bytes]:
        """The log's lines as far as it is written; none where there is no log."""
        try:
            if not (self.path / AUDIT).is_file():  # a FIFO would wait for ever
                return
            with (self.path / AUDIT).open("rb") as file:
                while line := file.readline(_MAX_LINE_BYTES):
                    yield line
        except OSError:
            return

    def said(self) -> dict[int, Said]:
        """What programs said and why calls were refused, by the call's number."""
        found: dict[int, Said] = {}
        for line in self._head(SAID, _MAX_SAID_BYTES).splitlines():
            try:
                one = Said.model_validate_json(line)
            except ValidationError:
                continue
            found[one.seq] = one
        return found

    def patch(self) -> tuple[bytes, int]:
        """The beginning of the patch, and how many bytes it has in all."""
        return self._head("changes.patch", MAX_PATCH_BYTES), self._stat("changes.patch")[0]

    def receipt(self) -> bytes | None:
        """The receipt's bytes, None when there is none."""
        return self._head(RECEIPT, MAX_RECEIPT_BYTES) or None

    def verdict(self, key: PublicKey | None) -> Verdict:
        """Whether the record is as its controller sealed it, by the key that the reader trusts."""
        try:
            files = file_digests(self.path)
            return verify_record(self.lines(), self.receipt(), key, files, run=self.run_id, whole=True)
        except OSError as error:
            return Verdict(Word.BROKEN, 0, f"the record cannot be read: {error.strerror}", "file-unreadable")

    def files(self) -> tuple[str, ...]:
        """The files of the record that are there."""
        return tuple(name for name in RECORD_FILES if (self.path / name).is_file())

    def _stat(self, name: str) -> tuple[int, int]:
        try:
            found = (self.path / name).stat()
        except OSError:
            return 0, 0
        return found.st_size, found.st_mtime_ns

    def _json(self, name: str) -> dict[str, Any] | None:
        try:
            value = json.loads(self._head(name, _MAX_JSON_BYTES))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _head(self, name: str, most: int) -> bytes:
        try:
            if not (self.path / name).is_file():
                return b""
            with (self.path / name).open("rb") as file:
                return file.read(most)
        except OSError:
            return b""
