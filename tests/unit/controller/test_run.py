"""The life of a run over an engine in memory and a real repository: whatever happened, nothing is left."""

from __future__ import annotations

import base64
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.audit.keys import AuditKeyUnusable, PublicKey
from runner.audit.log import AuditLog, AuditUnwritable
from runner.audit.output_forms import Said
from runner.audit.verify import Word, verify_record
from runner.controller.records import RunRecord
from runner.controller.run import Run
from runner.egress.values import EgressEvent
from runner.engine.contract import Resolved, SandboxInfo, SandboxSpec
from runner.engine.fake import GOOD_GUEST, FakeCall, FakeEngine, FakeOutcome, FakeSandbox
from runner.model.errors import (
    EngineUnavailable,
    ExitCode,
    PostureFailed,
    RepositoryUnavailable,
    RunLimitReached,
    RunnerError,
)
from runner.pages.html import draw_report
from runner.pages.record import RecordFolder
from tests.support.clocks import ManualClock
from tests.support.fake_run import code_of
from tests.support.repos import bare_repository
from tests.support.run_bench import CHANGES, Bench, fill, git


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def write(run: Run, path: str = "src/n.txt") -> str | None:
    return code_of(run.call("workspace.write_file", {"path": path, "content": "x"}))


def test_a_run_that_completes_leaves_a_report_a_log_a_patch_and_nothing_else(bench: Bench) -> None:
    with bench.open() as run:
        assert [write(run), write(run, "README.md")] == [None, "workspace_write_not_allowed"]
        run.completed()
    bench.proved_gone()
    report = bench.report()
    assert (report["status"], report["exit_code"], report["ended"]) == ("completed", 0, None)
    assert report["calls"] == {"calls": 2, "ok": 1, "refused": 1}
    assert report["denials"][0]["code"] == "workspace_write_not_allowed"
    assert report["changes"]["files"] == ["src/n.txt"] and (bench.out / "changes.patch").read_bytes() == b"diff --git\n"
    assert all(check["active"] for check in report["posture"])
    names = [event["event"] for event in bench.events()]
    assert names[0] == "run.started" and names[-1] == "run.ended"
    assert names.index("posture") < names.index("call.started")


def test_the_intent_is_on_disk_and_the_run_alive_while_it_is_open(bench: Bench) -> None:
    with bench.open():
        ((run_id, intent),) = bench.state.runs()
        assert bench.state.alive(run_id) and intent["repository"] == f"file://{bench.repository}"
        (found,) = bench.engine.objects()
        assert (found.run_id, found.controller_id) == (run_id, bench.state.controller_id)


def test_what_a_crashed_run_left_is_swept_by_the_next_one(bench: Bench) -> None:
    crashed = bench.open()
    crashed.__enter__()
    ((run_id, _),) = bench.state.runs()
    bench.state.alive = lambda asked: asked != run_id  # type: ignore[method-assign, assignment]  # its controller died
    with bench.open():
        assert [found.run_id == run_id for found in bench.engine.objects()] == [False]
    assert any("crashed" in line for line in bench.said)
    crashed.gen.close()


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (RunLimitReached("the limit"), ExitCode.LIMIT, "failed"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "interrupted"),
        (ValueError("a bug of a door's"), ExitCode.BUG, "failed"),
        (BrokenPipeError(), ExitCode.BUG, "failed"),
    ],
)
def test_whatever_ends_the_block_the_run_is_torn_down_and_reported(
    bench: Bench, error: BaseException, code: ExitCode, status: str
) -> None:
    with pytest.raises(type(error)), bench.open() as run:
        write(run)
        raise error
    bench.proved_gone()
    assert (bench.report()["status"], bench.report()["exit_code"]) == (status, int(code))
    assert bench.events()[-1]["data"]["exit_code"] == int(code)


def test_a_caller_that_just_stops_has_not_completed_the_run(bench: Bench) -> None:
    with bench.open() as run:
        write(run)
    assert bench.report()["status"] == "failed"


def test_a_lost_workspace_is_reported_as_lost_and_the_record_is_whole(bench: Bench) -> None:
    with bench.open() as run:
        bench.engine.sandboxes["fake-1"].lose()
        assert write(run) == "run_ended"
        run.completed()
        assert run.exit_code is ExitCode.LIMIT and "ended" in run.ended_because
    bench.proved_gone()
    assert (bench.report()["status"], bench.report()["ended"]["code"]) == ("lost", "run_ended")


