"""Folders that a room of the gate wrote are removed and mended without following anything, however deep they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.gate.folders import make_plain, remove_tree
from tests.support.repos import Commit, bare_repository, git


def deep_folder(top: Path, levels: int) -> None:
    """`levels` folders, each inside the one before; deeper than a path can be written."""
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_a_folder_of_any_depth_is_removed(tmp_path: Path) -> None:
    deep_folder(tmp_path / "deep", 3000)
    remove_tree(tmp_path / "deep")

    assert list(tmp_path.iterdir()) == []


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "link").symlink_to(tmp_path / "kept")
    (tree / "top").symlink_to(tmp_path / "kept")
    remove_tree(tree)
    (tmp_path / "itself").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "itself")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


def test_a_closed_folder_and_a_missing_one_are_no_reason(tmp_path: Path) -> None:
    (tmp_path / "tree" / "closed").mkdir(parents=True)
    (tmp_path / "tree" / "closed" / "file").touch()
    (tmp_path / "tree" / "closed").chmod(0)
    remove_tree(tmp_path / "tree")
    remove_tree(tmp_path / "none")

    assert list(tmp_path.iterdir()) == []


def test_a_repository_is_brought_into_plain_form(tmp_path: Path) -> None:
    other = bare_repository(tmp_path / "other.git", [Commit({"a": "1"})])
    repository = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    git(repository, "config", "url.https://evil.example/.insteadOf", "https://code.example.com/")
    (repository / "commondir").write_text(f"{other}\n")
    (repository / "objects" / "info").mkdir(exist_ok=True)
    (repository / "objects" / "info" / "alternates").write_text(f"{other}/objects\n")
    (repository / "packed-refs.lock").touch()
    (repository / "objects" / "pack" / "tmp_pack_x").touch()
    make_plain(repository)

    assert git(repository, "config", "--local", "--name-only", "--list").split() == [
        "core.repositoryformatversion",
        "core.filemode",
        "core.bare",
    ]
    assert not [path for path in repository.rglob("*") if path.name in ("commondir", "alternates", "tmp_pack_x")]
    assert git(repository, "rev-parse", "main")


@pytest.mark.parametrize("name", ["config", "objects", "info"])
def test_a_link_in_a_repository_is_not_written_through(tmp_path: Path, name: str) -> None:
    repository = bare_repository(tmp_path / "r.git", [])
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "alternates").touch()
    (outside / "info").mkdir()
    (outside / "info" / "alternates").touch()
    if (repository / name).exists():
        (repository / name).rename(tmp_path / "was")
    (repository / name).symlink_to(outside / "file" if name == "config" else outside)
    make_plain(repository)

    assert not (outside / "file").exists()
    assert (outside / "info" / "alternates").exists()


def test_a_link_in_the_place_of_the_repository_is_refused(tmp_path: Path) -> None:
    bare_repository(tmp_path / "r.git", [])
    (tmp_path / "link").symlink_to("r.git")

    with pytest.raises(OSError):
        make_plain(tmp_path / "link")
