"""The records of a run count only when they are whole, unchanged and free of secrets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.records import check_records
from examples.session import DemoFailed
from runner.audit.log import AuditLog

CANARY = "canary-0123456789abcdef"


@pytest.fixture
def records(tmp_path: Path) -> Callable[..., Path]:
    def make(**changes: Any) -> Path:
        log = AuditLog(tmp_path / "audit.jsonl", "run1", lambda: "2024-01-01T00:00:00Z")
        log.append("run.started", {})
        log.append("run.ended", {"said": changes.pop("said", "")})
        log.close()
        report = {
            "audit": {"lines": 2, "last_hash": log.last_hash},
            "teardown": {"verified": True, "leftovers": []},
            "posture": [{"control": "no route", "active": True}],
            **changes,
        }
        (tmp_path / "report.json").write_text(json.dumps(report))
        (tmp_path / "changes.patch").write_bytes(b"")
        return tmp_path

    return make


def test_whole_records_are_told_in_one_line(records: Callable[..., Path]) -> None:
    assert "\n" not in check_records(records(), CANARY)


@pytest.mark.parametrize("name", ["report.json", "audit.jsonl", "changes.patch"])
def test_a_missing_record_is_noticed(records: Callable[..., Path], name: str) -> None:
    out = records()
    (out / name).unlink()
    with pytest.raises(DemoFailed):
        check_records(out, CANARY)


def test_a_changed_audit_line_is_noticed(records: Callable[..., Path]) -> None:
    out = records()
    log = out / "audit.jsonl"
    log.write_bytes(log.read_bytes().replace(b"run.started", b"run.starred"))
    with pytest.raises(DemoFailed):
        check_records(out, CANARY)


@pytest.mark.parametrize(
    "changes",
    [
        {"audit": {"lines": 3}},
        {"teardown": {"verified": False, "leftovers": ["container x"]}},
        {"posture": [{"control": "no route", "active": False}]},
        {"posture": []},
        {"said": CANARY},
    ],
    ids=["cut log", "leftover", "missing control", "no posture proof", "secret in the log"],
)
def test_records_that_tell_of_a_miss_are_refused(records: Callable[..., Path], changes: dict[str, Any]) -> None:
    with pytest.raises(DemoFailed):
        check_records(records(**changes), CANARY)