def test_a_run_over_its_time_answers_so_and_exits_as_limited(bench: Bench) -> None:
    with bench.open(limits={"runSeconds": 5}) as run:
        bench.clock.advance(5)
        assert write(run) == "run_limit_exceeded"
        assert run.exit_code is ExitCode.LIMIT
    bench.proved_gone()


@pytest.mark.parametrize("jump", [-40_000_000.0, 40_000_000.0])
def test_a_wall_clock_that_jumps_neither_ends_nor_stretches_a_run(bench: Bench, jump: float) -> None:
    wall = ManualClock(1_700_000_000.0)
    bench.host = replace(bench.host, unix=wall)
    with bench.open(limits={"runSeconds": 5}) as run:
        wall.advance(jump)
        assert write(run) is None
        bench.clock.advance(5)
        assert write(run) == "run_limit_exceeded"
    bench.proved_gone()


def test_a_control_that_is_not_active_ends_the_run_before_the_clone_is_made(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeEngine(guest=replace(GOOD_GUEST, no_new_privileges=False)))
    with pytest.raises(PostureFailed), bench.open():
        pass
    bench.proved_gone()
    assert bench.engine.sandboxes["fake-1"].spawned == []
    assert bench.report()["exit_code"] == ExitCode.POSTURE
    assert [check["control"] for check in bench.report()["posture"] if not check["active"]] == ["no-new-privileges"]


@pytest.mark.parametrize("missing", ["image", "repository"])
def test_what_is_missing_before_the_start_starts_nothing(bench: Bench, missing: str) -> None:
    if missing == "image":
        bench.engine.images = {}
    else:
        bench.repository = bench.repository / "absent"
    error = EngineUnavailable if missing == "image" else RepositoryUnavailable
    with pytest.raises(error), bench.open():
        pass
    assert bench.engine.sandboxes == {}
    bench.proved_gone()
    assert bench.report()["exit_code"] == error.exit_code


def test_a_fetch_that_is_refused_while_the_workspace_starts_is_what_the_run_ends_with(bench: Bench) -> None:
    bench.repository = bare_repository(bench.out.parent / "empty.git", [])
    with pytest.raises(RepositoryUnavailable) as refused, bench.open():
        pass
    assert refused.value.code == "repository_empty"
    bench.proved_gone()
    assert len(bench.engine.sandboxes) == 1
    assert all(box.spawned == [] for box in bench.engine.sandboxes.values())


def test_an_interrupt_while_the_workspace_starts_leaves_nothing(tmp_path: Path) -> None:
    class Interrupted(FakeEngine):
        def start(self, spec: SandboxSpec) -> FakeSandbox:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            return super().start(spec)

    bench = Bench(tmp_path, Interrupted())
    with pytest.raises(KeyboardInterrupt), bench.open():
        pass
    bench.proved_gone()
    assert bench.report()["status"] == "interrupted"


def test_a_workspace_that_cannot_be_started_ends_the_run_with_the_engines_reason(tmp_path: Path) -> None:
    class Refusing(FakeEngine):
        def start(self, spec: SandboxSpec) -> FakeSandbox:
            raise EngineUnavailable("it has no room", code="no_room")

    bench = Bench(tmp_path, Refusing())
    with pytest.raises(EngineUnavailable) as refused, bench.open():
        pass
    assert refused.value.code == "no_room"
    bench.proved_gone()


def test_a_clone_that_cannot_be_made_ends_the_run_with_its_reason(bench: Bench) -> None:
    bench.engine.programs = {**bench.engine.programs, "tar": lambda _call: FakeOutcome(1, stderr=b"No space left\n")}
    with pytest.raises(RepositoryUnavailable) as refused, bench.open():
        pass
    assert refused.value.code == "clone_failed" and "No space left" in refused.value.message
    bench.proved_gone()


