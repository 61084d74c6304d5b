"""Which folders a local repository lives in: those, and no others, are shown to the gate's container."""

from __future__ import annotations

import os
from pathlib import Path

from runner.gate.local import folders_of
from tests.support.repos import Commit, bare_repository, git


def test_a_plain_repository_is_one_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "work")

    assert folders_of(tmp_path / "work") == [tmp_path / "work"]


def test_a_linked_work_tree_brings_the_main_repositorys_git_folder(tmp_path: Path) -> None:
    main = bare_repository(tmp_path / "main.git", [Commit({"a": "1"})])
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"), "main")

    assert folders_of(tmp_path / "linked") == [tmp_path / "linked", main]


def test_borrowed_objects_are_followed_from_lender_to_lender(tmp_path: Path) -> None:
    first = bare_repository(tmp_path / "first.git", [Commit({"a": "1"})])
    for lender, borrower in (("first.git", "second.git"), ("second.git", "third.git")):
        git(tmp_path, "clone", "-q", "--bare", "--shared", str(tmp_path / lender), str(tmp_path / borrower))

    assert folders_of(tmp_path / "third.git") == sorted(
        [tmp_path / "third.git", first / "objects", tmp_path / "second.git" / "objects"],
        key=lambda folder: (len(folder.parts), folder),
    )


def test_lenders_that_go_round_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    repository = bare_repository(tmp_path / "r.git", [])
    alternates = repository / "objects" / "info" / "alternates"
    alternates.write_text(f"{repository}/objects\n../objects\n{tmp_path}/none\n# {tmp_path}\n\n")

    assert folders_of(repository) == [repository]


def test_a_pipe_in_the_place_of_a_file_says_nothing(tmp_path: Path) -> None:
    repository = bare_repository(tmp_path / "r.git", [])
    os.mkfifo(repository / "objects" / "info" / "alternates")
    os.mkfifo(repository / "commondir")

    assert folders_of(repository) == [repository]
