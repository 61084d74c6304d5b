from __future__ import annotations

import pytest

from runner.controller.hooks_note import note_on_missing_hooks
from tests.support.argv_trees import FakeTree


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({".githooks/pre-commit": "exit 0"}, ".githooks"),
        ({".husky/pre-commit": "exit 0"}, ".husky"),
        ({"package.json": '{"scripts": {"prepare": "husky"}}'}, "prepare"),
    ],
)
def test_a_clone_whose_hooks_are_not_active_is_told_of(files: dict[str, str], named: str) -> None:
    note = note_on_missing_hooks(FakeTree(files))
    assert note is not None
    assert named in note


@pytest.mark.parametrize(
    "files",
    [{}, {"package.json": '{"scripts": {"test": "x"}}'}, {"package.json": "[" * 100_000}, {"package.json": "[]"}],
)
def test_a_clone_without_hooks_is_not(files: dict[str, str]) -> None:
    assert note_on_missing_hooks(FakeTree(files)) is None