def test_a_base_commit_that_cannot_be_listed_ends_the_run_once_the_clone_is_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise RepositoryUnavailable("it cannot be listed", code="mirror_broken")

    monkeypatch.setattr("runner.controller.prepare.list_base", broken)
    with pytest.raises(RepositoryUnavailable) as refused, bench.open():
        pass
    assert refused.value.code == "mirror_broken"
    bench.proved_gone()


@pytest.mark.parametrize(
    ("argv", "code"),
    [(["node", "setup.js"], "setup_failed"), (["git", "push"], "git_push_via_run_command")],
)
def test_a_set_up_that_fails_or_is_refused_ends_the_run(bench: Bench, argv: list[str], code: str) -> None:
    bench.engine.programs = {**bench.engine.programs, "node": lambda _call: FakeOutcome(3, stderr=b"broken\n")}
    with pytest.raises(RepositoryUnavailable) as refused, bench.open(setup=[argv]):
        pass
    assert refused.value.code == code
    bench.proved_gone()


def test_a_task_without_tools_gets_neither_clone_nor_container(bench: Bench) -> None:
    bench.engine.down = True  # it is not even asked
    with bench.open(tools=frozenset()) as run:
        assert write(run) == "tool_not_declared"
        run.completed()
    assert bench.engine.sandboxes == {} and bench.report()["status"] == "completed"


def test_a_tool_that_is_not_declared_is_refused_and_an_unknown_one_is_unknown(bench: Bench) -> None:
    with bench.open(tools=frozenset({"workspace.read_file"})) as run:
        assert write(run) == "tool_not_declared"
        assert code_of(run.call("workspace.nonsense", {})) == "unknown_tool"
        assert code_of(run.call("workspace.read_file", {"path": "README.md"})) is None
        assert bench.engine.sandboxes["fake-1"].tree.node("src/n.txt") is None


@pytest.mark.parametrize("name", ["\ud800", "caf\udce9", "\x1b[2J", "é" * 300])
def test_no_name_of_a_tool_spoils_the_report(bench: Bench, name: str) -> None:
    with bench.open() as run:
        assert code_of(run.call(name, {})) == "unknown_tool"
        run.completed()
    bench.proved_gone()
    assert bench.report()["denials"][0]["tool"] == name[:100]


def test_a_container_that_cannot_be_removed_is_named_and_the_run_does_not_count_as_completed(tmp_path: Path) -> None:
    class Stuck(FakeEngine):
        def objects(self) -> list[SandboxInfo]:
            return list(self._infos.values())

        def remove(self, info: SandboxInfo) -> None:
            raise EngineUnavailable("it is stuck")

    bench = Bench(tmp_path, Stuck())
    with bench.open() as run:
        run.completed()
    assert run.ended is not None and (run.ended.code, run.exit_code) == ("teardown_failed", ExitCode.BUG)
    assert bench.report()["teardown"]["verified"] is False and bench.report()["teardown"]["leftovers"]
    assert bench.report()["status"] == "failed"


