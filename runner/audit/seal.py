"""Sealing a log at the run's end: it is read back, compared with what was written, summed up, and signed.

What is signed is what lies on the disk, and only when that is what the controller wrote: a log that another process
changed while the run went on is not sealed, and the run says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from runner.audit.chain import FIRST_PREV, BrokenChain, chained_lines
from runner.audit.keys import SigningKey
from runner.audit.log import AuditLog, AuditUnwritable
from runner.audit.receipt import sealed
from runner.audit.summary import Summary

__all__ = ["RECEIPT", "SAID", "SEALED_FILES", "file_digests", "seal"]

RECEIPT = "receipt.json"
"""The receipt's name, beside its log."""

SAID = "outputs.jsonl"
"""What programs said, and why calls were refused, beside the log."""

SEALED_FILES = ("report.json", "changes.patch", SAID)
"""The files of a run that its receipt holds the digests of, where they are there."""

_PIECE_BYTES = 1024 * 1024


def seal(log: AuditLog, run_id: str, ending: Mapping[str, Any], key: SigningKey) -> bytes:
    """The receipt of a closed log, as the bytes of its file. `ending` says how the run ended.

    Raises:
        AuditUnwritable: the log on the disk is not the one that was written.
    """
    try:
        with log.path.open("rb") as lines:
            summary, count, last = _sum_up(lines)
        files = file_digests(log.path.parent)
    except BrokenChain as broken:
        raise _not_ours(log.path, str(broken)) from broken
    except OSError as error:
        raise _not_ours(log.path, error.strerror or "it cannot be read") from error
    if (count, last) != (log.lines, log.last_hash):
        raise _not_ours(log.path, f"it has {count} lines where {log.lines} were written, or others")
    chain = {"lines": count, "last_hash": last}
    return sealed({**summary.as_json(), "run": run_id, "ending": dict(ending), "chain": chain, "files": files}, key)


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each of the run's other files that is in the folder.

    Raises:
        OSError: one of them cannot be read.
    """
    return {name: _digest(folder / name) for name in SEALED_FILES if (folder / name).is_file()}


def _sum_up(lines: Iterable[bytes]) -> tuple[Summary, int, str]:
    summary, count, last = Summary(), 0, FIRST_PREV
    for line in chained_lines(lines):
        summary.take(line)
        count, last = line["seq"], line["hash"]
    return summary, count, last


def _digest(path: Path) -> str:
    made = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            made.update(piece)
    return made.hexdigest()


def _not_ours(path: Path, why: str) -> AuditUnwritable:
    return AuditUnwritable(
        f"the audit log {path} is not as it was written, so it is not sealed: {why}",
        hint="Find out who else can write there.",
    )
