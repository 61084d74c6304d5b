"""Every way in which somebody without the key could touch a record is found, and the right line is named."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.audit.canonical import canonical
from runner.audit.keys import SigningKey
from runner.audit.receipt import sealed
from runner.audit.verify import Verdict, Word, verify_record
from tests.support.examples import examples
from tests.support.sealed_run import EVENTS, Record, make_record, rehashed


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return make_record(tmp_path / "one")


def judged(record: Record, key: SigningKey | None = None, **files: str) -> Verdict:
    trusted = (key or record.key).public
    return verify_record(record.lines, record.receipt, trusted, files)


def resealed(record: Record, **keys: Any) -> bytes:
    """A receipt of the right key that says something else."""
    return sealed({**record.statement(), **keys}, record.key)


def test_a_sealed_record_verifies_and_says_whose_seal_it_is(record: Record) -> None:
    verdict = judged(record)
    assert (verdict.word, verdict.lines, verdict.problem) == (Word.VERIFIED, len(EVENTS), None)
    assert (verdict.run, verdict.key_id) == ("run1", record.key.public.key_id)


LOGS: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str, int | None]] = {
    "a line changed": (lambda a: [*a[:2], a[2].replace(b"seccomp", b"sexcomp"), *a[3:]], "line-changed", 3),
    "a line missing in the middle": (lambda a: [*a[:2], *a[3:]], "line-out-of-place", 3),
    "the first line missing": (lambda a: a[1:], "line-out-of-place", 1),
    "two lines reordered": (lambda a: [*a[:3], a[4], a[3], *a[5:]], "line-out-of-place", 4),
    "a line doubled": (lambda a: [*a[:3], a[2], *a[3:]], "line-out-of-place", 4),
    "cut at the end": (lambda a: a[:-1], "log-cut", 7),
    "cut to nothing": (lambda _a: [], "log-cut", 1),
    "cut within the last line": (lambda a: [*a[:-1], a[-1][:40]], "line-unreadable", 7),
    "cut by its last byte": (lambda a: [*a[:-1], a[-1][:-1]], "line-changed", 7),
    "garbage appended": (lambda a: [*a, b"{}\n"], "log-appended", 8),
    "half a line appended": (lambda a: [*a, a[-1][:30]], "log-appended", 8),
    "a chained line appended": (lambda a: rehashed([*a, a[-1]], 7), "log-appended", 8),
    "written anew as a whole": (lambda a: rehashed(a, 2, event="nothing"), "receipt-of-another-log", None),
    "another time at the last line": (lambda a: rehashed(a, 6, at="2027"), "receipt-of-another-log", None),
    "a run's id changed in one line": (lambda a: rehashed(a, 3, run="other"), "line-of-another-run", 4),
    "a run's id changed everywhere": (
        lambda a: rehashed([line.replace(b'"run1"', b'"run2"') for line in a]),
        "receipt-of-another-run",
        None,
    ),
    "facts that no controller writes": (lambda a: rehashed(a, 2, data=7), "line-unreadable", 3),
}


@pytest.mark.parametrize("how", list(LOGS))
def test_a_log_that_was_touched_is_broken_at_its_first_bad_line(record: Record, how: str) -> None:
    touch, problem, line = LOGS[how]
    verdict = judged(record.but(lines=touch(record.lines)))
    assert (verdict.word, verdict.problem, verdict.line) == (Word.BROKEN, problem, line)


def test_lines_of_another_run_in_the_middle_are_named(record: Record, tmp_path: Path) -> None:
    other = make_record(tmp_path / "two", "run2", keys=record.folder)
    spliced = [*record.lines[:3], *other.lines[3:]]
    verdict = judged(record.but(lines=spliced))
    assert (verdict.word, verdict.problem, verdict.line) == (Word.BROKEN, "line-of-another-run", 4)


def test_a_receipt_of_another_run_by_the_same_key_does_not_pass(record: Record, tmp_path: Path) -> None:
    other = make_record(tmp_path / "two", "run2", keys=record.folder)
    assert judged(record.but(receipt=other.receipt)).problem == "receipt-of-another-run"


def test_a_receipt_over_another_chain_of_the_same_run_does_not_pass(record: Record, tmp_path: Path) -> None:
    events = (*EVENTS[:3], ("setup.mise", {"notes": []}), *EVENTS[4:])
    other = make_record(tmp_path / "two", "run1", events, keys=record.folder)
    assert judged(record.but(receipt=other.receipt)).problem == "receipt-of-another-log"


def test_a_missing_receipt_is_told_from_a_run_that_never_ended(record: Record) -> None:
    assert judged(record.but(receipt=None)).problem == "receipt-missing"
    unsealed = judged(record.but(receipt=None, lines=record.lines[:-1]))
    assert (unsealed.word, unsealed.lines, unsealed.problem) == (Word.UNSEALED, 6, None)
    assert unsealed.message.startswith("unsealed, chain intact up to line 6")


def test_a_log_that_tore_in_its_last_line_is_unsealed_up_to_the_line_before(record: Record) -> None:
    verdict = judged(record.but(receipt=None, lines=[*record.lines[:4], record.lines[4][:50]]))
    assert (verdict.word, verdict.problem, verdict.lines, verdict.line) == (Word.UNSEALED, "line-torn", 4, 5)


def test_a_changed_line_without_a_receipt_is_broken_and_not_only_unsealed(record: Record) -> None:
    touched = [*record.lines[:2], record.lines[2].replace(b"seccomp", b"sexcomp"), *record.lines[3:5]]
    verdict = judged(record.but(receipt=None, lines=touched))
    assert (verdict.word, verdict.line) == (Word.BROKEN, 3)


def test_another_key_is_the_wrong_key_and_no_key_is_none(record: Record, tmp_path: Path) -> None:
    other = make_record(tmp_path / "two")
    assert judged(record, other.key).problem == "wrong-key"
    assert verify_record(record.lines, record.receipt, None, {}).problem == "wrong-key"


def test_a_forger_who_seals_a_new_log_with_a_key_of_his_own_is_found(record: Record, tmp_path: Path) -> None:
    forged = make_record(tmp_path / "two", "run1", EVENTS[:4])
    assert judged(forged, record.key).problem == "wrong-key"
    # ... also when the receipt claims to be of the right key.
    assert forged.receipt is not None
    claim = json.loads(forged.receipt)
    claim["signature"]["key_id"] = record.key.public.key_id
    assert judged(forged.but(receipt=canonical(claim) + b"\n"), record.key).problem == "receipt-changed"


@pytest.mark.parametrize("key", ["calls", "pushes", "chain", "run", "ending", "images", "policy", "posture", "files"])
def test_no_part_of_a_statement_can_be_changed_under_its_signature(record: Record, key: str) -> None:
    assert record.receipt is not None
    told = json.loads(record.receipt)
    told["statement"][key] = {"lines": 7, "last_hash": told["statement"]["chain"]["last_hash"], "more": 1}
    assert judged(record.but(receipt=canonical(told) + b"\n")).problem == "receipt-changed"


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}\n", b"[]\n", b"null\n", b"\xff", b"[" * 100_000, b'{"statement":{},"signature":{}}\n'],
    ids=["empty", "object", "list", "null", "no UTF-8", "deep", "hollow"],
)
def test_what_is_no_receipt_is_called_so(record: Record, raw: bytes) -> None:
    assert judged(record.but(receipt=raw)).problem == "receipt-unreadable"


def test_a_receipt_has_one_form_so_that_no_reader_sees_another_statement(record: Record) -> None:
    assert record.receipt is not None
    for raw in (
        record.receipt.replace(b'{"signature"', b'{"signature":{},"signature"', 1),
        record.receipt.replace(b'":', b'": ', 1),
        record.receipt + b"\n",
        record.receipt.rstrip(b"\n"),
    ):
        assert judged(record.but(receipt=raw)).problem == "receipt-unreadable"


@pytest.mark.parametrize("signature", ["", "AAAA", "!", base64.b64encode(bytes(64)).decode()])
def test_a_signature_of_any_form_but_the_right_one_is_no_seal(record: Record, signature: str) -> None:
    assert record.receipt is not None
    told = json.loads(record.receipt)
    told["signature"]["value"] = signature
    assert judged(record.but(receipt=canonical(told) + b"\n")).word is Word.BROKEN


def test_even_the_right_key_cannot_seal_what_the_log_does_not_say(record: Record) -> None:
    for key in ("pushes", "ending"):
        verdict = judged(record.but(receipt=resealed(record, **{key: ["other"]})))
        assert (verdict.problem, key in verdict.message) == ("receipt-contradicts-log", True)


def test_a_report_or_patch_other_than_the_sealed_one_is_named(record: Record) -> None:
    with_files = record.but(receipt=resealed(record, files={"report.json": "a" * 64}))
    same, other = {"report.json": "a" * 64}, {"report.json": "b" * 64}
    assert verify_record(with_files.lines, with_files.receipt, record.key.public, same).word is Word.VERIFIED
    for files in (other, {**same, "changes.patch": "c" * 64}):
        verdict = verify_record(with_files.lines, with_files.receipt, record.key.public, files)
        assert verdict.problem == "file-changed"


def test_a_sealed_file_that_is_missing_breaks_a_whole_record_and_is_named_in_a_part_of_one(record: Record) -> None:
    receipt = resealed(record, files={"report.json": "a" * 64, "changes.patch": "b" * 64})
    beside = {"report.json": "a" * 64}
    whole = verify_record(record.lines, receipt, record.key.public, beside, whole=True)
    assert (whole.word, whole.problem, "changes.patch" in whole.message) == (Word.BROKEN, "file-missing", True)
    part = verify_record(record.lines, receipt, record.key.public, beside)
    assert (part.word, part.not_checked) == (Word.VERIFIED, ("changes.patch",)) and "not checked" in part.message


@pytest.mark.parametrize("sealed_one", [True, False])
def test_a_genuine_record_of_another_run_is_none_of_the_run_that_was_asked_for(
    record: Record, sealed_one: bool
) -> None:
    lines, receipt = (record.lines, record.receipt) if sealed_one else (record.lines[:-1], None)
    verdict = verify_record(lines, receipt, record.key.public, {}, run="run2")
    assert (verdict.word, verdict.problem) == (Word.BROKEN, "receipt-of-another-run")
    assert verify_record(lines, receipt, record.key.public, {}, run="run1").word is not Word.BROKEN


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_changed_byte_of_log_or_receipt_leaves_it_verified(record: Record, data: st.DataObject) -> None:
    assert record.receipt is not None
    log = b"".join(record.lines)
    whole = bytearray(log + record.receipt)
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    lines, receipt = bytes(whole[: len(log)]).splitlines(keepends=True), bytes(whole[len(log) :])
    assert judged(record.but(lines=lines, receipt=receipt)).word is Word.BROKEN