def test_a_full_disk_below_the_record_keeps_nothing_from_going(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("runner.controller.report.write_changes", full)
    with bench.open() as run:
        assert write(run) is None
        run.completed()
    bench.proved_gone()
    changes = bench.report()["changes"]
    assert (changes["failed"], changes["reason"]) == (True, "changes.patch cannot be written: No space left on device")
    assert "THE CHANGES COULD NOT BE TAKEN" in bench.said[-1] and "files changed" not in bench.said[-1]


def test_changes_that_find_no_room_are_taken_with_what_git_writes_elsewhere(bench: Bench) -> None:
    calls: list[FakeCall] = []

    def sh(call: FakeCall) -> FakeOutcome:
        calls.append(call)
        return FakeOutcome(exit=128, stderr=b"no space") if len(calls) == 1 else FakeOutcome(stdout=CHANGES)

    bench.engine.programs = {**bench.engine.programs, "sh": sh}
    with bench.open() as run:
        run.completed()
    first, second = calls
    assert "GIT_OBJECT_DIRECTORY" not in first.env and second.env["GIT_OBJECT_DIRECTORY"].startswith("/home/agent/")
    assert second.env["GIT_INDEX_FILE"].startswith("/home/agent/")
    changes = bench.report()["changes"]
    assert (changes["file_count"], changes["failed"], changes["reason"]) == (1, False, None)


def test_changes_that_could_not_be_taken_are_told_with_gits_first_reason(bench: Bench) -> None:
    said = iter([b"error: no\n  room\x1b[2J\n", b"other"])
    failing = lambda _call: FakeOutcome(exit=128, stderr=next(said))  # noqa: E731
    bench.engine.programs = {**bench.engine.programs, "sh": failing}
    with bench.open() as run:
        run.completed()
    changes = bench.report()["changes"]
    assert (run.status, changes["failed"], changes["reason"]) == ("completed", True, "error: no room\x1b[2J")
    assert "THE CHANGES COULD NOT BE TAKEN (error: no room" in bench.said[-1]


def test_a_git_that_takes_too_long_for_the_changes_is_not_asked_again(bench: Bench) -> None:
    calls: list[FakeCall] = []

    def sh(call: FakeCall) -> FakeOutcome:
        calls.append(call)
        return FakeOutcome(seconds=3600.0)

    bench.engine.programs = {**bench.engine.programs, "sh": sh}
    with bench.open() as run:
        run.completed()
    assert len(calls) == 1 and bench.report()["changes"]["reason"] == "git took longer than 30 s"


def test_a_report_that_the_state_folder_cannot_take_is_in_the_out_folder(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = RunRecord.note

    def full(record: RunRecord, name: str, facts: Mapping[str, Any]) -> None:
        if name == "report.json":
            raise RunnerError("it cannot be written", code="state_unwritable")
        noted(record, name, facts)

    monkeypatch.setattr(RunRecord, "note", full)
    with bench.open() as run:
        run.completed()
    assert (run.failure is not None and run.failure.code, run.exit_code != 0) == ("state_unwritable", True)
    assert bench.report()["ended"]["code"] == "state_unwritable"
    assert bench.report()["teardown"] == {"verified": True, "leftovers": []}
    assert bench.events()[-1]["event"] == "run.ended"


def test_a_workspace_that_went_after_the_last_call_does_not_make_a_completed_run(bench: Bench) -> None:
    with bench.open() as run:
        assert write(run) is None
        run.completed()
        bench.engine.sandboxes["fake-1"].lose()
    assert (bench.report()["status"], bench.report()["ended"]["code"], run.exit_code) == ("lost", "run_ended", 5)


def test_an_address_with_a_secret_is_refused_before_anything_is_written_down(bench: Bench) -> None:
    with pytest.raises(RepositoryUnavailable) as refused, bench.open(repository="https://u:tok-1@127.0.0.1:9/x"):
        pass
    assert refused.value.code == "credential_inline"
    assert list(bench.state.runs()) == []


TOKEN = "tok-FAKE-1234"


@pytest.mark.parametrize("source", ["binding", "policy's env", "address in the policy's env", "registry"])
def test_a_secret_that_is_known_reaches_neither_log_nor_report_nor_receipt_nor_progress(
    bench: Bench, source: str
) -> None:
    """Whoever says it: the caller in a call, a program of the set-up, or the repository in a name."""
    sources: dict[str, dict[str, Any]] = {
        "binding": {"bindings": [{"git": {"host": "code.example.com"}, "credential": {"env": "CODE_TOKEN"}}]},
        "policy's env": {"env": {"DEPLOY_TOKEN": TOKEN}},
        "address in the policy's env": {"env": {"DATABASE": f"postgres://u:{TOKEN}@db/x"}},
        "registry": {},
    }
    registry = f"https://u:{TOKEN}@registry.example.com/" if source == "registry" else None
    bench.host = replace(bench.host, secrets={"CODE_TOKEN": TOKEN}, npm_registry=registry)
    said = f"{TOKEN} {base64.b64encode(TOKEN.encode()).decode()}\n".encode()
    bench.engine.programs = {**bench.engine.programs, "node": lambda _call: FakeOutcome(stdout=said)}
    with bench.open(setup=[["node", "setup.js"]], **sources[source]) as run:
        run.call("workspace.run_command", {"argv": ["node", "-e", f"'{TOKEN}'"]})
        run.call("workspace.read_file", {"path": TOKEN})
        run.call(TOKEN, {})
        run.prepared.progress(f"it is {TOKEN}")
        run.completed()
    bench.proved_gone()
    assert bench.report()["setup"]["steps"][0]["stdout"] == "*** ***\n"
    (folder,) = (bench.state.path / "runs").iterdir()
    for path in (*bench.out.iterdir(), *folder.iterdir()):
        assert TOKEN.encode() not in path.read_bytes(), path
    assert "it is ***" in bench.said and not [line for line in bench.said if TOKEN in line]


def test_what_a_failed_set_up_said_is_told_without_the_secret_that_it_printed(bench: Bench) -> None:
    failing = {"node": lambda _call: FakeOutcome(3, stderr=TOKEN.encode())}
    bench.engine.programs = {**bench.engine.programs, **failing}
    with pytest.raises(RepositoryUnavailable) as refused:
        with bench.open(setup=[["node", "setup.js"]], env={"NPM_TOKEN": TOKEN}):
            pass
    assert TOKEN not in refused.value.message and "***" in refused.value.message
    assert TOKEN not in (bench.out / "report.json").read_text()


def test_a_receipt_says_what_the_report_says(bench: Bench) -> None:
    with bench.open() as run:
        write(run)
        write(run, "README.md")
        run.call("workspace.run_command", {"argv": ["node", "--version"]})
        run.completed()
    said, report = bench.statement(), bench.report()
    assert said["ending"]["status"] == "completed" and said["ending"]["teardown"] == report["teardown"]
    assert said["chain"] == report["audit"] and said["controller"] == bench.state.controller_id
    assert said["images"]["workspace"] == report["image"]["id"]
    assert said["repository"] == report["repository"]
    assert said["posture"]["workspace"]["all_active"] is True
    outcomes = [(call["tool"], call["outcome"], call["exit"]) for call in said["calls"]["listed"]]
    assert outcomes == [
        ("workspace.write_file", "ok", None),
        ("workspace.write_file", "workspace_write_not_allowed", None),
        ("workspace.run_command", "ok", 0),
    ]
    assert said["decisions"]["denied"] == 1
    assert said["changes"]["file_count"] == report["changes"]["file_count"] == 1
    assert set(said["files"]) == {"report.json", "changes.patch", "outputs.jsonl"}


def test_what_programs_said_and_why_calls_were_refused_is_kept_for_people(bench: Bench) -> None:
    bench.engine.programs = {**bench.engine.programs, "node": lambda _call: FakeOutcome(exit=3, stdout=b"said\n")}
    with bench.open() as run:
        run.call("workspace.run_command", {"argv": ["node", "--version"]})
        write(run, "README.md")
        run.call("workspace.read_file", {"path": "README.md"})
        run.completed()
    command, refusal = (
        Said.model_validate_json(line) for line in (bench.out / "outputs.jsonl").read_bytes().splitlines()
    )
    assert command.stdout is not None and (command.seq, command.stdout.head) == (1, "said\n")
    assert (refusal.code, refusal.rule) == ("workspace_write_not_allowed", "write.allow.none") and refusal.hint
    assert bench.verdict().word is Word.VERIFIED


def test_a_run_leaves_a_page_that_shows_its_whole_record(bench: Bench) -> None:
    def draw(folder: Path, key: PublicKey) -> bytes:
        return draw_report(RecordFolder(folder.name, folder), key)

    bench.host = replace(bench.host, draw=draw)
    with bench.open() as run:
        write(run)
        run.completed()
    page = (bench.out / "report.html").read_text()
    assert "Verified." in page and ">completed<" in page and 'id="call-1"' in page


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), RecursionError("too deep")])
def test_a_page_that_cannot_be_made_ends_no_run_and_an_older_one_does_not_stay(
    bench: Bench, trouble: Exception
) -> None:
    def full(_folder: Path, _key: PublicKey) -> bytes:
        raise trouble

    bench.host = replace(bench.host, draw=full)
    (bench.out / "report.html").write_text("of another run")
    with bench.open() as run:
        run.completed()
    assert run.exit_code is ExitCode.COMPLETED and not (bench.out / "report.html").exists()
    assert any("report.html could not be made" in line for line in bench.said)
    bench.proved_gone()


