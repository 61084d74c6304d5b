"""Calls as JSON Lines: each line is a call or says why it is none; no line stops the ones after it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.doors import calls
from runner.doors.calls import Call, bounded_lines, parse_calls
from runner.doors.render import json_line
from runner.model.errors import ErrorCode

GOOD = b'{"tool": "workspace.list_dir", "arguments": {"path": "."}}\n'


def parse(*lines: bytes) -> list[Call]:
    return list(parse_calls(lines))


def test_a_call_is_read_with_and_without_identity_and_arguments() -> None:
    assert parse(GOOD, b'{"id": "a", "tool": "git"}', b'{"id": 7, "tool": "git", "arguments": null}') == [
        Call(None, "workspace.list_dir", {"path": "."}),
        Call("a", "git", {}),
        Call(7, "git", None),
    ]


def test_blank_lines_are_no_calls() -> None:
    assert len(parse(b"\n", GOOD, b"   \t\r\n", b"", GOOD)) == 2


BROKEN = {
    "broken JSON": b'{"tool": "git"',
    "two on one line": GOOD.strip() + GOOD,
    "a list": b'["git"]',
    "a word": b'"git"',
    "null": b"null",
    "no tool": b'{"arguments": {}}',
    "a tool that is no text": b'{"tool": 7}',
    "an unknown key": b'{"tool": "git", "args": ["status"]}',
    "invalid UTF-8": b'{"tool": "g\xffit"}',
    "NUL bytes": b"\0\0\0\0",
    "endless nesting": b'{"tool": "git", "arguments": ' + b"[" * 200_000,
    "endless digits": b'{"tool": "git", "id": ' + b"9" * 10_000 + b"}",
    "NaN, which JSON does not have": b'{"tool": "git", "id": NaN}',
    "an infinity": b'{"tool": "git", "arguments": {"x": -Infinity}}',
    "a number beyond every float": b'{"tool": "git", "id": 1e999}',
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_line_is_invalid_names_its_number_and_the_next_one_is_read(line: bytes) -> None:
    first, broken, last = parse(GOOD, line, GOOD)
    assert first.error is None and last.error is None
    assert broken.error is not None and broken.error.code is ErrorCode.INVALID_ARGUMENTS
    assert broken.error.details["line"] == 2
    assert broken.error.hint is not None and len(broken.error.message) < 300


def test_a_broken_call_keeps_its_identity_so_that_its_answer_is_found() -> None:
    (broken,) = parse(b'{"id": "x9", "tool": "git", "extra": 1}')
    assert (broken.id, broken.tool) == ("x9", "git")


@pytest.mark.parametrize("identity", ['"a"', "7", "null", "1.5", "true", '{"a": [1]}'])
def test_any_identity_of_json_comes_back_as_it_was(identity: str) -> None:
    (call,) = parse(f'{{"id": {identity}, "tool": "git"}}'.encode())
    assert call.error is None and call.id == json.loads(identity)


def test_a_line_over_the_bound_is_refused_unparsed_and_never_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_LINE_BYTES", len(GOOD))
    lines = list(bounded_lines(io.BytesIO(GOOD + b"x" * 1000 + b"\n" + GOOD + b"y" * (len(GOOD) + 1))))
    assert [len(line) for line in lines] == [len(GOOD), len(GOOD) + 1, len(GOOD), len(GOOD) + 1]
    parsed = parse(*lines)
    assert [call.error is None for call in parsed] == [True, False, True, False]


@pytest.mark.parametrize("extra", [0, 1, 2])
def test_lines_around_the_bound_are_split_where_they_end(monkeypatch: pytest.MonkeyPatch, extra: int) -> None:
    monkeypatch.setattr(calls, "MAX_LINE_BYTES", 8)
    lines = list(bounded_lines(io.BytesIO(b"x" * (7 + extra) + b"\n" + b"next\n")))
    assert lines[-1] == b"next\n" and len(lines) == 2


def test_a_call_is_handed_on_before_the_next_line_is_there() -> None:
    asked: list[int] = []

    def lines() -> Any:
        for number in (1, 2):
            asked.append(number)
            yield GOOD

    reading = parse_calls(lines())
    next(reading)
    assert asked == [1]


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_garbage_is_a_call_that_carries_its_error_and_its_answer_is_json(line: bytes) -> None:
    for call in parse(line):
        answer = {"id": call.id, "tool": call.tool, "error": None if call.error is None else call.error.as_json()}
        out = io.StringIO()
        json_line(answer, out)
        assert out.getvalue().isascii() and json.loads(out.getvalue())["tool"] == call.tool
