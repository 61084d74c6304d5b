"""Records of runs: who is alive is what the kernel says, identity is agreed, notes are whole."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.controller.records import StateFolder
from runner.model.errors import ExitCode, RunnerError, UsageError

HOLDER = """
import sys
from pathlib import Path
from runner.controller.records import StateFolder
print(StateFolder(Path(sys.argv[1])).begin().run_id, flush=True)
sys.stdin.read()
"""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_run_is_alive_while_its_record_is_held_and_not_after_it_was_released(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    record = state.begin()
    assert state.alive(record.run_id)
    assert StateFolder(tmp_path).alive(record.run_id)
    record.release()
    assert not state.alive(record.run_id)


def test_asking_whether_a_run_is_alive_does_not_end_it(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    record = state.begin()
    assert [state.alive(record.run_id) for _ in range(3)] == [True] * 3
    record.release()


def test_a_killed_controllers_run_is_not_alive(tmp_path: Path) -> None:
    held = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with held:
        assert held.stdout is not None
        run_id = held.stdout.readline().strip()
        state = StateFolder(tmp_path)
        assert state.alive(run_id)
        held.send_signal(signal.SIGKILL)
        held.wait(timeout=60)
        assert not state.alive(run_id)


@pytest.mark.parametrize("run_id", ["", ".", "..", "absent", "../runs/x", "a/b", "\0", "*"])
def test_a_run_that_was_never_begun_is_not_alive_whatever_it_is_called(tmp_path: Path, run_id: str) -> None:
    assert not StateFolder(tmp_path).alive(run_id)


def test_the_controllers_identity_is_stable_and_another_folder_has_another(tmp_path: Path) -> None:
    first = StateFolder(tmp_path / "a").controller_id
    assert StateFolder(tmp_path / "a").controller_id == first
    assert StateFolder(tmp_path / "b").controller_id != first
    assert len(first) == 16


def test_a_copy_of_a_state_folder_is_another_controller_and_a_folder_that_moved_is_the_same(tmp_path: Path) -> None:
    original = StateFolder(tmp_path / "a").controller_id
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    copy = StateFolder(tmp_path / "copy").controller_id
    assert copy != original and StateFolder(tmp_path / "copy").controller_id == copy
    (tmp_path / "a").rename(tmp_path / "moved")
    assert StateFolder(tmp_path / "moved").controller_id == original


@pytest.mark.parametrize("found", ["", "deadbeefdeadbeef", "deadbeefdeadbeef 1:1", "\N{SNOWMAN} x"])
def test_an_identity_that_was_not_written_here_is_not_taken_over(tmp_path: Path, found: str) -> None:
    (tmp_path / "controller-id").write_text(found, encoding="utf-8")
    made = StateFolder(tmp_path).controller_id
    assert len(made) == 16 and made not in found


def test_controllers_that_start_at_once_agree_on_one_identity(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        identities = set(pool.map(lambda _: StateFolder(tmp_path / "state").controller_id, range(64)))
    assert len(identities) == 1
    assert [path.name for path in (tmp_path / "state").iterdir() if path.name.startswith(".")] == []


def test_what_is_kept_is_for_the_owner_alone(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    record = state.begin()
    for path in (state.path, state.path / "runs", state.mirrors, record.folder):
        assert mode_of(path) == 0o700
    assert mode_of(record.folder / "lock") == 0o600
    record.release()


def test_a_note_is_replaced_as_a_whole_and_read_back(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    record = state.begin()
    record.note("run.json", {"repository": "a"})
    record.note("run.json", {"repository": "b"})
    assert dict(state.runs()) == {record.run_id: {"repository": "b"}}
    assert [path.name for path in record.folder.glob(".*")] == []
    record.release()


@pytest.mark.parametrize("text", ["\ud800", "caf\udce9", "\x1b[2J", "é\u202e"])
def test_a_note_holds_any_text_that_a_caller_or_a_file_name_may_have(tmp_path: Path, text: str) -> None:
    record = StateFolder(tmp_path).begin()
    record.note("report.json", {"tool": text})
    assert json.loads((record.folder / "report.json").read_bytes()) == {"tool": text}
    record.release()


def test_a_folder_without_a_note_or_with_a_broken_one_is_left_out_of_the_list(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    bare, broken = state.begin(), state.begin()
    (broken.folder / "run.json").write_text("{")
    (state.path / "runs" / "stray").write_text("")
    assert list(state.runs()) == []
    bare.release()
    broken.release()


def test_a_state_folder_that_cannot_be_made_is_a_usage_error_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as refused:
        StateFolder(tmp_path / "file" / "state")
    assert refused.value.exit_code is ExitCode.USAGE and "RUNNER_STATE_DIR" in refused.value.hint


def test_a_known_identity_is_read_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = StateFolder(tmp_path).controller_id

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert StateFolder(tmp_path).controller_id == known


def test_a_note_that_cannot_be_written_says_so_and_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = StateFolder(tmp_path).begin()
    record.note("run.json", {"a": 1})

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(RunnerError) as refused:
        record.note("run.json", {"a": 2})
    assert refused.value.code == "state_unwritable"
    assert json.loads((record.folder / "run.json").read_text()) == {"a": 1}
    record.release()


def test_a_run_begins_although_somebody_looks_whether_it_is_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who knows a name before the run begins may look at any moment; the look holds the lock for that moment."""
    state = StateFolder(tmp_path)
    folder = tmp_path / "runs" / "abc123"
    made = Path.mkdir
    looking: list[int] = []

    def mkdir(path: Path, *args: object, **keys: object) -> None:
        made(path, *args, **keys)  # type: ignore[arg-type]  # handed on as it comes
        if path == folder:
            looking.append(os.open(folder / "lock", os.O_RDWR | os.O_CREAT))
            fcntl.flock(looking[0], fcntl.LOCK_SH)
            threading.Timer(0.05, os.close, looking).start()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    record = state.begin("abc123")
    assert looking and state.alive("abc123")
    record.release()
