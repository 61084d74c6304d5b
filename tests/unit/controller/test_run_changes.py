"""What git says of a run's changes is taken apart as git means it, and garbage is told from it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.controller import run_changes
from runner.controller.run_changes import PatchFile, raw_names
from tests.support.repos import Commit, bare_repository

NAMES = (
    b"a.txt",
    b"tab\there",
    b"new\nline",
    b'quo"te',
    b"back\\slash",
    b"\xff\xfe",
    "ä".encode(),
    b"\x01\x7f",
    b"d/e f",
)
_SHA = b"0" * 40


def _line(name: bytes) -> bytes:
    return b":000000 100644 " + _SHA + b" " + _SHA + b" A\t" + name + b"\n"


@pytest.mark.parametrize("quoting", ["true", "false"])
def test_names_are_those_that_git_lists_with_nul(tmp_path: Path, quoting: str) -> None:
    files = {name.decode("utf-8", "surrogateescape"): b"x\n" for name in NAMES}
    repository = bare_repository(tmp_path / "r.git", [Commit({"first": b"1\n"}), Commit(files)])
    diff = ["git", f"--git-dir={repository}", "-c", f"core.quotePath={quoting}", "diff", "main~1", "main"]
    raw = subprocess.run([*diff, "--raw", "--no-abbrev"], capture_output=True, check=True).stdout
    listed = subprocess.run([*diff, "--name-only", "-z"], capture_output=True, check=True).stdout
    assert raw_names(raw) == tuple(filter(None, listed.split(b"\0")))


@given(st.binary())
def test_what_is_not_such_a_line_names_nothing(garbage: bytes) -> None:
    assert raw_names(_line(b"a") + b"x" + garbage) is None
    assert raw_names(garbage) in ((), None) or garbage.startswith(b":")


@given(st.lists(st.integers(min_value=1, max_value=60), max_size=8))
def test_names_and_patch_are_told_apart_wherever_the_stream_is_cut(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("patch")
    lines, patch = _line(b"a") + _line(b"b"), b"diff --git a/a b/a\n+\n\n+two\n"
    whole, seen = lines + b"\n" + patch, bytearray()
    taking = PatchFile(folder / "p", seen.extend)
    for cut in cuts:
        taking("stdout", whole[:cut])
        taking("stderr", b"warning: not of the patch\n\n")
        whole = whole[cut:]
    taking("stdout", whole)
    taking.close()
    assert (taking.names, (folder / "p").read_bytes(), taking.truncated) == (lines, patch, False)
    assert bytes(seen) == lines + b"\n" + patch


def test_a_run_without_a_change_has_no_names_and_no_patch(tmp_path: Path) -> None:
    taking = PatchFile(tmp_path / "p", lambda _data: None)
    taking.close()
    assert (raw_names(taking.names), taking.size) == ((), 0)


def test_names_without_an_end_are_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_changes, "_MAX_NAMES_BYTES", 50)
    taking = PatchFile(tmp_path / "p", lambda _data: None)
    for _ in range(10):
        taking("stdout", b"x" * 40)
    taking.close()
    assert (len(taking.names), taking.truncated, taking.size) == (50, True, 0)
