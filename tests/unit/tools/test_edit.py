"""Exact replacement: what was named changes, everything else stays byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runner.model.errors import ErrorCode, ToolError
from runner.tools.edit import replace_exactly

SMALL = st.binary(max_size=30).map(lambda data: bytes(byte % 3 + 97 for byte in data))  # few letters: many matches


def places(data: bytes, old: bytes) -> int:
    return sum(data.startswith(old, start) for start in range(len(data)))


@given(before=SMALL, old=SMALL, after=SMALL, new=st.binary(max_size=10))
def test_one_place_is_replaced_as_bytes_replace_would_and_nothing_around_it_changes(
    before: bytes, old: bytes, after: bytes, new: bytes
) -> None:
    data = before + old + after
    assume(old and places(data, old) == 1)
    assert replace_exactly(data, old, new, every=False) == (data.replace(old, new), 1)
    assert replace_exactly(data, old, new, every=False)[0] == before + new + after


@given(data=SMALL, old=SMALL, new=st.binary(max_size=10), every=st.booleans())
def test_any_text_is_replaced_or_refused_by_how_often_it_stands_there(
    data: bytes, old: bytes, new: bytes, every: bool
) -> None:
    assume(old)
    found = places(data, old)
    try:
        result, count = replace_exactly(data, old, new, every=every)
    except ToolError as refused:
        expected = ErrorCode.EDIT_NO_MATCH if found == 0 else ErrorCode.EDIT_NOT_UNIQUE
        assert refused.code is expected and (found == 0 or not every)
    else:
        assert found == 1 or every
        assert (result, count) == (data.replace(old, new), data.count(old))


@pytest.mark.parametrize(("data", "old"), [(b"aaa", b"aa"), (b"ababa", b"aba"), (b"x\n\n\n", b"\n\n")])
def test_overlapping_places_are_two_since_either_could_be_meant(data: bytes, old: bytes) -> None:
    with pytest.raises(ToolError) as refused:
        replace_exactly(data, old, b"", every=False)
    assert refused.value.code is ErrorCode.EDIT_NOT_UNIQUE


def test_new_text_is_never_searched_again() -> None:
    assert replace_exactly(b"a-a", b"a", b"aa", every=True) == (b"aa-aa", 2)
    assert replace_exactly(b"a", b"a", b"aaa", every=False) == (b"aaa", 1)


@pytest.mark.parametrize("new", [rb"\1 \g<0> $1 $& &", b"%s {0} \x00 \xff"])
def test_new_text_is_taken_literally(new: bytes) -> None:
    assert replace_exactly(b"[x]", b"x", new, every=False) == (b"[" + new + b"]", 1)


def test_bytes_that_are_not_utf8_marks_and_line_ends_stay() -> None:
    data = b"\xef\xbb\xbfcaf\xe9\r\nold\r\nno end"
    assert replace_exactly(data, b"old", b"new", every=False)[0] == b"\xef\xbb\xbfcaf\xe9\r\nnew\r\nno end"


def hint(data: bytes, old: bytes) -> str:
    with pytest.raises(ToolError) as refused:
        replace_exactly(data, old, b"", every=False)
    assert refused.value.code is ErrorCode.EDIT_NO_MATCH
    return refused.value.hint or ""


def test_only_where_line_ends_are_the_reason_the_hint_says_so() -> None:
    assert "CRLF" in hint(b"one\r\ntwo\r\n", b"one\ntwo")
    assert "CRLF" in hint(b"one\r\ntwo\r\nthree\r\n", b"one\r\ntwo\nthree")
    assert "CRLF" not in hint(b"one\r\ntwo\r\n", b"one\nthree")
    assert "CRLF" not in hint(b"one\r\n", b"two")
    assert "CRLF" not in hint(b"one\ntwo\n", b"one\n\ntwo")
