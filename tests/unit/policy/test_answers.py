"""Answers of a tree are kept while a run goes on, and given again; what was not kept is said to be unrecorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from runner.model.tree import EntryKind
from runner.policy.answers import MAX_ANSWER_BYTES, RecordedTree, RecordingTree, Unrecorded
from tests.support.argv_trees import FakeTree


class Tree(FakeTree):
    """A tree with a link, that also lists what the run made."""

    def real_path(self, path: str) -> str:
        return path.replace("link/", "src/")

    def created_files(self) -> tuple[str, ...]:
        return tuple(self.created)


def recording() -> RecordingTree:
    manifest = json.dumps({"scripts": {"hi": "x", "no": 1}, "main": "m", "secret": "SECRET"})
    files = {"package.json": manifest, "src/app.mjs": "SECRET", "a/package.json": "\ufeff{}", "package.json.txt": "x"}
    return RecordingTree(Tree(files, {"new": "SECRET"}, {"src/app.mjs"}, {"up": "push"}))


def asked() -> RecordingTree:
    tree = recording()
    for path in ("package.json", "src/app.mjs", "gone", "new", "src"):
        tree.kind(path)
        tree.read_text(path)
        tree.created_by_run(path)
        tree.changed_by_run(path)
        tree.real_path(path)
    tree.real_path("link/app.mjs")
    tree.git_aliases()
    tree.created_files()
    return tree


def test_a_recorded_answer_is_the_answer() -> None:
    tree = asked()
    recorded = RecordedTree(json.loads(json.dumps(tree.answers())))
    for path in ("package.json", "src/app.mjs", "gone", "new", "src"):
        assert recorded.kind(path) == tree.kind(path)
        assert recorded.created_by_run(path) is tree.created_by_run(path)
        assert recorded.changed_by_run(path) is tree.changed_by_run(path)
        assert recorded.real_path(path) == tree.real_path(path)
    assert recorded.real_path("link/app.mjs") == "src/app.mjs"
    assert recorded.git_aliases() == {"up": "push"}
    assert recorded.created_files() == ("new",)


def test_a_record_has_these_keys_and_what_was_not_asked_has_none() -> None:
    assert set(asked().answers()) == {"kind", "text", "created", "changed", "real", "aliases", "created_files"}
    tree = recording()
    tree.kind("gone")
    assert tree.answers() == {"kind": {"gone": None}}
    tree.kind("src")
    tree.created_by_run("new")
    assert tree.answers() == {"kind": {"gone": None, "src": "dir"}, "created": {"new": True}}


def test_of_a_manifest_the_scripts_and_the_main_file_are_kept_and_of_other_files_that_there_was_none() -> None:
    text = asked().answers()["text"]
    assert set(text) == {"package.json", "gone", "src"}
    assert json.loads(text["package.json"]) == {"scripts": {"hi": "x"}, "main": "m"}
    assert (text["gone"], text["src"]) == (None, None)
    assert "SECRET" not in json.dumps(asked().answers())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("{", ""),
        ("[]", ""),
        ("[" * 100_000, ""),
        ("{}", "{}"),
        ('{"scripts": [], "main": 7}', "{}"),
        ("\ufeff{}", "\ufeff{}"),
        ("\ufeff[", "\ufeff"),
        ("\ufeff[]", "\ufeff"),
        ('{"main": "é"}', '{"main": "\\u00e9"}'),
    ],
)
def test_a_manifest_is_kept_as_what_the_rules_read_of_it(text: str, kept: str) -> None:
    tree = RecordingTree(Tree({"a/package.json": text}))
    assert tree.read_text("a/package.json") == text
    assert tree.answers()["text"] == {"a/package.json": kept}


def test_an_answer_is_kept_once() -> None:
    tree = recording()
    for _ in range(MAX_ANSWER_BYTES // 10):  # counted each time, they would not fit
        tree.kind("src")
        tree.created_files()
        tree.git_aliases()
    tree.kind("gone")
    assert tree.answers() == {
        "kind": {"src": "dir", "gone": None},
        "created_files": ["new"],
        "aliases": {"up": "push"},
    }


def fill(tree: RecordingTree, left: int) -> None:
    """The record of the tree has room for this many bytes."""
    tree.created_by_run("x" * (MAX_ANSWER_BYTES - left - 8))


ASK: list[tuple[Callable[[RecordingTree], object], int]] = [
    (lambda tree: tree.kind("gone"), 4 + 8),
    (lambda tree: tree.kind("src"), 3 + 3 + 8),
    (lambda tree: tree.changed_by_run("src/app.mjs"), 11 + 8),
    (lambda tree: tree.real_path("src"), 3 + 3 + 8),
    (lambda tree: tree.git_aliases(), 2 + 4 + 8),
    (lambda tree: tree.created_files(), 3 + 8),
]


@pytest.mark.parametrize(("ask", "size"), ASK)
def test_an_answer_is_kept_where_it_just_fits_and_cut_where_it_does_not(
    ask: Callable[[RecordingTree], object], size: int
) -> None:
    exact, short = recording(), recording()
    fill(exact, size)
    fill(short, size - 1)
    before = len(exact.answers())
    assert ask(exact) == ask(short)
    assert (len(exact.answers()), exact.answers().get("cut")) == (before + 1, None)
    assert (len(short.answers()), short.answers().get("cut")) == (before + 1, True)
    short.kind("")  # what is smaller still fits
    assert "kind" in short.answers() or size == 12


@pytest.mark.parametrize(
    ("answers", "ask"),
    [
        ({}, lambda tree: tree.kind("a")),
        ({"kind": []}, lambda tree: tree.kind("a")),
        ({"kind": {"b": "file"}}, lambda tree: tree.kind("a")),
        ({"kind": {"a": "door"}}, lambda tree: tree.kind("a")),
        ({"kind": {"a": 1}}, lambda tree: tree.kind("a")),
        ({"text": {"a": 1}}, lambda tree: tree.read_text("a")),
        ({"created": {"a": None}}, lambda tree: tree.created_by_run("a")),
        ({"changed": {"a": "yes"}}, lambda tree: tree.changed_by_run("a")),
        ({"real": {"a": None}}, lambda tree: tree.real_path("a")),
        ({"created_files": ["b"]}, lambda tree: tree.real_path("a")),
        ({"created_files": {"a": 1}}, lambda tree: tree.real_path("a")),
        ({}, lambda tree: tree.git_aliases()),
        ({"aliases": []}, lambda tree: tree.git_aliases()),
        ({"aliases": {"a": 1}}, lambda tree: tree.git_aliases()),
        ({}, lambda tree: tree.created_files()),
        ({"created_files": "a"}, lambda tree: tree.created_files()),
        ({"created_files": ["a", 1]}, lambda tree: tree.created_files()),
    ],
)
def test_what_a_record_does_not_hold_is_unrecorded(
    answers: dict[str, Any], ask: Callable[[RecordedTree], object]
) -> None:
    with pytest.raises(Unrecorded, match=r"[a-z']+ [a-z]"):
        ask(RecordedTree(answers))


def test_what_the_run_made_leads_to_itself() -> None:
    assert RecordedTree({"created_files": ["a"]}).real_path("a") == "a"
    assert RecordedTree({"created_files": ["a"], "real": {"b": "c"}}).real_path("b") == "c"


def test_a_recorded_answer_has_its_kind() -> None:
    tree = RecordedTree({"kind": {"a": "file", "b": None, "c": "symlink"}, "text": {"a": "x", "b": None}})
    assert (tree.kind("a"), tree.kind("b")) == (EntryKind.FILE, None)
    assert (tree.read_text("a"), tree.read_text("b")) == ("x", None)
