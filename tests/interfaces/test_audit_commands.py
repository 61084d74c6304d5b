"""`runner audit` as a user meets it: what is printed, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from runner.audit.keys import PUBLIC_KEY
from runner.audit.record_forms import record_schemas
from runner.audit.seal import SEALED_FILES
from runner.doors import cli
from runner.model.errors import RunnerError
from tests.support.run_record import rich_record
from tests.support.sealed_run import EVENTS, Record, make_record, rehashed

VERBS = ("show", "verify", "export", "schemas")


def audit_command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.command_line(), ["audit", *map(str, arguments)])


def code(result: Result) -> int:
    """The exit code that `main` would give."""
    return int(result.exception.exit_code) if isinstance(result.exception, RunnerError) else result.exit_code


def told(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.fixture
def state() -> Path:
    """The state folder of the host at hand."""
    folder = Path(os.environ["RUNNER_STATE_DIR"])
    folder.mkdir()
    return folder


@pytest.fixture
def record(state: Path) -> Record:
    """A run of this host's."""
    return make_record(state / "runs" / "run1", keys=state)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    result = audit_command(verb, "--help")
    assert (result.exit_code, f"Example: runner audit {verb} " in result.stdout) == (0, True)


# verify


def test_a_run_of_this_host_verifies_by_its_id_its_folder_or_its_log(record: Record) -> None:
    for name in ("run1", record.folder, record.folder / "audit.jsonl"):
        result = audit_command("verify", name, "-o", "json")
        assert (result.exit_code, told(result)["verdict"], told(result)["lines"]) == (0, "verified", len(EVENTS))


def test_verification_needs_no_state_folder_but_a_key(tmp_path: Path) -> None:
    record = make_record(tmp_path / "elsewhere")
    missing = audit_command("verify", record.folder)
    assert code(missing) == 2
    assert audit_command("verify", record.folder, "--key", record.folder / PUBLIC_KEY).exit_code == 0
    assert not Path(os.environ["RUNNER_STATE_DIR"]).exists()  # asking makes no key


def test_a_key_beside_the_log_is_not_trusted_by_itself(record: Record, tmp_path: Path) -> None:
    forged = make_record(tmp_path / "forged")
    result = audit_command("verify", forged.folder, "-o", "json")
    assert (result.exit_code, told(result)["problem"]) == (7, "wrong-key")


def test_a_broken_log_names_its_first_bad_line(record: Record, tmp_path: Path) -> None:
    touched = record.but(lines=[*record.lines[:2], *record.lines[3:]]).written(tmp_path / "touched")
    result = audit_command("verify", touched, "-o", "json")
    assert (result.exit_code, told(result)["line"], told(result)["problem"]) == (7, 3, "line-out-of-place")
    assert "line 3" in audit_command("verify", touched).stdout


def test_a_log_without_a_receipt_has_a_word_and_an_exit_of_its_own(record: Record, tmp_path: Path) -> None:
    killed = record.but(lines=record.lines[:-1], receipt=None).written(tmp_path / "killed")
    result = audit_command("verify", killed)
    assert result.exit_code == 8 and result.stdout.startswith("unsealed, chain intact up to line 6")
    assert told(audit_command("verify", killed, "-o", "json"))["verdict"] == "unsealed"


def test_an_edited_report_beside_the_log_is_found(record: Record) -> None:
    (record.folder / "report.json").write_text("{}")
    result = audit_command("verify", "run1", "-o", "json")
    assert (result.exit_code, told(result)["problem"]) == (7, "file-changed")


@pytest.mark.parametrize("how", ["copy", "link"])
def test_a_record_that_was_put_in_the_place_of_another_is_found(state: Path, record: Record, how: str) -> None:
    place = state / "runs" / "run2"
    shutil.copytree(record.folder, place) if how == "copy" else place.symlink_to(record.folder)
    for name in ("run2", place, place / "audit.jsonl"):
        result = audit_command("verify", name, "-o", "json")
        assert (result.exit_code, told(result)["problem"]) == (7, "receipt-of-another-run")
    assert audit_command("export", "run2", "--out", state / "copy").exit_code == 7


@pytest.mark.parametrize("name", SEALED_FILES)
def test_a_sealed_file_that_was_deleted_is_missed_in_the_state_folder_and_named_in_a_copy(
    state: Path, tmp_path: Path, name: str
) -> None:
    made = rich_record(state, "run3")
    made.end()
    assert audit_command("verify", "run3").exit_code == 0
    assert audit_command("export", "run3", "--out", tmp_path / "part").exit_code == 0
    for folder in (made.folder, tmp_path / "part"):
        (folder / name).unlink()
    result = audit_command("verify", "run3", "-o", "json")
    assert (result.exit_code, told(result)["problem"]) == (7, "file-missing") and name in told(result)["message"]
    part = audit_command("verify", tmp_path / "part", "-o", "json")
    assert (part.exit_code, told(part)["not_checked"]) == (0, [name])
    assert f"not checked, since not here: {name}" in audit_command("verify", tmp_path / "part").stdout


