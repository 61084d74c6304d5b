"""What a run's page says: of a whole record, of one that grows, and of one that somebody damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.audit.keys import own_key
from runner.audit.seal import RECEIPT
from runner.pages.html import draw_report, render
from runner.pages.page import RunPage, run_page
from runner.pages.record import RecordFolder
from runner.pages.story import MAX_CALLS_AT_EACH_END, Story
from runner.pages.units import clock_time, day_and_time, long_time, milliseconds, seconds_between, size
from runner.pages.untrusted import untrusted
from tests.support.examples import examples
from tests.support.run_record import RunRecord, rich_record, stream


def page_of(record: RunRecord, *, alive: bool = False) -> RunPage:
    return run_page(RecordFolder(record.run_id, record.folder, alive), record.key)


def test_a_run_is_told_with_calls_refusals_network_changes_and_its_seal(tmp_path: Path) -> None:
    record = rich_record(tmp_path)
    record.end()
    page = page_of(record)
    assert (page.heading.status, page.seal.word, page.counts) == (
        "completed",
        "verified",
        {"calls": 3, "ok": 1, "refused": 2, "crashed": 0},
    )
    command, write, unknown = page.first_calls
    assert [call.told.look for call in page.first_calls] == ["ok", "refused", "refused"]
    assert [s.name for s in command.streams] == ["standard output", "standard error"] and command.streams[0].cut == 100
    assert (write.rule, write.message, write.kept) == (untrusted("write.deny.pattern"), untrusted("plain"), True)
    assert unknown.told.code == untrusted("unknown_tool") and not unknown.kept
    assert page.refusals == (write, unknown)
    assert [(c.allowed, c.call) for c in page.connections] == [(False, 1)]
    assert [(f.path, f.added, f.removed) for f in page.diff.files] == [
        (untrusted("src/app.js"), 1, 1),
        (untrusted("notes.md"), 1, 0),
    ]
    assert (page.controls, page.missed, page.canary, len(page.pushes)) == (2, 0, 1, 1)
    assert [phase.lasted for phase in page.phases] == ["15.4 ms", "120 ms", "191 ms"]
    assert page.limits[0] == ("time of the run, s", "1,800")
    assert page.heading.duration and page.heading.started == "2026-01-01 00:00:01"


def test_a_connection_without_an_end_is_shown_as_open_and_after_the_run_as_cut(tmp_path: Path) -> None:
    record = rich_record(tmp_path)
    way = {"phase": "run", "connection": 7, "host": "slow.example.com", "port": 443}
    record.tell("egress.open", rule="egress.allow:slow.example.com", **way)
    going_on = page_of(record, alive=True)
    assert [(c.host, c.ended_by) for c in going_on.open_connections] == [(untrusted("slow.example.com"), None)]
    assert (going_on.connection_counts["all"], len(going_on.connections)) == (2, 1)
    live = render("live.html", page=going_on, calls=(), refusals=(), connections=())
    assert "slow.example.com" in live and "still open" in live
    killed = draw_report(RecordFolder(record.run_id, record.folder, False), record.key).decode()
    assert "cut with its run" in killed and "still open" not in killed
    ended = {"allowed": True, "ended_by": "closed", "bytes_up": 1, "bytes_down": 2, "milliseconds": 3.0}
    record.tell("egress", address="192.0.2.1", rule="egress.allow:slow.example.com", **way, **ended)
    page = page_of(record, alive=True)
    assert page.open_connections == () and [c.ended_by for c in page.connections][1:] == [untrusted("closed")]
    assert page.connection_counts["all"] == 2


def test_a_run_that_goes_on_is_told_up_to_now_with_the_call_at_work(tmp_path: Path) -> None:
    record = rich_record(tmp_path)
    record.begin_call(argv=["node", "slow.js"])
    page = page_of(record, alive=True)
    assert (page.heading.status, page.seal.word) == ("running", "pending")
    assert page.heading.duration == ""  # the log's last line would only tell when something last happened
    assert page.at_work is not None and page.at_work.told.subject == untrusted("node slow.js")
    assert page.counts["calls"] == 3


def test_a_run_whose_controller_was_killed_is_neither_running_nor_completed(tmp_path: Path) -> None:
    page = page_of(rich_record(tmp_path))
    assert (page.heading.status, page.seal.word) == ("lost", "unsealed")


def test_a_decision_that_was_made_twice_is_told_once_with_its_count(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    record.start()
    seq = record.begin_call("workspace.edit", path="a")
    for rule in ("write.default", "read.default", "write.default"):
        record.decide(seq, rule, kind="write", path="a")
    record.end_call(seq, "workspace.edit")
    told = page_of(record).first_calls[0].told
    assert [(one.rule, times) for one, times in told.decisions_counted] == [
        (untrusted("write.default"), 2),
        (untrusted("read.default"), 1),
    ]
    shown = draw_report(RecordFolder("run1", record.folder), record.key).decode()
    assert shown.count("<bdi>write a</bdi>") == 2 and "2 times" in shown


def test_what_an_ended_run_has_none_of_is_one_line_and_no_parts(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    record.start()
    going = render("run.html", page=page_of(record, alive=True), sign_out="", who="")
    # There may be some yet, and live updates need a place.
    assert 'id="calls-part"' in going and "Nothing:" not in going
    record.end(patch="")
    shown = draw_report(RecordFolder("run1", record.folder), record.key).decode()
    assert "</span> calls, refusals, connections, pushes, changes, set-up commands.</p>" in shown
    for part in ("calls", "refusals", "network", "changes", "setup"):
        assert f"{part}-part" not in shown
    assert 'id="posture-part"' in shown and "No patch was made" not in shown
    (record.folder / "changes.patch").unlink()
    assert "No patch was made." in draw_report(RecordFolder("run1", record.folder), record.key).decode()


def test_an_exit_that_is_not_zero_is_no_refusal(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    record.start()
    record.end_call(record.begin_call(argv=["node"]), exit_code=3, kind="output", stdout=stream("x"), stderr=stream(""))
    (call,) = page_of(record).first_calls
    assert (call.told.outcome, call.told.look, call.told.exit) == ("ok", "nonzero", 3)


@pytest.mark.parametrize("name", ["report.json", "changes.patch", "outputs.jsonl", "audit.jsonl", RECEIPT])
def test_a_record_that_was_changed_is_shown_as_broken(tmp_path: Path, name: str) -> None:
    record = rich_record(tmp_path)
    record.end()
    file = record.folder / name
    file.write_bytes(file.read_bytes().replace(b"plain", b"pla1n", 1).replace(b"run1", b"run2", 1) + b" ")
    page = page_of(record)
    assert page.seal.word == "broken" and page.seal.problem
    assert b"Do not rely on what this page shows" in draw_report(RecordFolder("run1", record.folder), record.key)


def test_another_key_or_none_verifies_nothing(tmp_path: Path) -> None:
    record = rich_record(tmp_path)
    record.end()
    folder = RecordFolder("run1", record.folder)
    (tmp_path / "other").mkdir()
    for key in (None, own_key(tmp_path / "other").public):
        assert run_page(folder, key).seal.problem == untrusted("wrong-key")


def test_calls_in_the_middle_of_a_long_run_are_counted_and_left_out(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    record.start()
    for _ in range(2 * MAX_CALLS_AT_EACH_END + 7):
        record.end_call(record.begin_call("workspace.list_dir", path="."), "workspace.list_dir")
    page = page_of(record)
    assert (len(page.first_calls), page.calls_left_out, len(page.last_calls)) == (500, 7, 500)
    assert (page.first_calls[-1].told.seq, page.last_calls[0].told.seq) == (500, 508)


def test_a_folder_with_nothing_in_it_and_files_that_are_none_still_make_a_page(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    odd = tmp_path / "odd"
    odd.mkdir()
    for name in ("audit.jsonl", "report.json", RECEIPT, "changes.patch"):
        os.mkfifo(odd / name)  # reading one would wait for ever
    for folder in (empty, odd):
        page = run_page(RecordFolder("x", folder), None)
        assert (page.heading.status, page.lines, page.files) == ("lost", 0, ())


GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_damage_to_a_record_keeps_its_page_from_being_made(tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    record = rich_record(folder)
    record.end()
    name = data.draw(st.sampled_from(["audit.jsonl", "outputs.jsonl", "report.json", "run.json"]))
    lines = (record.folder / name).read_text().splitlines() if name.endswith("l") else [""]
    told = json.loads((record.folder / name).read_text()) if not name.endswith("l") else None
    if told is None:
        where = data.draw(st.integers(0, len(lines) - 1))
        line = json.loads(lines[where])
        target = line["data"] if "data" in line and data.draw(st.booleans()) else line
        target[data.draw(st.sampled_from(sorted(target)))] = data.draw(GARBAGE)
        lines[where] = json.dumps(line)
        (record.folder / name).write_text("\n".join(lines) + "\n")
    else:
        told[data.draw(st.sampled_from(sorted(told)))] = data.draw(GARBAGE)
        (record.folder / name).write_text(json.dumps(told))
    assert draw_report(RecordFolder("run1", record.folder), record.key)


def test_a_line_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    record = rich_record(tmp_path)
    whole = (record.folder / "audit.jsonl").read_bytes()
    lines = [*whole.splitlines(keepends=True), b'{"v":1,"seq"']
    assert Story(lines).lines == len(lines) - 1 and Story(lines).odd_count == 0
    assert Story([*lines[:-1], b"no line\n"]).odd_count == 1


def test_numbers_are_in_units_that_people_read() -> None:
    assert [milliseconds(n) for n in (None, 0.25, 12.34, 456.7, 2500, 3_700_000, float("inf"))] == [
        "",
        "0.25 ms",
        "12.3 ms",
        "457 ms",
        "2.5 s",
        "1 h 1 min",
        "",
    ]
    assert [size(n) for n in (0, 1023, 1536, 5 << 20, 3 << 30)] == ["0 B", "1023 B", "1.5 KiB", "5.0 MiB", "3.0 GiB"]
    assert long_time(125) == "2 min 5 s"
    at = "2026-01-02T03:04:05.678+00:00"
    assert (clock_time(at), day_and_time(at), clock_time("then")) == ("03:04:05.678", "2026-01-02 03:04:05", "")
    assert seconds_between(at, "2026-01-02T03:04:06") is None and seconds_between(at, at) == 0.0


def test_a_number_that_nothing_can_write_is_left_out(tmp_path: Path) -> None:
    record = rich_record(tmp_path)
    noted = json.loads((record.folder / "run.json").read_text())
    limits = {"cpus": 10**400, "pids": 5, "memoryMiB": float("nan"), "runSeconds": -(10**400)}
    (record.folder / "run.json").write_text(json.dumps({**noted, "limits": limits}))
    assert [value for _, value in page_of(record, alive=True).limits] == ["5"]


def test_a_list_names_a_policy_by_its_file_and_a_repository_without_its_scheme(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    record.start(repository="file:///srv/shop", policy="/etc/runner/shop.yml")
    heading = page_of(record).heading
    assert (heading.repository_short, heading.policy_short) == (untrusted("/srv/shop"), untrusted("shop.yml"))
    assert (heading.repository, heading.policy) == (untrusted("file:///srv/shop"), untrusted("/etc/runner/shop.yml"))
    preset = RunRecord(tmp_path, "run2")
    preset.start(repository="https://host/shop", policy="strict")
    heading = page_of(preset).heading
    assert (heading.repository_short, heading.policy_short) == (untrusted("https://host/shop"), untrusted("strict"))