def test_a_report_that_is_edited_afterwards_no_longer_verifies(bench: Bench) -> None:
    with bench.open() as run:
        run.completed()
    file = bench.out / "report.json"
    file.write_text(file.read_text().replace("completed", "completely"))
    assert (bench.verdict().word, bench.verdict().problem) == (Word.BROKEN, "file-changed")


def test_a_run_that_is_still_going_on_is_unsealed_up_to_its_last_line(bench: Bench) -> None:
    with bench.open() as run:
        write(run)
        ((run_id, _),) = bench.state.runs()
        lines = (bench.state.path / "runs" / run_id / "audit.jsonl").read_bytes().splitlines(keepends=True)
        verdict = verify_record(lines, None, None, {})
        assert (verdict.word, verdict.lines) == (Word.UNSEALED, len(lines))


def test_a_key_that_others_can_read_starts_no_run(bench: Bench) -> None:
    bench.host.signing_key()
    (bench.state.path / "audit-key.pem").chmod(0o644)
    with pytest.raises(AuditKeyUnusable), bench.open():
        pass
    assert list(bench.state.runs()) == [] and bench.engine.sandboxes == {}


def test_what_is_handed_over_is_for_its_owner_alone_as_the_record_is(bench: Bench) -> None:
    (bench.out / "report.json").write_text("of an earlier run")
    (bench.out / "report.json").chmod(0o666)
    before = os.umask(0)
    try:
        with bench.open() as run:
            run.completed()
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in bench.out.iterdir()}
    assert {"audit.jsonl", "receipt.json", "report.json", "changes.patch"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_a_log_that_another_process_writes_to_ends_the_run_and_is_not_sealed(bench: Bench) -> None:
    with bench.open() as run:
        ((run_id, _),) = bench.state.runs()
        with (bench.state.path / "runs" / run_id / "audit.jsonl").open("ab") as file:
            file.write(b"{}\n")
        assert write(run) == "run_ended"
        assert bench.engine.sandboxes["fake-1"].tree.node("src/n.txt") is None  # no audit, no action
        run.completed()
    assert isinstance(run.ended, AuditUnwritable) and run.exit_code is ExitCode.BUG
    assert bench.report()["ended"]["code"] == "audit_unwritable"


def lose_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the proxy's thread does while the disk is full, with nobody to tell; then there is room again."""

    def full(_log: AuditLog, _event: str, _data: object) -> None:
        raise AuditUnwritable("the audit log cannot be written: the disk is full")

    with monkeypatch.context() as patch, pytest.raises(AuditUnwritable):
        patch.setattr(AuditLog, "_append", full)
        run.prepared.audit.tell("egress", {})


def test_a_line_that_the_proxy_could_not_write_ends_the_run_before_the_next_effect(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench.open() as run:
        assert write(run, "src/before.txt") is None
        lose_a_line(run, monkeypatch)
        assert write(run) == "run_ended"
        assert bench.engine.sandboxes["fake-1"].tree.node("src/n.txt") is None
        run.completed()
    bench.proved_gone()
    assert run.exit_code is ExitCode.BUG and bench.report()["ended"]["code"] == "audit_unwritable"
    assert bench.events()[-1]["data"]["code"] == "audit_unwritable"


def test_a_line_that_the_proxy_could_not_write_after_the_last_call_fails_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench.open() as run:
        assert write(run) is None
        run.completed()
        lose_a_line(run, monkeypatch)
    assert run.exit_code is ExitCode.BUG and bench.report()["status"] == "failed"
    assert bench.events()[-1]["data"]["code"] == bench.statement()["ending"]["code"] == "audit_unwritable"


def test_a_log_that_was_changed_behind_the_controllers_back_is_not_sealed(bench: Bench) -> None:
    with bench.open() as run:
        ((run_id, _),) = bench.state.runs()
        file = bench.state.path / "runs" / run_id / "audit.jsonl"
        file.write_bytes(file.read_bytes().replace(b"p0.yml", b"p1.yml"))
        run.completed()
    assert run.exit_code is ExitCode.BUG and bench.report()["status"] == "failed"
    assert not (bench.out / "receipt.json").exists()


def test_a_receipt_that_cannot_be_written_fails_the_run(bench: Bench) -> None:
    with bench.open() as run:
        ((run_id, _),) = bench.state.runs()
        (bench.state.path / "runs" / run_id / ".receipt.json.new").mkdir()
        run.completed()
    assert isinstance(run.ended, AuditUnwritable) and run.exit_code is ExitCode.BUG
    assert bench.report()["ended"]["code"] == "audit_unwritable"


def test_a_ctrl_c_while_the_record_is_written_does_not_cost_the_seal(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, presses = AuditLog.close, iter(range(2))

    def close(log: AuditLog) -> None:
        if next(presses, None) is not None:
            raise KeyboardInterrupt
        kept(log)

    monkeypatch.setattr(AuditLog, "close", close)
    with bench.open() as run:
        run.completed()
    assert bench.verdict().word is Word.VERIFIED


def canary_of(run: Run) -> str:
    """The token, as a program that reads the home folder finds it."""
    return run.prepared.canary.canary.token


def places(bench: Bench) -> list[str]:
    """Where the log says that the canary was seen; report and receipt say the same."""
    seen = [event["data"]["place"] for event in bench.events() if event["event"] == "canary.seen"]
    assert [told["place"] for told in bench.report()["canary"]["seen"]] == seen
    assert bench.report()["canary"]["count"] == sum(bench.statement()["canary"].values()) == len(seen)
    return seen


def test_a_canary_is_planted_before_the_clone_and_the_log_knows_it_by_its_digest(bench: Bench) -> None:
    fed: list[bytes] = []

    def tee(call: FakeCall) -> FakeOutcome:
        fed.append(call.stdin)
        return FakeOutcome()

    bench.engine.programs = {**bench.engine.programs, "tee": tee}
    with bench.open() as run:
        token = canary_of(run)
        run.completed()
    assert token.encode() in fed[0]
    names = [event["event"] for event in bench.events()]
    assert names.index("posture") < names.index("canary.planted") < names.index("run.ended")
    assert token not in (bench.out / "audit.jsonl").read_text() + (bench.out / "report.json").read_text()


def test_an_ordinary_run_never_raises_the_alarm(bench: Bench) -> None:
    with bench.open(setup=[["node", "setup.js"]]) as run:
        write(run)
        run.call("workspace.run_command", {"argv": ["node", "--version"]})
        run.completed()
    assert places(bench) == [] and not [line for line in bench.said if "ALARM" in line or "CANARY" in line]


def test_a_canary_in_a_call_or_its_answer_is_told_with_the_call_and_ends_nothing(bench: Bench) -> None:
    told: list[str] = []
    bench.engine.programs = {**bench.engine.programs, "node": lambda _call: FakeOutcome(stdout=told[0].encode())}
    with bench.open() as run:
        told.append(canary_of(run))
        assert code_of(run.call("workspace.write_file", {"path": "src/n.txt", "content": f"x {told[0]}"})) is None
        assert code_of(run.call("workspace.run_command", {"argv": ["node", "a.mjs"]})) is None
        assert code_of(run.call("workspace.read_file", {"path": "src/n.txt"})) is None
        run.completed()
    bench.proved_gone()
    assert places(bench) == ["arguments", "result", "result"]
    assert [seen["seq"] for seen in bench.report()["canary"]["seen"]] == [1, 2, 3]
    assert any("THE CANARY WAS SEEN 3" in line for line in bench.said)


def test_a_canary_in_the_patch_is_told(bench: Bench) -> None:
    run_of: list[Run] = []

    def leaking(_call: FakeCall) -> FakeOutcome:
        return FakeOutcome(stdout=CHANGES + b"+" + canary_of(run_of[0]).encode())

    bench.engine.programs = {**bench.engine.programs, "sh": leaking}
    with bench.open() as run:
        run_of.append(run)
        run.completed()
    assert places(bench) == ["changes"]


def test_a_set_up_that_prints_the_canary_is_told(bench: Bench) -> None:
    fed: list[bytes] = []

    def tee(call: FakeCall) -> FakeOutcome:
        fed.append(call.stdin)
        return FakeOutcome()

    bench.engine.programs = {**bench.engine.programs, "tee": tee, "node": lambda _call: FakeOutcome(stdout=fed[0])}
    with bench.open(setup=[["node", "setup.js"]]) as run:
        run.completed()
    assert places(bench) == ["setup"]


def test_a_name_that_carries_the_canary_out_is_told_though_the_connection_was_refused(bench: Bench) -> None:
    with bench.open() as run:
        host = f"{canary_of(run).removeprefix('dpl_').upper()}.example.com"
        event = EgressEvent(1, host, 443, "", False, "egress.host", "", 0, 0, 1.0)
        run.prepared.canary.connection(event)
        run.prepared.canary.connection(replace(event, host="registry.example.com"))
        run.completed()
    assert places(bench) == ["egress"]


def test_where_no_set_up_ran_the_clone_has_no_hooks_and_no_program_is_asked_for_them(bench: Bench) -> None:
    with bench.open() as run:
        spawned = run.prepared.sandbox.spawned
        run.completed()
    asked = [argv for argv in spawned if "core.hooksPath" in argv or argv[0].endswith("/find")]
    assert (asked, bench.report()["hooks"]) == ([], {"path": "/workspace/.git/hooks", "active": []})


def test_where_set_up_ran_the_hooks_are_those_that_the_clone_now_has(bench: Bench) -> None:
    def config(call: FakeCall) -> FakeOutcome:
        return FakeOutcome(stdout=b".githooks\n") if "core.hooksPath" in call.argv else git(call)

    found = {"git": config, "find": lambda _call: FakeOutcome(stdout=b"pre-commit\0")}
    bench.engine.programs = {**bench.engine.programs, **found}

    def fill_with_hooks(sandbox: FakeSandbox) -> None:
        fill(sandbox)
        sandbox.tree.put_file(".githooks/pre-commit", b"")

    bench.engine.prepare = fill_with_hooks
    with bench.open(setup=[["node", "setup.js"]]) as run:
        run.completed()
    assert bench.report()["hooks"] == {"path": ".githooks", "active": ["pre-commit"]}
    assert bench.report()["posture"][-1]["control"] == "hooks path"


def test_a_set_up_that_says_there_are_no_hooks_refuses_nothing(bench: Bench) -> None:
    def config(call: FakeCall) -> FakeOutcome:
        return FakeOutcome(stdout=b"/dev/null\n") if "core.hooksPath" in call.argv else git(call)

    bench.engine.programs = {**bench.engine.programs, "git": config, "find": lambda _call: FakeOutcome()}
    with bench.open(setup=[["node", "setup.js"]]) as run:
        run.completed()
    assert bench.report()["status"] == "completed"


def test_hooks_that_set_up_switched_on_outside_the_clone_end_the_run(bench: Bench) -> None:
    def config(call: FakeCall) -> FakeOutcome:
        return FakeOutcome(stdout=b"/tmp/hooks\n") if "core.hooksPath" in call.argv else git(call)

    found = {"git": config, "find": lambda _call: FakeOutcome(stdout=b"pre-commit\0")}
    bench.engine.programs = {**bench.engine.programs, **found}
    with pytest.raises(PostureFailed, match="hooks path"), bench.open(setup=[["node", "setup.js"]]):
        raise AssertionError("calls would have been answered")
    assert bench.report()["posture"][-1]["active"] is False
    bench.proved_gone()


def test_set_up_asks_the_workspace_for_no_file_that_the_base_commit_does_not_have(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    resolve = FakeSandbox.resolve

    def noting(box: FakeSandbox, path: str) -> Resolved:
        asked.append(path)
        return resolve(box, path)

    monkeypatch.setattr(FakeSandbox, "resolve", noting)
    with bench.open(setup="auto") as run:
        run.completed()
    assert set(asked) == {"package.json"}


def test_a_canary_that_cannot_be_planted_starts_nothing(bench: Bench) -> None:
    bench.engine.programs = {**bench.engine.programs, "tee": lambda _call: FakeOutcome(1)}
    with pytest.raises(PostureFailed), bench.open():
        pass
    bench.proved_gone()
    assert bench.report()["canary"]["path"] is None


def test_what_the_engine_leaves_open_is_in_the_report_and_keeps_no_run_from_starting(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeEngine(doubted=("runc of no version: CVE-1, a way out",)))
    with bench.open() as run:
        run.completed()
    assert bench.report()["engine"] == {"unclear": ["runc of no version: CVE-1, a way out"]}
    assert bench.report()["status"] == "completed"