def test_the_verdict_says_that_the_page_beside_the_log_is_not_sealed(record: Record) -> None:
    assert told(audit_command("verify", "run1", "-o", "json"))["not_sealed"] == []
    (record.folder / "report.html").write_text("edited")
    assert "report.html is a view of the record, and not sealed" in audit_command("verify", "run1").stdout
    assert told(audit_command("verify", "run1", "-o", "json"))["not_sealed"] == ["report.html"]


@pytest.mark.parametrize("name", ["nope", "/dev/null", "", "a/b", "x" * 5000, "\0"])
def test_what_is_no_record_is_a_usage_error(name: str) -> None:
    for verb in ("verify", "show"):
        assert code(audit_command(verb, name)) == 2


@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_what_is_no_key_is_a_usage_error(record: Record, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key.pub"
    file.write_bytes(content)
    assert code(audit_command("verify", "run1", "--key", file)) == 2


# show


def test_show_prints_one_row_a_line_and_json_prints_all_of_it(record: Record) -> None:
    shown = audit_command("show", "run1")
    assert shown.exit_code == 0
    for words in ("git status", "allowed by git.allow, argv", "git: ok, exit 0, 1.5 ms", "1 controls, all active"):
        assert words in shown.stdout
    assert [line["seq"] for line in told(audit_command("show", "run1", "-o", "json"))] == list(range(1, 8))
    assert len(audit_command("show", "run1", "-o", "jsonl").stdout.splitlines()) == 7


def test_show_can_be_narrowed_to_events(record: Record) -> None:
    lines = told(audit_command("show", "run1", "--event", "decision", "--event", "run.ended", "-o", "json"))
    assert [line["event"] for line in lines] == ["decision", "run.ended"]


def test_what_a_workspace_wrote_cannot_move_the_readers_cursor(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202egpj\u200b\x07\r"
    arguments = {"argv": ["node", evil]}
    started = {"seq": 1, "tool": evil, "arguments_sha256": "b" * 64, "arguments": arguments}
    record = make_record(tmp_path / "evil", events=(("call.started", started), (evil, {evil: evil})))
    for output in ("table", "json", "jsonl"):
        result = audit_command("show", record.folder, "-o", output)
        assert result.exit_code == 0
        assert not set("\x1b\u202e\u200b\x07\r") & set(result.stdout)


def test_show_stops_where_the_chain_does(record: Record, tmp_path: Path) -> None:
    touched = record.but(lines=[*record.lines[:2], *record.lines[3:]]).written(tmp_path / "touched")
    result = audit_command("show", touched, "-o", "json")
    assert result.exit_code == 7 and len(told(result)) == 2


def test_a_chained_line_in_a_form_that_nobody_writes_is_shown_all_the_same(record: Record, tmp_path: Path) -> None:
    forms: tuple[Any, ...] = (7, {"checks": 7}, {"tool": [], "arguments": "x"}, [], {"checks": [{}]})
    for data in forms:
        odd = record.but(lines=rehashed(record.lines, 2, data=data)).written(tmp_path / "odd")
        assert audit_command("show", odd).exit_code == 0


# export


def test_an_export_holds_all_that_somebody_else_needs(record: Record, tmp_path: Path) -> None:
    out = tmp_path / "evidence"
    result = audit_command("export", "run1", "--out", out)
    assert result.exit_code == 0 and record.key.public.key_id in result.stdout
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    schemas = {f"schemas/{name}" for name in record_schemas()}
    assert names == {"audit.jsonl", "receipt.json", PUBLIC_KEY, *schemas}
    assert {(out / name).stat().st_mode & 0o777 for name in ("audit.jsonl", "receipt.json")} == {0o600}
    assert audit_command("verify", out, "--key", out / PUBLIC_KEY).exit_code == 0


def test_an_export_never_mixes_with_what_is_there(record: Record, tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "report.json").write_text("{}")
    assert code(audit_command("export", "run1", "--out", tmp_path / "evidence")) == 2


def test_an_export_of_a_record_that_does_not_verify_says_so(record: Record, tmp_path: Path) -> None:
    broken = record.but(lines=record.lines[:-1]).written(tmp_path / "cut")
    killed = record.but(lines=record.lines[:-1], receipt=None).written(tmp_path / "killed")
    assert audit_command("export", broken, "--out", tmp_path / "one").exit_code == 7
    assert audit_command("export", killed, "--out", tmp_path / "two").exit_code == 8


def test_schemas_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    assert audit_command("schemas", "--out", tmp_path / "s").exit_code == 0
    assert {path.name for path in (tmp_path / "s").iterdir()} == set(record_schemas())
