"""The audit log: a chain that shows every change, for the owner alone, and no line, no action."""

from __future__ import annotations

import hashlib
import json
import resource
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.audit.canonical import canonical
from runner.audit.chain import verify_chain
from runner.audit.log import AUDIT_VERSION, AuditLog, AuditUnwritable, argument_digest
from runner.model.errors import ExitCode

AT = "2026-01-01T00:00:00.000+00:00"


def log(folder: Path) -> AuditLog:
    return AuditLog(folder / "audit.jsonl", "run1", lambda: AT)


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    """Five lines of a whole chain."""
    made = log(tmp_path)
    for number in range(5):
        made.append("call.started", {"seq": number, "tool": "workspace.read_file"})
    made.close()
    return made.path.read_bytes().splitlines(keepends=True)


def test_a_whole_log_verifies_and_the_report_can_pin_its_end(tmp_path: Path) -> None:
    made = log(tmp_path)
    assert (made.lines, made.last_hash) == (0, "0" * 64)
    made.append("run.started", {"x": 1})
    made.append("run.ended", {})
    made.close()
    written = made.path.read_bytes().splitlines(keepends=True)
    assert verify_chain(written) == made.lines == 2
    assert json.loads(written[-1])["hash"] == made.last_hash
    assert verify_chain([]) == 0


def test_a_line_holds_who_when_what_and_the_line_before(lines: list[bytes]) -> None:
    first, second = json.loads(lines[0]), json.loads(lines[1])
    assert set(first) == {"v", "seq", "run", "at", "event", "data", "prev", "hash"}
    assert (first["v"], first["seq"], first["run"], first["at"]) == (AUDIT_VERSION, 1, "run1", AT)
    assert second["prev"] == first["hash"]


def changed(line: bytes, key: str, value: object) -> bytes:
    return canonical({**json.loads(line), key: value}) + b"\n"


def rehashed(line: bytes, **keys: object) -> bytes:
    """As somebody would who knows how hashes are made."""
    new = {**json.loads(line), **keys}
    new.pop("hash")
    return canonical({**new, "hash": hashlib.sha256(canonical(new)).hexdigest()}) + b"\n"


BREAKS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "changed": lambda a: [*a[:2], changed(a[2], "event", "nothing"), *a[3:]],
    "changed within data": lambda a: [*a[:2], a[2].replace(b'"seq":2,"tool"', b'"seq":9,"tool"'), *a[3:]],
    "changed and hashed anew": lambda a: [*a[:2], rehashed(a[2], event="nothing"), *a[3:]],
    "changed hash": lambda a: [*a[:4], changed(a[4], "hash", "0" * 64)],
    "key added": lambda a: [*a[:2], changed(a[2], "extra", 1), *a[3:]],
    "key twice": lambda a: [*a[:2], b'{"event":"nothing",' + a[2][1:], *a[3:]],
    "blank added": lambda a: [*a[:2], a[2].replace(b'"event":', b'"event": '), *a[3:]],
    "missing first": lambda a: a[1:],
    "missing in the middle": lambda a: [*a[:2], *a[3:]],
    "reordered": lambda a: [a[0], a[2], a[1], *a[3:]],
    "inserted": lambda a: [*a[:2], a[1], *a[2:]],
    "inserted at the end": lambda a: [*a, rehashed(a[4], seq=6)],
    "no JSON": lambda a: [*a[:2], b"{\n", *a[3:]],
    "no object": lambda a: [*a[:2], b"[]\n", *a[3:]],
    "no UTF-8": lambda a: [*a[:2], b"\xff\n", *a[3:]],
    "empty line": lambda a: [*a[:2], b"\n", *a[3:]],
    "without a hash": lambda a: [*a[:2], b"{}\n", *a[3:]],
    "endlessly nested": lambda a: [*a[:2], b"[" * 100_000 + b"\n", *a[3:]],
}


@pytest.mark.parametrize("how", list(BREAKS))
def test_a_broken_chain_is_found_and_the_first_bad_line_named(lines: list[bytes], how: str) -> None:
    with pytest.raises(ValueError, match=r"^line [1-6] "):
        verify_chain(BREAKS[how](lines))


def test_a_cut_at_the_end_is_a_shorter_chain_which_the_reports_count_shows(lines: list[bytes]) -> None:
    assert verify_chain(lines[:3]) == 3


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_whatever_the_arguments_hold_they_have_a_digest_that_the_order_of_keys_does_not_change(value: Any) -> None:
    assert argument_digest({"a": value, "b": 1}) == argument_digest({"b": 1, "a": value})
    assert len(argument_digest("\ud800")) == 64


def test_lines_are_ascii_whatever_they_tell_of(tmp_path: Path) -> None:
    made = log(tmp_path)
    made.append("call.started", {"tool": "\ud800\x1b[2J\u202eé\n"})
    made.close()
    (line,) = made.path.read_bytes().splitlines(keepends=True)
    assert line.isascii() and verify_chain([line]) == 1


