"""Whose a path is: what the remote had, on any branch, is not the run's own; what the run pushed stays its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gate.fetch import Fetched
from runner.gate.push import push
from runner.gate.range import Known, OutgoingCommit, changes_of_range, trees_of_known
from runner.gate.remote_now import remote_now
from runner.model.errors import ErrorCode, ToolError
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, git

Clone = Callable[[Fetched], Path]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """main, agent off it, and release, which has a file that main has not."""
    return bare_repository(
        tmp_path / "r.git",
        [
            Commit({"src": "1\n", "log": "a\n"}),
            Commit({}, branch="agent"),
            Commit({"legal": "theirs\n", "log": "a\nb\n"}, branch="release"),
        ],
    )


@pytest.fixture
def fetched(gate: Gate, remote: Path) -> Fetched:
    return gate.fetch(remote, "agent")


@pytest.fixture
def clone(fetched: Fetched, clone_of: Clone) -> Path:
    return clone_of(fetched)


def commit(clone: Path, path: str, content: str) -> str:
    (clone / path).write_text(content)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "change")
    return git(clone, "rev-parse", "HEAD")


def leaving(gate: Gate, fetched: Fetched, clone: Path) -> tuple[OutgoingCommit, ...]:
    with gate.take(fetched, clone) as quarantine:
        return changes_of_range(quarantine, max_commits=20)


def test_a_commit_on_another_remote_branch_stands_on_that_branch(gate: Gate, fetched: Fetched, clone: Path) -> None:
    """Asset: release's files. Attack: change them on release, which is not the base. Expected: release is known."""
    git(clone, "checkout", "--quiet", "release")
    commit(clone, "other", "x\n")
    commit(clone, "legal", "tampered\n")
    release = fetched.refs["refs/heads/release"]
    with gate.take(fetched, clone) as quarantine:
        outgoing = changes_of_range(quarantine, max_commits=20)
        trees = trees_of_known(quarantine, outgoing)

    assert [side.known for item in outgoing for side in item.sides] == [{release}, {release}]
    assert trees.keys() == {release}
    assert trees[release].keys() == {"legal", "log"}


def test_a_commit_on_the_base_has_nothing_beside_it(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, "src", "2\n")
    with gate.take(fetched, clone) as quarantine:
        outgoing = changes_of_range(quarantine, max_commits=20)

        assert outgoing[0].known == {fetched.base}
        assert trees_of_known(quarantine, outgoing) == {}


def test_each_side_of_a_merge_has_the_known_commits_of_its_own_line(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, "src", "2\n")
    git(clone, "merge", "--quiet", "--no-edit", "origin/release")
    commit(clone, "legal", "tampered\n")
    release = fetched.refs["refs/heads/release"]
    outgoing = leaving(gate, fetched, clone)

    assert [side.known for side in outgoing[1].sides] == [{fetched.base}, {release}]
    assert outgoing[2].sides[0].known == {fetched.base, release}


def test_what_the_run_pushed_before_stays_its_own(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, "mine", "1\n")
    with gate.take(fetched, clone) as quarantine:
        first = changes_of_range(quarantine, max_commits=20)
        push(gate.git, quarantine, fetched, "mine")
    commit(clone, "mine", "2\n")
    with gate.take(fetched, clone) as quarantine:
        again = changes_of_range(quarantine, max_commits=20, own={item.commit: item.known for item in first})
        unknown = changes_of_range(quarantine, max_commits=20)

    assert [item.known for item in again] == [{fetched.base}]
    assert [item.known for item in unknown] == [Known({first[0].commit})]


