"""What a receipt says of a run, and what is not sealed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.audit.canonical import canonical, digest
from runner.audit.log import AuditLog, AuditUnwritable
from runner.audit.seal import seal
from runner.audit.summary import MAX_LISTED, Summary
from tests.support.sealed_run import AT, CHECK, ENDED, EVENTS, make_record


def told(*events: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What a log of these events is summed up to."""
    summary = Summary()
    for event, data in events:
        summary.take({"at": AT, "event": event, "data": data})
    return summary.as_json()


def finished(seq: int, **keys: Any) -> tuple[str, dict[str, Any]]:
    return "call.finished", {"seq": seq, "tool": "git", "ok": True, "code": None, "ms": 1.0, "exit": 0, **keys}


def started(seq: int) -> tuple[str, dict[str, Any]]:
    return "call.started", {"seq": seq, "tool": "git", "arguments_sha256": "b" * 64, "arguments": {}}


def test_a_receipt_tells_the_run_its_calls_its_end_and_the_end_of_its_log(tmp_path: Path) -> None:
    record = make_record(tmp_path)
    said, last = record.statement(), json.loads(record.lines[-1])
    assert (said["run"], said["controller"], said["started"], said["ended"]) == ("run1", "c" * 16, AT, AT)
    assert said["chain"] == {"lines": len(EVENTS), "last_hash": last["hash"]}
    assert said["ending"] == ENDED and said["policy"] == {"source": "p.yml", "sha256": "a" * 64}
    assert said["images"]["workspace"] == "sha256:1"
    assert said["posture"]["workspace"] == {"sha256": digest([CHECK]), "checks": 1, "all_active": True}
    call = {"seq": 1, "tool": "git", "arguments_sha256": "b" * 64, "outcome": "ok", "exit": 0, "ms": 1.5}
    assert said["calls"]["listed"] == [call] and said["calls"]["ok"] == 1
    assert said["decisions"] == {"allowed": 1, "denied": 0, "denied_by": {}}


def test_a_control_that_was_not_active_shows() -> None:
    said = told(("posture", {"checks": [CHECK, {**CHECK, "active": False}]}))
    assert said["posture"]["workspace"]["all_active"] is False


def test_calls_that_never_ended_or_crashed_are_listed_as_such() -> None:
    said = told(started(1), started(2), ("call.crashed", {"seq": 2, "error": "X"}), finished(3, ok=False, code="c"))
    outcomes = {call["seq"]: call["outcome"] for call in said["calls"]["listed"]}
    assert outcomes == {1: "unfinished", 2: "crashed", 3: "c"}
    assert [said["calls"][name] for name in ("count", "ok", "refused", "unfinished")] == [3, 0, 1, 2]


def test_calls_beyond_the_list_are_counted_and_change_the_digest() -> None:
    many = [finished(seq) for seq in range(MAX_LISTED + 1)]
    one, other = told(*many), told(*many[:-1], finished(MAX_LISTED, exit=1))
    assert (one["calls"]["count"], len(one["calls"]["listed"])) == (MAX_LISTED + 1, MAX_LISTED)
    assert one["calls"]["listed"] == other["calls"]["listed"] and one["calls"]["sha256"] != other["calls"]["sha256"]


def test_connections_are_added_up_by_phase_and_destination() -> None:
    one = {"phase": "run", "host": "h", "port": 443, "allowed": True, "bytes_up": 3, "bytes_down": 5}
    said = told(("egress", one), ("egress", one), ("egress", {**one, "allowed": False, "host": "evil"}))["egress"]
    assert (said["connections"], said["refused"], said["bytes_up"], said["bytes_down"]) == (3, 1, 9, 15)
    assert [(d["host"], d["connections"]) for d in said["destinations"]] == [("h", 2), ("evil", 1)]


def test_a_connection_that_was_told_at_both_its_ends_counts_once_and_one_without_an_end_counts_too() -> None:
    way = {"phase": "run", "host": "h", "port": 443}
    opened = ("egress.open", {**way, "connection": 1, "rule": "egress.allow:h"})
    sums = {"allowed": True, "bytes_up": 3, "bytes_down": 5}
    ended = ("egress", {**way, "connection": 1, **sums})
    again = told(opened, ended, opened, ended)["egress"]  # two proxies of one phase, each from 1
    assert (again["connections"], again["bytes_up"]) == (2, 6)
    assert [d["connections"] for d in again["destinations"]] == [2]
    refused = ("egress", {**way, "connection": 2, "allowed": False, "bytes_up": 0, "bytes_down": 0})
    cut = told(opened, ("egress.open", {**opened[1], "connection": 2}), refused)["egress"]
    assert (cut["connections"], cut["refused"], cut["bytes_up"]) == (2, 1, 0)


def test_denials_are_counted_by_rule_and_pushes_and_changes_are_there() -> None:
    push = {"branch": "agent/x", "commit": "d" * 40, "status": "pushed"}
    denied = {"seq": 1, "allowed": False, "rule": "write.deny", "code": "c", "basis": 1, "subject": {}, "facts": {}}
    changes = {"file_count": 2, "paths_sha256": "e" * 64, "patch_bytes": 9, "truncated": False, "failed": False}
    said = told(("decision", denied), ("decision", denied), ("push.done", push), ("changes", changes))
    assert said["decisions"] == {"allowed": 0, "denied": 2, "denied_by": {"write.deny": 2}}
    assert (said["pushes"], said["changes"]) == ([push], changes)


@pytest.mark.parametrize("how", ["changed", "cut", "added", "gone"])
def test_a_log_that_somebody_else_touched_while_the_run_went_on_is_not_sealed(tmp_path: Path, how: str) -> None:
    record = make_record(tmp_path / "kept")
    log = AuditLog(tmp_path / "audit.jsonl", "run1", lambda: AT)
    for event, data in EVENTS:
        log.append(event, data)
    log.close()
    raw = log.path.read_bytes()
    touched = {"changed": raw.replace(b"git", b"gat"), "cut": b"".join(record.lines[:-1]), "added": raw + raw[-9:]}
    log.path.unlink() if how == "gone" else log.path.write_bytes(touched[how])
    with pytest.raises(AuditUnwritable):
        seal(log, "run1", ENDED, record.key)


def test_the_same_lines_always_give_the_same_statement() -> None:
    assert canonical(told(*EVENTS)) == canonical(told(*json.loads(json.dumps(EVENTS))))
