"""What is kept of what programs said: its ends, within bounds, without secrets; and it never ends a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.audit.output_forms import Said
from runner.audit.scrub import Scrubber
from runner.audit.seal import SAID
from runner.controller import outputs
from runner.controller.outputs import MAX_HEAD_CHARACTERS, MAX_TAIL_CHARACTERS, Outputs

SECRET = "hunter2-hunter2"


def command(stdout: str = "", **keys: Any) -> dict[str, Any]:
    told = {"code": 0, "stdout": stdout, "stderr": "", "timed_out": False, "truncated": False, "limits_hit": []}
    return {"ok": True, "result": {**told, **keys}}


def refused(**keys: Any) -> dict[str, Any]:
    details = {"rule": "write.deny", "hint": "Write elsewhere."}
    told = {"code": "workspace_write_not_allowed", "message": "No. Write elsewhere.", "details": details}
    return {"ok": False, "error": {**told, **keys}}


def lines(folder: Path) -> list[dict[str, Any]]:
    found = (folder / SAID).read_bytes().splitlines()
    for line in found:
        Said.model_validate_json(line)
    return [json.loads(line) for line in found]


def test_the_ends_of_a_long_output_are_kept_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    kept = Outputs(tmp_path, Scrubber())
    middle = 100
    text = "a" * MAX_HEAD_CHARACTERS + "b" * middle + "c" * MAX_TAIL_CHARACTERS
    kept.keep(1, command(text, timed_out=True, killed_by="time", limits_hit=["commandSeconds: 1 s"]))
    kept.keep(2, command("short"))
    long, short = lines(tmp_path)
    assert long["stdout"] == {"head": "a" * 4096, "cut_characters": middle, "tail": "c" * 12288}
    assert (long["killed_by"], long["limits_hit"], long["timed_out"]) == ("time", ["commandSeconds: 1 s"], True)
    assert short["stdout"] == {"head": "short", "cut_characters": 0, "tail": ""} and "killed_by" not in short


def test_a_refusal_is_kept_with_its_mend_told_once(tmp_path: Path) -> None:
    Outputs(tmp_path, Scrubber()).keep(4, refused())
    assert lines(tmp_path) == [
        {
            "seq": 4,
            "kind": "refusal",
            "code": "workspace_write_not_allowed",
            "rule": "write.deny",
            "message": "No.",
            "hint": "Write elsewhere.",
        }
    ]


@pytest.mark.parametrize("result", ["a file's text", {"entries": []}, {"matches": [{"text": "x"}]}, {"ok": True}])
def test_content_of_files_and_searches_is_not_kept(tmp_path: Path, result: Any) -> None:
    Outputs(tmp_path, Scrubber()).keep(1, {"ok": True, "result": result})
    assert lines(tmp_path) == []


def test_secrets_are_hidden_although_a_cut_goes_through_them(tmp_path: Path) -> None:
    text = "x" * (MAX_HEAD_CHARACTERS - 5) + SECRET + "y" * 50_000
    kept = Outputs(tmp_path, Scrubber([SECRET]))
    kept.keep(1, command(text))
    kept.keep(2, refused(message=f"No {SECRET}."))
    assert "hunter" not in (tmp_path / SAID).read_text()


def test_the_file_ends_at_its_bound_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MAX_FILE_BYTES", 300)
    kept = Outputs(tmp_path, Scrubber())
    for seq in range(1, 6):
        kept.keep(seq, command("x" * 100))
    assert [line["kind"] for line in lines(tmp_path)] == ["output", "full"]


def test_a_full_disk_ends_the_file_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Outputs(tmp_path, Scrubber())

    def full(_file: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    kept.keep(1, command("x"))
    monkeypatch.undo()
    kept.keep(2, command("x"))
    assert lines(tmp_path) == []


def test_a_folder_that_takes_no_file_is_no_obstacle(tmp_path: Path) -> None:
    kept = Outputs(tmp_path / "missing", Scrubber())
    kept.keep(1, command("x"))
    kept.close()


def test_lone_surrogates_are_kept_as_escapes(tmp_path: Path) -> None:
    Outputs(tmp_path, Scrubber()).keep(1, command("\udcff"))
    assert b"\\udcff" in (tmp_path / SAID).read_bytes()
