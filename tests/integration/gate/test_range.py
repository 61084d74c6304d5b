from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gate.fetch import Fetched
from runner.gate.range import OutgoingCommit, changes_of_range
from runner.model.errors import ErrorCode, ToolError
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, git, raw_commit

Clone = Callable[[Fetched], Path]
Files = dict[str, str | None]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """main: start, then `theirs` was changed and `theirs-new` added; agent and other branch off the start."""
    start = {"mine": "1\n", "theirs": "1\n", "both": "a\nb\nc\nd\ne\n", "kept": "1\n"}
    return bare_repository(
        tmp_path / "r.git",
        [
            Commit(start),
            Commit({}, branch="agent"),
            Commit({"theirs": "2\n", "theirs-new": "x\n", "both": "A\nb\nc\nd\ne\n"}),
            Commit({"other": "o\n"}, branch="other", parents=["agent"]),
        ],
    )


@pytest.fixture
def fetched(gate: Gate, remote: Path) -> Fetched:
    return gate.fetch(remote, "agent")


@pytest.fixture
def clone(fetched: Fetched, clone_of: Clone) -> Path:
    return clone_of(fetched)


def commit(clone: Path, files: Files, *options: str) -> str:
    for path, content in files.items():
        if content is None:
            (clone / path).unlink()
        else:
            (clone / path).write_text(content)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "change", *options)
    return git(clone, "rev-parse", "HEAD")


def listed(gate: Gate, fetched: Fetched, clone: Path) -> tuple[OutgoingCommit, ...]:
    with gate.take(fetched, clone) as quarantine:
        return changes_of_range(quarantine, max_commits=20)


def paths(outgoing: OutgoingCommit) -> list[str]:
    return [change.path for change in outgoing.changes]


def test_nothing_new_is_an_empty_range(gate: Gate, fetched: Fetched, clone: Path) -> None:
    assert listed(gate, fetched, clone) == ()


def test_every_commit_is_listed_not_the_net_difference(gate: Gate, fetched: Fetched, clone: Path) -> None:
    first = commit(clone, {".github": "evil\n"})
    second = commit(clone, {".github": None})
    outgoing = listed(gate, fetched, clone)

    assert [item.commit for item in outgoing] == [first, second]
    assert [paths(item) for item in outgoing] == [[".github"], [".github"]]
    added, removed = outgoing[0].changes[0], outgoing[1].changes[0]
    assert (added.old_mode, added.new_mode, removed.old_mode, removed.new_mode) == (None, 0o100644, 0o100644, None)
    assert (added.old_blob, removed.new_blob) == (None, None)
    assert added.new_blob == removed.old_blob


def test_a_rename_is_a_removal_and_an_addition(gate: Gate, fetched: Fetched, clone: Path) -> None:
    git(clone, "mv", "kept", "moved")
    commit(clone, {})

    assert paths(listed(gate, fetched, clone)[0]) == ["kept", "moved"]


def test_modes_links_and_gitlinks_are_told(gate: Gate, fetched: Fetched, clone: Path) -> None:
    (clone / "kept").chmod(0o755)
    (clone / "link").symlink_to("/etc")
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (clone / "sub").mkdir()
    git(clone, "add", "kept", "link")
    git(clone, "commit", "--quiet", "-m", "modes")
    changes = {change.path: change.new_mode for change in listed(gate, fetched, clone)[0].changes}

    assert changes == {"kept": 0o100755, "link": 0o120000, "sub": 0o160000}


@pytest.mark.parametrize(
    "name", ["new\nline", "tab\tx", 'quo"te', "ünï", "back\\slash", "\udcff\udcfe", ":(top)x", " "]
)
def test_any_file_name_is_told_as_it_is(gate: Gate, fetched: Fetched, clone: Path, name: str) -> None:
    commit(clone, {name: "x"})

    assert paths(listed(gate, fetched, clone)[0]) == [name]


def test_an_honest_merge_of_a_remote_branch_introduces_nothing(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, {"mine": "2\n"})
    git(clone, "merge", "--quiet", "--no-edit", "origin/main")
    outgoing = listed(gate, fetched, clone)

    assert [paths(item) for item in outgoing] == [["mine"], []]


def test_a_merge_that_joins_changes_in_one_file_shows_that_file(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, {"both": "a\nb\nc\nd\nE\n"})
    git(clone, "merge", "--quiet", "--no-edit", "origin/main")

    assert paths(listed(gate, fetched, clone)[1]) == ["both", "both"]


def test_a_merge_that_adds_what_no_side_had_shows_it(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, {"mine": "2\n"})
    git(clone, "merge", "--quiet", "--no-commit", "origin/main")
    commit(clone, {"kept": "evil\n", "smuggled": "x\n"})

    assert set(paths(listed(gate, fetched, clone)[1])) == {"kept", "smuggled"}


