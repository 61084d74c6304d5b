"""A local working tree as facts: hostile names lead nowhere else, and git's index is read without git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.doors.git_index import tracked_paths
from runner.doors.local_tree import LocalTree
from runner.model.errors import UsageError
from runner.model.tree import EntryKind
from runner.policy.facts_file import Place
from tests.support.repos import git_environment


@contextmanager
def opened(root: Path) -> Iterator[LocalTree]:
    tree = LocalTree(root)
    try:
        yield tree
    finally:
        tree.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with an outside that it must not reach."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("SECRET")
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("text")
    return root


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("a.txt", Place("src/a.txt", via_link=True)),
        ("../src/a.txt", Place("src/a.txt", via_link=True)),
        ("/workspace/src/a.txt", Place("src/a.txt", via_link=True)),
        ("../../outside/secret.txt", Place(None, via_link=True)),
        ("/etc/passwd", Place(None, via_link=True)),
        ("/workspacex/a", Place(None, via_link=True)),
        ("link", Place(None, via_link=True)),  # itself, for ever
    ],
)
def test_a_link_leads_beneath_the_root_or_nowhere(root: Path, target: str, place: Place) -> None:
    (root / "src" / "link").symlink_to(target)
    with opened(root) as tree:
        assert tree.place("src/link") == place
        assert tree.read_text("src/link") == ("text" if place.real_path else None)
        assert tree.kind("src/link") is (EntryKind.FILE if place.real_path else None)


def test_a_linked_folder_cannot_lend_its_names(root: Path) -> None:
    (root / "out").symlink_to("../outside")
    with opened(root) as tree:
        assert tree.place("out/secret.txt").real_path is None
        assert (tree.read_text("out/secret.txt"), tree.kind("out/secret.txt")) == (None, None)
        assert tree.place("src/../../outside/secret.txt").real_path is None


def test_what_is_no_file_is_never_opened_for_reading(root: Path) -> None:
    os.mkfifo(root / "src" / "fifo")
    with opened(root) as tree:
        assert (tree.kind("src/fifo"), tree.read_text("src/fifo")) == (EntryKind.OTHER, None)
        assert (tree.kind("src"), tree.kind("."), tree.kind("gone")) == (EntryKind.DIR, EntryKind.DIR, None)
        assert tree.kind("src/a.txt/below") is None


def test_a_text_that_is_too_large_is_not_read(root: Path) -> None:
    (root / "big.json").write_bytes(b"x" * (1024 * 1024 + 1))
    with opened(root) as tree:
        assert tree.read_text("big.json") is None


def test_a_root_that_is_no_folder_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        LocalTree(tmp_path / "gone")


def test_without_an_index_everything_there_was_there_at_the_start(root: Path) -> None:
    with opened(root) as tree:
        assert tree.existed_at_start("src/a.txt") and not tree.existed_at_start("src/b.txt")
        assert not tree.created_by_run("src/a.txt")


@pytest.mark.parametrize("version", [2, 3, 4])
def test_what_git_tracks_was_there_at_the_start_and_nothing_else(root: Path, tmp_path: Path, version: int) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=root, env=git_environment(tmp_path), check=True, capture_output=True)

    names = ["src/a.txt", "src/ab.txt", "src/deep/er/x", "zz", "n" * 200]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    git("init", "-q")
    git("add", ".")
    if version == 3:
        (root / "later").write_text("x")
        git("add", "-N", "later")  # an intent to add makes git write the extended form
        names.append("later")
    else:
        git("update-index", "--index-version", str(version))
    (root / "src" / "untracked.txt").write_text("x")
    assert (root / ".git" / "index").read_bytes()[7] == version
    with opened(root) as tree:
        assert [name for name in names if not tree.existed_at_start(name)] == []
        assert tree.existed_at_start("src/deep")
        assert not tree.existed_at_start("src/untracked.txt")
        assert tree.created_by_run("src/untracked.txt") and not tree.created_by_run("src/gone.txt")


@settings(max_examples=150, deadline=None)
@given(head=st.sampled_from([b"", b"DIRC\0\0\0\2", b"DIRC\0\0\0\4\0\0\0\3"]), tail=st.binary(max_size=200))
def test_bytes_that_are_no_index_are_told_apart_without_an_error(head: bytes, tail: bytes) -> None:
    found = tracked_paths(head + tail)
    assert found is None or isinstance(found, frozenset)


def test_an_index_that_claims_more_than_it_holds_is_none() -> None:
    assert tracked_paths(b"DIRC\0\0\0\2\xff\xff\xff\xff") is None