def test_the_log_is_for_the_owner_alone(tmp_path: Path) -> None:
    made = log(tmp_path)
    made.close()
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600


def test_appends_from_two_threads_stay_a_chain(tmp_path: Path) -> None:
    made = log(tmp_path)
    ready = threading.Barrier(2)

    def append(name: str) -> None:
        ready.wait(60)
        for number in range(300):
            made.append(name, {"n": number})

    threads = [threading.Thread(target=append, args=(name,)) for name in ("egress", "decision")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.close()
    written = made.path.read_bytes().splitlines(keepends=True)
    assert verify_chain(written) == made.lines == 600
    for name in ("egress", "decision"):
        told = [json.loads(line)["data"]["n"] for line in written if json.loads(line)["event"] == name]
        assert told == list(range(300))


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_log_never_overwrites_what_is_there_and_follows_no_link(tmp_path: Path, kind: str) -> None:
    path, elsewhere = tmp_path / "audit.jsonl", tmp_path / "elsewhere"
    if kind == "file":
        path.write_text("before")
    else:
        path.symlink_to(elsewhere)
    with pytest.raises(AuditUnwritable) as refused:
        log(tmp_path)
    assert refused.value.code == "audit_unwritable" and refused.value.exit_code is ExitCode.BUG
    assert not elsewhere.exists() and (kind == "link" or path.read_text() == "before")


def test_a_closed_log_takes_no_line_and_its_end_stays_what_it_was(tmp_path: Path) -> None:
    made = log(tmp_path)
    made.append("run.started", {})
    end = made.last_hash
    made.close()
    with pytest.raises(AuditUnwritable):
        made.append("call.started", {})
    assert (made.lines, made.last_hash) == (1, end)


def test_a_line_that_does_not_fit_on_the_disk_is_refused_and_not_counted(tmp_path: Path) -> None:
    made = log(tmp_path)
    resource_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource_limit[1]))  # the next line fits in part
    try:
        with pytest.raises(AuditUnwritable):
            made.append("run.started", {})
        with pytest.raises(AuditUnwritable):
            made.append("run.started", {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, resource_limit)
    assert made.lines == 0 and made.path.read_bytes() == b""  # half a line would break the chain of the next
    made.close()


def test_after_a_line_that_was_lost_no_effect_is_announced_though_there_is_room_again(tmp_path: Path) -> None:
    made = log(tmp_path)
    made.append("run.started", {})
    before, resource_limit = made.path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 64, resource_limit[1]))
    try:
        with pytest.raises(AuditUnwritable) as lost:
            made.tell("egress", {})  # in a thread that has nobody to tell
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, resource_limit)
    with pytest.raises(AuditUnwritable) as refused:
        made.append("call.started", {})
    assert made.lost is lost.value is refused.value and made.path.read_bytes() == before
    made.tell("run.ended", {})  # what became of the run is told all the same
    made.close()
    written = made.path.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["event"] for line in written] == ["run.started", "run.ended"]
    assert verify_chain(written) == 2


class Interrupted(BaseException):
    """Stands for the KeyboardInterrupt of a Ctrl-C."""


@pytest.mark.parametrize("when", ["before the write", "after it"])
def test_a_ctrl_c_around_the_write_leaves_a_log_that_goes_on_as_a_chain(tmp_path: Path, when: str) -> None:
    class Interrupting:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: bytes) -> int:
            if when == "after it":
                self.file.write(data)
            raise Interrupted

    made = log(tmp_path)
    made.append("run.started", {})
    file, made._file = made._file, Interrupting(made._file)  # type: ignore[assignment]
    with pytest.raises(Interrupted):
        made.append("call.started", {})
    made._file = file
    made.append("run.ended", {})
    made.close()
    lines = made.path.read_bytes().splitlines(keepends=True)
    assert verify_chain(lines) == made.lines == (3 if when == "after it" else 2)
    assert json.loads(lines[-1])["hash"] == made.last_hash


@pytest.mark.parametrize("piece", ["x", '"\\\n\t\x7f', "é\U0001f600", "\ud83d\ude00\ud83d"])
@pytest.mark.parametrize("rest", [{}, {"a": 1, "z": [True, None]}])
def test_the_digest_of_long_texts_is_that_of_their_one_byte_form(piece: str, rest: dict[str, Any]) -> None:
    for value in (
        piece * 40_001,
        {"long": piece * 40_001, "short": piece, **rest},
        {'l\u00e9"': {"in": piece * 40_001}},
    ):
        assert argument_digest(value) == hashlib.sha256(canonical(value)).hexdigest()


def test_an_empty_object_and_one_of_several_long_texts_have_their_digests() -> None:
    for value in ({}, {"b": "x" * 20_000, "a": "y" * 20_000}, {"c": "", "b": "x" * 16_384, "a": "x" * 16_385}):
        assert argument_digest(value) == hashlib.sha256(canonical(value)).hexdigest()
