"""Local repositories with a pipe or a device where git expects a file: refused before git could wait for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.gate import special_files
from runner.gate.special_files import require_ordinary_files
from runner.model.errors import RepositoryUnavailable
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, git

OBJECT = "objects/ab/cdef0123456789abcdef0123456789abcdef01"

PLACES = [
    "HEAD",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "commondir",
    "info/grafts",
    "info/attributes",
    "objects/info/alternates",
    "objects/info/commit-graph",
    "objects/info/commit-graphs/commit-graph-chain",
    "objects/pack/multi-pack-index",
    "objects/pack/pack-x.idx",
    OBJECT,
    "refs/heads/main",
    "refs/heads/deep/er/branch",
    "refs/tags/t",
    "worktrees/x/HEAD",
    "reftable/tables.list",
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return bare_repository(tmp_path / "r.git", [Commit({"a": "x"})])


def pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def device(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def refusal(repository: Path) -> RepositoryUnavailable:
    with pytest.raises(RepositoryUnavailable) as refused:
        require_ordinary_files(repository)
    return refused.value


@pytest.mark.parametrize("make", [pipe, device])
@pytest.mark.parametrize("place", PLACES)
def test_a_pipe_or_device_that_git_would_open_is_refused_by_name(
    repository: Path, place: str, make: Callable[[Path], None]
) -> None:
    make(repository / place)
    error = refusal(repository)
    assert error.code == "repository_special_file"
    assert place in error.message


@pytest.mark.parametrize("place", ["HEAD", "refs/heads/x", "objects/info/alternates", "packed-refs"])
def test_git_is_never_started_on_such_a_repository(repository: Path, gate: Gate, place: str) -> None:
    pipe(repository / place)
    started: list[object] = []
    gate.git._execute = started.append  # type: ignore[assignment, method-assign]  # nothing may come here
    with pytest.raises(RepositoryUnavailable) as refused:
        gate.fetch(repository)
    assert refused.value.code == "repository_special_file"
    assert started == []
    assert "repo.git" not in gate.kept()


def test_a_repository_that_was_fetched_and_then_got_a_pipe_is_not_fetched_again(repository: Path, gate: Gate) -> None:
    gate.fetch(repository)
    pipe(repository / "packed-refs")
    with pytest.raises(RepositoryUnavailable, match="pipe"):
        gate.fetch(repository)


INCLUDES = [
    "[include]\n\tpath = {pipe}\n",
    "[include] path={pipe}\n",
    '[INCLUDE]\n\tPath = "{pipe}" ; a comment\n',
    '[includeIf "gitdir:/**"]\n\tpath = {pipe}\n',
    "[include]\n\tpath = next\n",
    "[include]\n\tpath = {half}\\\n{rest}\n",
]


@pytest.mark.parametrize("text", INCLUDES)
def test_configuration_that_includes_a_pipe_is_refused(repository: Path, tmp_path: Path, text: str) -> None:
    there = tmp_path / "outside" / "extra"
    pipe(there)
    half, rest = str(there)[:-4], str(there)[-4:]
    (repository / "next").write_text(f"[include]\n\tpath = {there}\n")
    with (repository / "config").open("a") as config:
        config.write(text.format(pipe=there, half=half, rest=rest))
    assert "extra" in refusal(repository).message


def test_configurations_that_include_each_other_are_read_once_each(repository: Path) -> None:
    (repository / "one").write_text("[include]\n\tpath = one\n\tpath = two\n")
    (repository / "two").write_text("[include]\n\tpath = one\n\tpath = two\n")
    with (repository / "config").open("a") as config:
        config.write("[include]\n\tpath = one\n")
    require_ordinary_files(repository)


def test_a_pipe_in_what_a_repository_borrows_from_is_refused(repository: Path, tmp_path: Path) -> None:
    other = bare_repository(tmp_path / "other.git", [Commit({"b": "y"})])
    third = bare_repository(tmp_path / "third.git", [Commit({"c": "z"})])
    (repository / "objects/info/alternates").write_text(f"{other}/objects\n")
    (other / "objects/info/alternates").write_text("../../third.git/objects\n")
    require_ordinary_files(repository)
    pipe(third / OBJECT)
    assert "third.git" in refusal(repository).message


def test_the_git_folder_of_a_work_tree_and_the_main_one_of_a_linked_are_looked_at(tmp_path: Path) -> None:
    bare = bare_repository(tmp_path / "bare.git", [Commit({"a": "x"})])
    git(tmp_path, "clone", "-q", str(bare), str(tmp_path / "tree"))
    git(tmp_path / "tree", "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    for path in (tmp_path / "tree", tmp_path / "linked"):
        require_ordinary_files(path)
    pipe(tmp_path / "tree" / ".git" / "packed-refs")
    for path in (tmp_path / "tree", tmp_path / "linked"):
        assert "packed-refs" in refusal(path).message


def test_a_git_file_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    pipe(tmp_path / "tree" / ".git")
    assert refusal(tmp_path / "tree").code == "repository_special_file"


@pytest.fixture
def ordinary(repository: Path) -> Iterator[Path]:
    """What repositories may have: a HEAD that is a link, folders that are links, loops, a socket, pipes elsewhere."""
    (repository / "HEAD").unlink()
    (repository / "HEAD").symlink_to("refs/heads/main")
    moved = repository.parent / "moved"
    (repository / "objects").rename(moved)
    (repository / "objects").symlink_to(moved)
    (repository / "refs/heads/loop").symlink_to("loop")
    (moved / "again").symlink_to(".")
    pipe(repository / "hooks/pipe")
    pipe(repository / "lfs/pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(repository / "s.ipc"))
        yield repository


def test_links_loops_sockets_and_what_git_does_not_read_are_no_reason(ordinary: Path) -> None:
    require_ordinary_files(ordinary)


def test_the_look_is_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special_files, "MAX_ENTRIES", 20)
    assert refusal(repository).code == "repository_too_many_files"


def test_what_is_not_there_is_gits_to_say(tmp_path: Path) -> None:
    require_ordinary_files(tmp_path / "none")
    require_ordinary_files(tmp_path)
