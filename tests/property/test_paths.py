from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.model.errors import ErrorCode, ToolError
from runner.policy.paths import lexical_escape, parse_path, parse_write_path, shown

ANY_TEXT = st.text(alphabet=st.characters(), max_size=80)
PATHLIKE = st.text(alphabet="ab./\\~ \x00\n\u00e9\udc80", max_size=40)


@given(ANY_TEXT | PATHLIKE)
def test_any_text_is_a_clean_path_or_one_of_two_errors(raw: str) -> None:
    try:
        path = parse_path(raw)
    except ToolError as error:
        assert error.code in (ErrorCode.PATH_INVALID, ErrorCode.PATH_OUTSIDE_WORKSPACE)
        return
    assert not path.startswith("/")
    assert path == "." or all(part not in ("", ".") for part in path.split("/"))
    assert not lexical_escape(path)
    assert parse_path(path) == path
    assert parse_write_path(raw) == path


@given(ANY_TEXT | PATHLIKE)
def test_a_write_path_knows_one_error(raw: str) -> None:
    try:
        parse_write_path(raw)
    except ToolError as error:
        assert error.code is ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED


@given(ANY_TEXT)
def test_a_shown_path_is_always_printable_text(raw: str) -> None:
    text = shown(raw)
    assert text.isprintable()
    assert "`" not in text[1:-1]