def test_what_others_built_on_the_runs_push_is_theirs(gate: Gate, fetched: Fetched, clone: Path, remote: Path) -> None:
    commit(clone, "mine", "1\n")
    with gate.take(fetched, clone) as quarantine:
        first = changes_of_range(quarantine, max_commits=20)
        push(gate.git, quarantine, fetched, "mine")
    theirs = git(remote, "commit-tree", "mine^{tree}", "-p", "mine", "-m", "theirs")
    git(remote, "update-ref", "refs/heads/mine", theirs)
    git(clone, "fetch", "--quiet", f"file://{remote}", "mine")
    git(clone, "reset", "--quiet", "--hard", "FETCH_HEAD")
    commit(clone, "mine", "2\n")
    with gate.take(fetched, clone) as quarantine:
        again = changes_of_range(quarantine, max_commits=20, own={item.commit: item.known for item in first})

    assert [item.known for item in again] == [{theirs}]


def test_a_branch_that_others_deleted_meanwhile_is_leaving_again(
    gate: Gate, fetched: Fetched, clone: Path, remote: Path
) -> None:
    """Asset: what was taken off the remote. Attack: push it back from the clone. Expected: all of it is judged."""
    git(clone, "checkout", "--quiet", "release")
    git(remote, "branch", "-D", "release")
    release, main = (fetched.refs[f"refs/heads/{name}"] for name in ("release", "main"))
    last = commit(clone, "src", "2\n")
    outgoing = leaving(gate, fetched, clone)

    assert [item.commit for item in outgoing] == [release, last]
    assert [change.path for change in outgoing[0].changes] == ["legal", "log"]
    assert [item.known for item in outgoing] == [{main}, {release}]


def test_a_branch_that_was_deleted_and_is_still_held_by_another_is_not_leaving(
    gate: Gate, fetched: Fetched, clone: Path, remote: Path
) -> None:
    git(clone, "checkout", "--quiet", "release")
    git(remote, "branch", "-m", "release", "renamed")

    assert leaving(gate, fetched, clone) == ()


def test_the_base_too_counts_as_there_only_while_the_remote_has_it(
    gate: Gate, fetched: Fetched, clone: Path, remote: Path
) -> None:
    git(remote, "branch", "-D", "agent")

    assert [item.commit for item in leaving(gate, fetched, clone)] == [fetched.base]


def test_a_push_on_top_of_what_the_remote_has_meanwhile_is_listed_from_there(
    gate: Gate, fetched: Fetched, clone: Path, remote: Path
) -> None:
    ahead = git(remote, "commit-tree", "main^{tree}", "-p", "main", "-m", "ahead")
    git(remote, "update-ref", "refs/heads/main", ahead)
    last = commit(clone, "src", "2\n")

    assert [item.commit for item in leaving(gate, fetched, clone)] == [last]
    assert remote_now(gate.git, fetched)["refs/heads/main"] == ahead


def test_a_remote_that_cannot_be_asked_refuses_the_push(gate: Gate, fetched: Fetched, remote: Path) -> None:
    remote.rename(remote.with_name("away.git"))
    with pytest.raises(ToolError) as refused:
        remote_now(gate.git, fetched)

    assert refused.value.code is ErrorCode.GIT_PUSH_FAILED


def test_outgoing_commits_that_stand_on_very_many_remote_commits_are_refused(
    gate: Gate, tmp_path: Path, clone_of: Clone
) -> None:
    branches = [f"b{number}" for number in range(130)]
    commits = [Commit({"src": "1\n"}), *(Commit({name: "x\n"}, branch=name, parents=["main"]) for name in branches)]
    fetched = gate.fetch(bare_repository(tmp_path / "many.git", commits))
    clone = clone_of(fetched)
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    tip = fetched.base
    for name in branches:
        tip = git(clone, "commit-tree", tree, "-p", tip, "-p", fetched.refs[f"refs/heads/{name}"], "-m", "join")
    with gate.take(fetched, clone, tip) as quarantine:
        outgoing = changes_of_range(quarantine, max_commits=200)
        with pytest.raises(ToolError) as refused:
            trees_of_known(quarantine, outgoing)

    assert refused.value.code is ErrorCode.PUSH_POLICY_VIOLATION
