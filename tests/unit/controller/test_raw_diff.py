"""git's raw diff: parsed to the letter or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.controller.raw_diff import parse_raw_diff
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange

OLD, NEW, NONE = b"a" * 40, b"b" * 40, b"0" * 40
CHANGED = b":100644 100755 " + OLD + b" " + NEW + b" M\0src/a.txt\0"
ADDED = b":000000 120000 " + NONE + b" " + NEW + b" A\0li\xffnk\0"
REMOVED = b":160000 000000 " + OLD + b" " + NONE + b" D\0sub\nmodule\0"


def test_changes_additions_and_removals_are_read_with_names_of_any_bytes() -> None:
    assert parse_raw_diff(CHANGED + ADDED + REMOVED) == (
        TreeChange("src/a.txt", 0o100644, 0o100755, "a" * 40, "b" * 40),
        TreeChange("li\udcffnk", None, 0o120000, None, "b" * 40),
        TreeChange("sub\nmodule", 0o160000, None, "a" * 40, None),
    )


def test_no_changes_are_none() -> None:
    assert parse_raw_diff(b"") == ()


@pytest.mark.parametrize(
    "listing",
    [
        CHANGED[: -len(b"src/a.txt\0")],  # a record without its path
        CHANGED.replace(b"src/a.txt", b""),
        CHANGED.replace(b" M", b" R100"),
        CHANGED.replace(b" M", b" M\n"),
        CHANGED.replace(OLD, b"a" * 39),
        CHANGED.replace(OLD, b"A" * 40),
        CHANGED.replace(b":100644", b"100644"),
        CHANGED.replace(b"100755", b"100759"),
        b"warning: something\n" + CHANGED,
        b"\0" + CHANGED,
        CHANGED + b"\0" + ADDED,
    ],
)
def test_a_listing_that_is_not_to_the_letter_ends_the_call(listing: bytes) -> None:
    with pytest.raises(ToolError) as refused:
        parse_raw_diff(listing)
    assert refused.value.code is ErrorCode.GIT_COMMIT_FAILED


@given(st.binary(max_size=200))
def test_garbage_is_changes_or_a_refusal_and_nothing_else(listing: bytes) -> None:
    try:
        changes = parse_raw_diff(listing)
    except ToolError:
        return
    assert all(change.path for change in changes)
