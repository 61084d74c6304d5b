"""Which folders a local repository lives in: those, and no others, are shown to the gate's container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.gate.own_folders import folders_of
from runner.model.errors import RepositoryUnavailable
from tests.support.repos import Commit, bare_repository, git


def test_a_plain_repository_is_one_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "work")

    assert folders_of(tmp_path / "work") == [tmp_path / "work"]


def test_a_linked_work_tree_brings_the_main_repositorys_git_folder(tmp_path: Path) -> None:
    main = bare_repository(tmp_path / "main.git", [Commit({"a": "1"})])
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"), "main")

    assert folders_of(tmp_path / "linked") == [tmp_path / "linked", main]


def test_a_submodules_git_folder_names_its_work_tree(tmp_path: Path) -> None:
    part = bare_repository(tmp_path / "part.git", [Commit({"a": "1"})])
    git(tmp_path, "init", "-q", "whole")
    git(tmp_path / "whole", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "sub")

    assert folders_of(tmp_path / "whole" / "sub") == [
        tmp_path / "whole" / "sub",
        tmp_path / "whole" / ".git" / "modules" / "sub",
    ]


def refused(path: Path) -> str:
    with pytest.raises(RepositoryUnavailable) as caught:
        folders_of(path)
    assert caught.value.hint
    return caught.value.code


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A repository that an untrusted folder would like to bring along."""
    return bare_repository(tmp_path / "private.git", [Commit({"secret": "1"})])


def test_a_git_file_that_leads_to_another_repository_is_refused(private: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".git").write_text(f"gitdir: {private}\n")

    assert refused(tmp_path / "work") == "repository_outside_folder"


def test_a_git_file_that_leads_to_somebody_elses_linked_work_tree_is_refused(private: Path, tmp_path: Path) -> None:
    git(private, "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".git").write_text(f"gitdir: {private}/worktrees/linked\n")

    assert refused(tmp_path / "work") == "repository_outside_folder"


def test_a_common_folder_of_another_repository_is_refused(private: Path, tmp_path: Path) -> None:
    repository = bare_repository(tmp_path / "r.git", [])
    (repository / "commondir").write_text(f"{private}\n")

    assert refused(repository) == "repository_outside_folder"


@pytest.mark.parametrize("claim", ["gitdir", "worktree"])
def test_a_common_folder_is_refused_though_the_git_folder_claims_to_be_its_own(
    private: Path, tmp_path: Path, claim: str
) -> None:
    inner = tmp_path / "work" / ".git"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "commondir").write_text("../../private.git\n")
    if claim == "gitdir":
        (inner / "gitdir").write_text(".\n")
    else:
        (inner / "config").write_text("[core]\n\tworktree = ..\n")

    assert refused(tmp_path / "work") == "repository_outside_folder"


def test_a_folder_beside_that_leads_on_to_another_repository_is_refused(private: Path, tmp_path: Path) -> None:
    beside = bare_repository(tmp_path / "worktrees" / "x", [])
    (beside / "gitdir").write_text(f"{tmp_path}/tree/.git\n")
    (beside / "commondir").write_text(f"{private}\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {beside}\n")

    assert refused(tmp_path / "tree") == "repository_outside_folder"


def test_objects_borrowed_from_another_folder_are_refused(private: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "--shared", str(private), str(tmp_path / "borrower.git"))

    assert refused(tmp_path / "borrower.git") == "repository_outside_folder"


@pytest.mark.parametrize("name", ["objects", "refs", "packed-refs", "HEAD", "config"])
def test_a_link_out_of_the_folder_is_refused(private: Path, tmp_path: Path, name: str) -> None:
    repository = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    if (repository / name).exists():
        (repository / name).rename(tmp_path / "was")
    (repository / name).symlink_to(private / name)

    assert refused(repository) == "repository_outside_folder"


def test_a_repository_that_is_reached_by_a_link_is_one_folder(tmp_path: Path) -> None:
    bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    (tmp_path / "link").symlink_to("r.git")

    assert folders_of(tmp_path / "link") == [tmp_path / "link"]


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
