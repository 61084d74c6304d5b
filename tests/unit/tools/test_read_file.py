"""A numbered window: which lines, how they are numbered, and what the last line tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.policy.budget import Ground
from runner.tools.read_file import DEFAULT_LIMIT_LINES, TOOL, numbered_window
from runner.tools.registry import TOOLS


@pytest.mark.parametrize(
    ("text", "start", "limit", "window"),
    [
        ("a\nb\nc\n", 1, 2, "     1\ta\n     2\tb\n(lines 1-2, total 3)"),
        ("a\nb\nc\n", 3, 200, "     3\tc\n(lines 3-3, total 3)"),
        ("a\nb\nc", 2, 2, "     2\tb\n     3\tc\n(lines 2-3, total 3)"),
        ("a\n", 2, 1, "(no line 2, total 1)"),
        ("a\nb\n", 10**12, 5, f"(no line {10**12}, total 2)"),
        ("", 1, 5, "(no line 1, total 0)"),
        ("\n", 1, 5, "     1\t\n(lines 1-1, total 1)"),
        ("\n\n", 2, 5, "     2\t\n(lines 2-2, total 2)"),
        ("a\r\nb\r\n", 1, 2, "     1\ta\r\n     2\tb\r\n(lines 1-2, total 2)"),
        ("a\u2028b\x0bc\x85d\n", 1, 2, "     1\ta\u2028b\x0bc\x85d\n(lines 1-1, total 1)"),
        ("a\n", 1, 10**30, "     1\ta\n(lines 1-1, total 1)"),
    ],
)
def test_a_window_has_its_lines_with_their_numbers_and_the_total(
    text: str, start: int, limit: int, window: str
) -> None:
    assert numbered_window(text, start, limit) == window


def test_numbers_over_six_digits_stay_whole() -> None:
    assert numbered_window("x\n" * 1_000_000, 1_000_000, 1) == "1000000\tx\n(lines 1000000-1000000, total 1000000)"


@given(st.text(alphabet="ab\n\r", max_size=40), st.integers(1, 8), st.integers(1, 8))
def test_a_window_is_never_longer_than_asked_and_windows_put_together_are_the_file(
    text: str, start: int, limit: int
) -> None:
    assert len(numbered_window(text, start, limit).split("\n")) <= limit + 1
    total = text.count("\n") + (not text.endswith("\n") and bool(text))
    shown = [
        line.partition("\t")[2]
        for first in range(1, total + 1, limit)
        for line in numbered_window(text, first, limit).split("\n")[:-1]
    ]
    assert "\n".join(shown) == text.removesuffix("\n")


def grounds(*arguments: dict[str, object]) -> set[Ground]:
    assert TOOL.ground is not None
    return {TOOL.ground(TOOL.arguments.model_validate(one)) for one in arguments}


def test_a_path_is_one_ground_however_it_is_spelled_and_a_window_is_another() -> None:
    assert len(grounds({"path": "a"}, {"path": "./a"}, {"path": "b/../a"}, {"path": ".//a"})) == 1
    assert len(grounds({"path": "a"}, {"path": "b"}, {"path": "a", "startLine": 1}, {"path": "a", "startLine": 2})) == 4


def test_a_folder_is_one_ground_however_it_is_spelled() -> None:
    tool = TOOLS["workspace.list_dir"]
    assert tool.ground is not None
    asked: list[dict[str, object]] = [{}, {"path": "."}, {"path": "./"}, {"path": "src/.."}]
    assert len({tool.ground(tool.arguments.model_validate(one)) for one in asked}) == 1


def test_a_search_is_one_ground_with_its_defaults_written_out_or_not() -> None:
    tool = TOOLS["workspace.search"]
    assert tool.ground is not None
    same: list[dict[str, object]] = [{"pattern": "a"}, {"maxResults": 100, "regex": False, "pattern": "a"}]
    other: list[dict[str, object]] = [{"pattern": "a", "regex": True}, {"pattern": "a", "globs": ["x"]}]
    assert len({tool.ground(tool.arguments.model_validate(one)) for one in [*same, *other]}) == 3


def test_the_window_has_the_contracts_length_when_only_its_start_is_given() -> None:
    assert DEFAULT_LIMIT_LINES == 200
