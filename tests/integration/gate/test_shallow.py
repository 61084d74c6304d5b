"""A shallow workspace: the last commits of each branch, from which work leaves as from a whole clone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gate.delivery import branches_of
from runner.gate.fetch import Fetched
from runner.gate.push import PushStatus, push
from runner.gate.shipment import shipment
from runner.model.errors import RepositoryUnavailable
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, git

Clone = Callable[..., Path]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """main of nine commits, `work` of three more on its seventh, and a tag on the first."""
    commits = [Commit({"a": f"{number}\n"}, f"main {number}\n") for number in range(7)]
    commits += [Commit({"b": f"{number}\n"}, f"work {number}\n", "work") for number in range(3)]
    commits += [Commit({"a": f"{number}\n"}, f"main {number}\n") for number in range(7, 9)]
    remote = bare_repository(tmp_path / "remote.git", commits)
    git(remote, "tag", "-a", "-m", "one", "v1", "main~8")
    return remote


def shallow(gate: Gate, clone_of: Clone, remote: Path, ref: str | None, depth: int) -> tuple[Fetched, Path]:
    fetched = gate.fetch(remote, ref)
    return fetched, clone_of(branches_of(fetched), depth)


@pytest.mark.parametrize("ref", [None, "work", "v1", "main~1"])
def test_it_has_so_many_commits_of_each_branch_and_of_where_it_starts(
    gate: Gate, clone_of: Clone, remote: Path, ref: str | None
) -> None:
    named = git(remote, "rev-parse", "main~1") if ref == "main~1" else ref
    fetched, clone = shallow(gate, clone_of, remote, named, 2)

    assert git(clone, "rev-parse", "HEAD") == fetched.base
    assert git(clone, "log", "--format=%s", "origin/work").splitlines() == ["work 2", "work 1"]
    assert git(clone, "log", "--format=%s", "origin/main").splitlines()[:2] == ["main 8", "main 7"]
    assert len(git(clone, "rev-list", "HEAD").splitlines()) <= 2
    assert git(clone, "tag") == ""
    assert git(clone, "status", "--porcelain") == ""
    git(clone, "fsck", "--strict")


def test_a_depth_that_history_does_not_reach_leaves_it_whole(gate: Gate, clone_of: Clone, remote: Path) -> None:
    _, clone = shallow(gate, clone_of, remote, "work", 100)
    assert git(clone, "rev-list", "--count", "HEAD") == "10"
    assert not (clone / ".git/shallow").exists()


def test_a_commit_on_a_shallow_history_leaves_and_the_remote_has_all_of_it(
    gate: Gate, clone_of: Clone, remote: Path
) -> None:
    fetched, clone = shallow(gate, clone_of, remote, "work", 1)
    (clone / "b").write_text("mine\n")
    git(clone, "commit", "--quiet", "-am", "mine")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/other")
    with gate.take(fetched, clone, given=branches_of(fetched)) as quarantine:
        outcome = push(gate.git, quarantine, fetched, "other")

    assert outcome.status is PushStatus.PUSHED
    assert git(remote, "rev-list", "--count", "other") == "11"
    assert not (remote / "shallow").exists()
    git(remote, "fsck", "--strict")


def test_each_depth_is_packed_once_beside_the_whole(gate: Gate, remote: Path) -> None:
    said: list[str] = []
    fetched = gate.fetch(remote)
    for depth in (None, 2, None, 2):
        with shipment(gate.git, fetched, depth=depth, progress=said.append) as shipped:
            assert bool(shipped.shallow) is (depth is not None)
    assert len(said) == 2


def test_a_branch_that_moved_on_meanwhile_is_given_as_it_was_fetched(gate: Gate, clone_of: Clone, remote: Path) -> None:
    first = gate.fetch(remote)
    git(remote, "update-ref", "refs/heads/main", "main~1")
    gate.fetch(remote)
    clone = clone_of(branches_of(first), 2)
    assert git(clone, "log", "--format=%s").splitlines() == ["main 8", "main 7"]


@pytest.mark.parametrize("tampered", ["a link", "no list"])
def test_what_the_room_left_in_the_place_of_the_list_is_not_followed(gate: Gate, remote: Path, tampered: str) -> None:
    fetched = gate.fetch(remote)
    with shipment(gate.git, fetched, depth=1):
        pass
    (found,) = (fetched.mirror.parent / "shallow-shipments").glob("*/part.git/shallow")
    found.unlink()
    if tampered == "a link":
        found.symlink_to("/etc/hostname")
    else:
        found.write_text("not an object\n")
    with pytest.raises(RepositoryUnavailable) as refused, shipment(gate.git, fetched, depth=1):
        pass
    assert refused.value.code == "mirror_broken"
