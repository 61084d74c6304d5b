"""The fixture of the handed cases is what they say it is; many tests elsewhere stand on that."""

from __future__ import annotations

from pathlib import Path

from tests.support.repos import build_r0, git


def test_it_has_the_branches_the_history_and_the_remote(tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")

    assert git(r0.path, "symbolic-ref", "--short", "HEAD") == "agent/x1"
    assert git(r0.remote, "symbolic-ref", "--short", "HEAD") == "main"
    assert git(r0.path, "rev-list", "--count", "HEAD") == "3"
    assert git(r0.path, "show", "HEAD~1:notes/log.md") == "a\nb"
    assert git(r0.path, "show", "HEAD:notes/log.md") == "a\nb\nc"
    assert git(r0.path, "rev-parse", "origin/main") == r0.main != r0.base


def test_its_files_are_byte_for_byte_those_of_the_cases(tmp_path: Path) -> None:
    path = build_r0(tmp_path / "work").path

    assert (path / "src/crlf.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert (path / "src/latin1.txt").read_bytes().splitlines()[0].count(b"\xe9") == 1
    assert (path / "src/latin1.txt").read_bytes().splitlines()[1] == b"ascii line"
    assert (path / "src/noeol.txt").read_bytes() == b"l1\nl2\nl3"
    assert (path / "src/dangling").readlink() == Path("/tmp/fresh")
    assert (path / "src/run.sh").stat().st_mode & 0o111
    assert (path / ".githooks/pre-commit").stat().st_mode & 0o111
    assert git(path, "status", "--porcelain") == ""


def test_files_can_be_added_and_taken_and_the_default_branch_renamed(tmp_path: Path) -> None:
    r0 = build_r0(
        tmp_path / "work", extra={".os/workspace.yml": "run: []\n", "scratch/old.mjs": None}, default_branch="trunk"
    )

    assert (r0.path / ".os/workspace.yml").exists()
    assert not (r0.path / "scratch").exists()
    assert git(r0.remote, "symbolic-ref", "--short", "HEAD") == r0.default_branch == "trunk"