def test_a_merge_that_drops_what_the_other_side_changed_shows_it(gate: Gate, fetched: Fetched, clone: Path) -> None:
    """Asset: others' work. Attack: a merge that keeps our side, differing from one parent only. Expected: listed."""
    commit(clone, {"mine": "2\n"})
    git(clone, "merge", "--quiet", "--no-edit", "-s", "ours", "origin/main")
    merge = listed(gate, fetched, clone)[1]

    assert paths(merge) == ["both", "theirs", "theirs-new"]
    assert [change.new_mode for change in merge.changes if change.path == "theirs-new"] == [None]


def test_a_merge_whose_parents_are_swapped_shows_the_same(gate: Gate, fetched: Fetched, clone: Path) -> None:
    """Asset: others' work. Attack: our tree with the remote's commit as the first parent. Expected: listed."""
    mine = commit(clone, {"mine": "2\n"})
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    merge = raw_commit(clone, tree, [fetched.refs["refs/heads/main"], mine])
    with gate.take(fetched, clone, merge) as quarantine:
        outgoing = changes_of_range(quarantine, max_commits=20)

    assert paths(outgoing[1]) == ["both", "theirs", "theirs-new"]


def test_an_octopus_merge_is_judged_by_the_same_rule(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, {"mine": "2\n"})
    git(clone, "merge", "--quiet", "--no-edit", "origin/main", "origin/other")
    honest = listed(gate, fetched, clone)
    git(clone, "rm", "--quiet", "theirs-new")
    commit(clone, {}, "--amend")
    dropping = listed(gate, fetched, clone)

    assert len(honest[1].parents) == 3
    assert paths(honest[1]) == []
    assert set(paths(dropping[1])) == {"theirs-new"}


def test_a_root_commit_counts_as_replacing_the_whole_tree(gate: Gate, fetched: Fetched, clone: Path) -> None:
    git(clone, "checkout", "--quiet", "--orphan", "fresh")
    git(clone, "rm", "--quiet", "-rf", ".")
    commit(clone, {"mine": "1\n", "new": "x\n"})
    changes = {change.path: change.new_mode for change in listed(gate, fetched, clone)[0].changes}

    assert changes == {"both": None, "kept": None, "theirs": None, "new": 0o100644}


def test_a_merge_with_an_unrelated_root_cannot_remove_files(gate: Gate, fetched: Fetched, clone: Path) -> None:
    empty = git(clone, "mktree")
    root = raw_commit(clone, empty)
    merge = raw_commit(clone, empty, [fetched.base, root])
    with gate.take(fetched, clone, merge) as quarantine:
        outgoing = changes_of_range(quarantine, max_commits=20)

    assert set(paths(outgoing[-1])) == {"both", "kept", "mine", "theirs"}


def test_a_criss_cross_of_ones_own_making_does_not_hide_a_removal(gate: Gate, fetched: Fetched, clone: Path) -> None:
    """Asset: others' work. Attack: merges crossed so that one merge base lacks the change. Expected: listed."""
    main = fetched.refs["refs/heads/main"]
    ours = git(clone, "rev-parse", f"{fetched.base}^{{tree}}")
    theirs = git(clone, "rev-parse", f"{main}^{{tree}}")
    left = raw_commit(clone, theirs, [fetched.base, main])
    right = raw_commit(clone, theirs, [main, raw_commit(clone, ours, [fetched.base])])
    merge = raw_commit(clone, ours, [left, right])
    with gate.take(fetched, clone, merge) as quarantine:
        outgoing = changes_of_range(quarantine, max_commits=20)

    assert {"theirs", "theirs-new"} <= set(paths(outgoing[-1]))


def test_commits_that_other_remote_branches_hold_are_not_leaving(gate: Gate, fetched: Fetched, clone: Path) -> None:
    git(clone, "merge", "--quiet", "--ff-only", "origin/other")
    last = commit(clone, {"mine": "2\n"})

    assert [item.commit for item in listed(gate, fetched, clone)] == [last]


def test_more_commits_than_allowed_are_refused(gate: Gate, fetched: Fetched, clone: Path) -> None:
    for _ in range(3):
        commit(clone, {})
    with gate.take(fetched, clone) as quarantine:
        assert len(changes_of_range(quarantine, max_commits=3)) == 3
        with pytest.raises(ToolError) as refused:
            changes_of_range(quarantine, max_commits=2)

    assert (refused.value.code, refused.value.rule) == (ErrorCode.PUSH_POLICY_VIOLATION, "push.maxCommits")


def test_a_merge_of_very_many_parents_is_refused(gate: Gate, fetched: Fetched, clone: Path) -> None:
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    sides = [commit(clone, {}) for _ in range(9)]
    merge = raw_commit(clone, tree, sides)
    with gate.take(fetched, clone, merge) as quarantine, pytest.raises(ToolError) as refused:
        changes_of_range(quarantine, max_commits=100)

    assert refused.value.code is ErrorCode.PUSH_POLICY_VIOLATION
