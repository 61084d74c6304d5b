"""A small run's record as bytes: a log, its receipt, and the key that sealed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.audit.canonical import canonical, digest
from runner.audit.keys import SigningKey, own_key
from runner.audit.log import AuditLog
from runner.audit.seal import RECEIPT, seal

__all__ = ["AT", "EVENTS", "Record", "make_record", "rehashed"]

AT = "2026-01-01T00:00:00.000+00:00"
CHECK = {"control": "seccomp filter", "expected": "[2, false]", "seen": "[2, false]", "active": True}
ENDED = {"status": "completed", "exit_code": 0, "code": None, "teardown": {"verified": True, "leftovers": []}}
EVENTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (
        "run.started",
        {
            "version": "0.1.0",
            "repository": "file:///r.git",
            "ref": None,
            "depth": None,
            "policy": "p.yml",
            "policy_sha256": "a" * 64,
            "tools": ["git"],
            "controller": "c" * 16,
            "key": "sha256:" + "0" * 64,
        },
    ),
    ("workspace.start", {"image": "sha256:1", "deadline_unix": 5}),
    ("posture", {"checks": [CHECK]}),
    ("call.started", {"seq": 1, "tool": "git", "arguments_sha256": "b" * 64, "arguments": {"args": ["status"]}}),
    (
        "decision",
        {
            "seq": 1,
            "allowed": True,
            "rule": "git.allow",
            "code": None,
            "basis": 1,
            "subject": {"kind": "argv", "tool": "git", "argv": ["git", "status"]},
            "facts": {},
        },
    ),
    ("call.finished", {"seq": 1, "tool": "git", "ok": True, "code": None, "ms": 1.5, "exit": 0}),
    ("run.ended", ENDED),
)


@dataclass(frozen=True)
class Record:
    """What lies in a run's folder."""

    lines: list[bytes]
    receipt: bytes | None
    key: SigningKey
    folder: Path

    def statement(self) -> dict[str, Any]:
        """What the receipt says."""
        assert self.receipt is not None
        told: dict[str, Any] = json.loads(self.receipt)["statement"]
        return told

    def but(self, **keys: Any) -> Record:
        """The same with some of it exchanged."""
        return replace(self, **keys)

    def written(self, folder: Path) -> Path:
        """The record as files."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "audit.jsonl").write_bytes(b"".join(self.lines))
        if self.receipt is not None:
            (folder / RECEIPT).write_bytes(self.receipt)
        return folder


def make_record(
    folder: Path,
    run: str = "run1",
    events: tuple[tuple[str, Mapping[str, Any]], ...] = EVENTS,
    keys: Path | None = None,
) -> Record:
    """The record of a run with these events, sealed by the key in `keys` (the folder itself when left out)."""
    folder.mkdir(parents=True, exist_ok=True)
    log = AuditLog(folder / "audit.jsonl", run, lambda: AT)
    for event, data in events:
        log.append(event, data)
    log.close()
    key = own_key(keys or folder)
    receipt = seal(log, run, ENDED, key)
    (folder / RECEIPT).write_bytes(receipt)
    return Record(log.path.read_bytes().splitlines(keepends=True), receipt, key, folder)


def rehashed(lines: list[bytes], start: int = 0, **keys: object) -> list[bytes]:
    """The chain made anew from line `start` on, which is changed first: what somebody without the key can do."""
    made = list(lines[:start])
    prev = json.loads(lines[start - 1])["hash"] if start else "0" * 64
    for number, raw in enumerate(lines[start:], start=start + 1):
        line = {**json.loads(raw), **(keys if number == start + 1 else {}), "prev": prev, "seq": number}
        line.pop("hash")
        prev = digest(line)
        made.append(canonical({**line, "hash": prev}) + b"\n")
    return made
