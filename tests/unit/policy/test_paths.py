from __future__ import annotations

import pytest

from runner.model.errors import ErrorCode, ToolError
from runner.policy.paths import lexical_escape, parse_path, parse_write_path, shown

INVALID = [
    "",
    "a\x00b",
    "a\nb",
    "a\rb",
    "a\x1bb",
    "a\x7fb",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    "a/" + "x" * 256 + "/b",
    "é/" * 1365 + "xx",
    "a\ud800",
    "x" * 256,
    "a/" * 2049,
    "é/" * 1400,
    "é" * 128,
]
OUTSIDE = [
    "a//../..",
    "./..",
    "/",
    "/etc/passwd",
    "..",
    "../x",
    "../../etc/passwd",
    "a/../../x",
    "./../x",
    "../workspace-other/x",
    "//a",
]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("a", "a"),
        ("./a//b/", "a/b"),
        (".", "."),
        ("././", "."),
        ("a/../b", "a/../b"),
        ("src/-rf", "src/-rf"),
        ("a\\b", "a\\b"),
        ("~/x", "~/x"),
        (" a ", " a "),
        ("caf\u00e9", "caf\u00e9"),
        ("x" * 255, "x" * 255),
        ("/".join(["x" * 255] * 16), "/".join(["x" * 255] * 16)),
        ("a/" * 2047 + "bb", "a/" * 2047 + "bb"),
        ("é/" * 1365 + "b", "é/" * 1365 + "b"),
        ("x" * 255 + "/y", "x" * 255 + "/y"),
        ("é" * 127, "é" * 127),
    ],
)
def test_a_path_is_cleaned_and_parent_steps_are_left_to_the_sandbox(raw: str, path: str) -> None:
    assert parse_path(raw) == path


@pytest.mark.parametrize("raw", INVALID)
def test_text_that_no_file_can_have_is_path_invalid(raw: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_path(raw)
    assert (caught.value.code, caught.value.rule) == (ErrorCode.PATH_INVALID, "path.form")
    assert caught.value.hint


@pytest.mark.parametrize("raw", OUTSIDE)
def test_a_path_that_leaves_the_root_is_outside(raw: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_path(raw)
    assert (caught.value.code, caught.value.rule) == (ErrorCode.PATH_OUTSIDE_WORKSPACE, "path.outside")
    assert caught.value.hint
    assert lexical_escape(raw)


@pytest.mark.parametrize("raw", [*INVALID, *OUTSIDE, "src/app.mjs\x00.md"])
def test_a_write_to_any_of_them_is_not_allowed(raw: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_write_path(raw)
    assert caught.value.code is ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED
    assert caught.value.rule in ("path.form", "path.outside")
    assert caught.value.hint


def test_a_good_path_may_go_on_to_the_write_policy() -> None:
    assert parse_write_path("src/./a.ts") == "src/a.ts"


@pytest.mark.parametrize("path", ["a/../b", "a/b/../../c", "a/..", ".", "XXXX/..", "XX.XX/../a"])
def test_a_path_that_stays_inside_does_not_escape(path: str) -> None:
    assert not lexical_escape(path)


@pytest.mark.parametrize("path", ["a\x1b[2Jb", "a\u202eb", "a\udcffb", "a`b", "a\nb"])
def test_a_shown_path_has_nothing_that_a_terminal_acts_on(path: str) -> None:
    text = shown(path)
    assert text.isprintable()
    assert text.count("`") == 2
    text.encode("utf-8")


def test_a_shown_path_is_bounded() -> None:
    assert len(shown("x" * 5000)) < 250
