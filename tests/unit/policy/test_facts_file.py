"""A described tree: what was told comes first, what nobody told is as the tree beneath says, or is not there."""

from __future__ import annotations

import pytest

from runner.model.tree import EntryKind
from runner.policy.facts_file import DescribedTree, Fact, FactState, Place

TOLD = {
    "old": Fact(FactState.EXISTED, "text"),
    "other": Fact(FactState.CHANGED),
    "new": Fact(FactState.CREATED),
    "way": Fact(FactState.LINK),
    "gone": Fact(FactState.MISSING),
    "deep/down/file": Fact(FactState.EXISTED),
    "empty/gone": Fact(FactState.MISSING),
}
ALONE = DescribedTree(TOLD)


class Beneath(DescribedTree):
    """A tree with an alias and a file behind a link."""

    def git_aliases(self) -> dict[str, str]:
        return {"up": "push"}

    def place(self, path: str) -> Place:
        return Place(f"real/{path}", via_link=True)


BENEATH = Beneath(
    {"under": Fact(FactState.CREATED, "below"), "new": Fact(FactState.EXISTED), "u/x": Fact(FactState.CHANGED)}
)
OVER = DescribedTree(TOLD, BENEATH)


@pytest.mark.parametrize(
    ("path", "kind", "created", "changed", "existed"),
    [
        ("old", EntryKind.FILE, False, False, True),
        ("other", EntryKind.FILE, False, True, True),
        ("new", EntryKind.FILE, True, False, False),
        ("way", None, False, False, False),
        ("gone", None, False, False, False),
        ("deep/down", EntryKind.DIR, False, False, False),
        ("deep", EntryKind.DIR, False, False, False),
        ("dee", None, False, False, False),
        ("empty", None, False, False, False),
        (".", EntryKind.DIR, False, False, False),
        ("untold", None, False, False, False),
    ],
)
def test_a_told_path_is_as_it_was_told(
    path: str, kind: EntryKind | None, created: bool, changed: bool, existed: bool
) -> None:
    for tree in (ALONE, OVER):
        assert tree.kind(path) == kind
        assert (tree.created_by_run(path), tree.changed_by_run(path)) == (created, changed)
        assert tree.existed_at_start(path) is existed


def test_what_nobody_told_is_as_the_tree_beneath_says() -> None:
    assert (OVER.kind("under"), OVER.read_text("under")) == (EntryKind.FILE, "below")
    assert OVER.created_by_run("under") and not OVER.existed_at_start("under")
    assert OVER.changed_by_run("u/x") and OVER.existed_at_start("u/x")
    assert OVER.kind("u") is EntryKind.DIR
    assert (OVER.place("under"), OVER.real_path("under")) == (Place("real/under", via_link=True), "real/under")


def test_over_nothing_what_nobody_told_is_not_there() -> None:
    assert (ALONE.read_text("under"), ALONE.created_files()) == (None, ("new",))
    assert (ALONE.place("under"), ALONE.real_path("under")) == (Place("under"), "under")
    assert [ALONE.assumes(path) for path in ("under", "old")] == [True, False]
    assert not OVER.assumes("under")


def test_a_text_is_what_was_told_and_aliases_are_those_beneath() -> None:
    assert (OVER.read_text("old"), OVER.read_text("new")) == ("text", None)
    assert (OVER.git_aliases(), ALONE.git_aliases()) == ({"up": "push"}, {})


def test_what_the_run_made_is_listed_from_both_and_a_told_path_is_not_taken_from_beneath() -> None:
    assert OVER.created_files() == ("new", "under")
    assert DescribedTree({"under": Fact(FactState.EXISTED)}, BENEATH).created_files() == ()


@pytest.mark.parametrize("path", ["way", "way/x", "way/x/y"])
def test_a_link_is_on_the_way_to_what_lies_behind_it(path: str) -> None:
    assert OVER.place(path) == ALONE.place(path) == Place(path, via_link=True)


def test_a_path_is_told_by_its_cleaned_name() -> None:
    assert set(DescribedTree({"./a//b": Fact(FactState.CREATED)}).told()) == {"a/b"}
    assert OVER.place("ways") == Place("real/ways", via_link=True)
    assert OVER.place("old") == Place("old")
