from __future__ import annotations

import pytest

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.append_only import decide_append, first_lost_line

BASE = b"a\nb\nc\n"


@pytest.mark.parametrize(
    ("base", "new"),
    [
        (BASE, BASE),
        (BASE, b"a\nb\nc\nd\n"),
        (BASE, b"a\nb\nb2\nc\n"),
        (BASE, b"0\na\nb\nc\n"),
        (BASE, b"a\nb\nc\nd"),
        (b"", b""),
        (b"", b"x"),
        (b"a\nb", b"a\nb"),
        (b"a\nb", b"a\nb\n"),
        (b"a\nb", b"a\nb\nc"),
        (b"a\nb", b"a\nx\nb"),
        (b"a\r\n", b"a\r\nb\r\n"),
        (b"a\na\n", b"a\nx\na\n"),
        (b"\xff\n", b"\xff\n\x00"),
    ],
)
def test_lines_may_be_added_anywhere(base: bytes, new: bytes) -> None:
    assert decide_append(base, new) == Decision.allow("append.lines-kept")


@pytest.mark.parametrize(
    ("base", "new", "line"),
    [
        (BASE, b"", 1),
        (BASE, b"a\nc\n", 2),
        (BASE, b"a\nB\nc\n", 2),
        (BASE, b"b\na\nc\n", 2),
        (BASE, b"a\nb\nc", 3),
        (BASE, b"a\nb\ncd\n", 3),
        (BASE, b"a\nb\n", 3),
        (BASE, b"a\r\nb\r\nc\r\n", 1),
        (b"a\na\n", b"a\n", 2),
        (b"a\nb", b"a\nbc\n", 2),
        (b"a\nb", b"a\nbc", 2),
        (b"a\nb", b"b\na", 1),
        (b"a", b"", 1),
        (b"\n\n", b"\n", 2),
    ],
)
def test_no_line_may_be_changed_moved_or_removed(base: bytes, new: bytes, line: int) -> None:
    decision = decide_append(base, new)
    assert (decision.code, decision.rule) == (ErrorCode.WORKSPACE_APPEND_ONLY, "append.line-lost")
    assert first_lost_line(base, new) == line


def test_an_add_only_file_cannot_be_deleted() -> None:
    decision = decide_append(b"", None)
    assert (decision.code, decision.rule) == (ErrorCode.WORKSPACE_APPEND_ONLY, "append.delete")
