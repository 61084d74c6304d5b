"""Searching: what a caller of grep expects, bounded, over the workspace and nothing else."""

from __future__ import annotations

import pytest

from runner.engine.contract import FileFault, SearchMatch, SearchRequest
from tests.contract.boxes import Box, fault_of


def _found(box: Box, pattern: str, **fields: object) -> list[str]:
    result = box.sandbox.search(SearchRequest(pattern, **fields))  # type: ignore[arg-type]
    return [f"{match.path}:{match.line}:{match.text}" for match in result.matches]


def _paths(box: Box, *globs: str) -> list[str]:
    return [match.path for match in box.sandbox.search(SearchRequest("x", globs=globs)).matches]


def test_a_pattern_is_literal_unless_said(box: Box) -> None:
    box.put("f", b"a.b\naxb\n")
    assert _found(box, "a.b") == ["f:1:a.b"]
    assert _found(box, "a.b", regex=True) == ["f:1:a.b", "f:2:axb"]


def test_case_is_ignored_when_asked(box: Box) -> None:
    box.put("f", b"Needle\n")
    assert _found(box, "nEEDLE") == []
    assert _found(box, "nEEDLE", ignore_case=True) == ["f:1:Needle"]
    assert _found(box, "^nEEDLE$", ignore_case=True, regex=True) == ["f:1:Needle"]


def test_matches_come_in_the_order_of_folders_and_lines(box: Box) -> None:
    for path in ("b", "a/z", "a.txt", "a/b/c", "Z"):
        box.put(path, b"x\n-\nx\n")
    assert _found(box, "x") == [f"{path}:{line}:x" for path in ("Z", "a/b/c", "a/z", "a.txt", "b") for line in (1, 3)]


def test_more_matches_than_wanted_are_cut_in_that_order(box: Box) -> None:
    for number in range(5):
        box.put(f"f{number}", b"x\n" * 300)
    exact = box.sandbox.search(SearchRequest("x", max_results=1500))
    cut = box.sandbox.search(SearchRequest("x", max_results=301))
    assert (len(exact.matches), exact.truncated) == (1500, False)
    assert (len(cut.matches), cut.truncated) == (301, True)
    assert cut.matches[-1] == SearchMatch("f1", 1, "x")
    few = box.sandbox.search(SearchRequest("x", max_results=3))
    assert ([match.line for match in few.matches], few.truncated) == ([1, 2, 3], True)


def test_hidden_and_ignored_files_are_searched_and_git_is_not(box: Box) -> None:
    box.put(".gitignore", b"ignored\n")
    box.put(".ignore", b"ignored\n")
    for path in (".hidden", "ignored", ".git/config", "sub/.git/config", "sub/.GIT/config", "deep/.git"):
        box.put(path, b"x\n")
    assert _paths(box) == [".hidden", "ignored"]
    assert _paths(box, ".git/*", ".git/config", "config") == []


def test_links_are_not_followed(box: Box) -> None:
    box.put("d/f", b"x\n")
    box.link("l", "d/f")
    box.link("m", "d")
    assert _paths(box) == ["d/f"]


def test_globs_narrow_as_in_ignore_files(box: Box) -> None:
    for path in ("a.ts", "a.js", "src/b.ts", "src/sub/c.ts", "node_modules/d.ts", "other/src/e.ts"):
        box.put(path, b"x\n")
    every = ["a.ts", "node_modules/d.ts", "other/src/e.ts", "src/b.ts", "src/sub/c.ts"]
    assert _paths(box, "*.ts") == every
    assert _paths(box, "/*.ts") == ["a.ts"]
    assert _paths(box, "src/**") == ["src/b.ts", "src/sub/c.ts"]
    assert _paths(box, "src") == ["other/src/e.ts", "src/b.ts", "src/sub/c.ts"]
    assert _paths(box, "/src/") == ["src/b.ts", "src/sub/c.ts"]
    assert _paths(box, "!node_modules", "!*.js") == [path for path in every if "node_modules" not in path]
    assert _paths(box, "*.ts", "!src") == ["a.ts", "node_modules/d.ts"]
    assert _paths(box, "!src", "*.ts") == ["a.ts", "node_modules/d.ts"]  # what is in a left-out folder stays out
    assert _paths(box, "!*.ts", "a.ts") == ["a.ts"]


@pytest.mark.parametrize("glob", ["../*", "/etc/*", "../../**", "..", "/../etc/passwd"])
def test_globs_that_try_to_leave_find_nothing(box: Box, glob: str) -> None:
    box.put("f", b"x root\n")
    assert _paths(box, glob) == []


def test_a_pattern_or_glob_is_never_an_option(box: Box) -> None:
    box.put("f", b"--files --pre=sh -e\n")
    for pattern in ("--files", "--pre=sh", "-e"):
        assert len(_found(box, pattern)) == 1
        assert len(_found(box, pattern, regex=True)) == 1
    assert _paths(box, "--no-ignore") == []


def test_binary_files_are_skipped_even_when_the_nul_comes_late(box: Box) -> None:
    box.put("early", b"\0x\n")
    box.put("late", b"x\n" + b"y" * 300_000 + b"\n\0\n")
    box.put("text", b"x\n")
    assert _found(box, "x") == ["text:1:x"]


def test_line_ends_of_both_kinds_are_taken_off(box: Box) -> None:
    box.put("dos", b"one\r\ntwo x\r\n")
    assert _found(box, "x") == ["dos:2:two x"]
    assert _found(box, "x$", regex=True) == ["dos:2:two x"]


def test_bytes_that_are_not_utf8_are_replaced(box: Box) -> None:
    box.put("f", b"caf\xe9 x\n")
    assert _found(box, "x") == ["f:1:caf� x"]


def test_strange_names_are_found_as_they_are(box: Box) -> None:
    for path in ("new\nline", "caf\udce9", "-rf", "colon:1:x"):
        box.put(path, b"x\n")
    assert _paths(box) == ["-rf", "caf\udce9", "colon:1:x", "new\nline"]


def test_a_long_line_is_cut_at_a_whole_character(box: Box) -> None:
    box.put("min.js", b"x" + "é".encode() * 500_000 + b"\nx\n")
    result = box.sandbox.search(SearchRequest("x", max_line_bytes=100))
    assert [(match.line, match.text) for match in result.matches] == [(1, "x" + "é" * 49), (2, "x")]


@pytest.mark.parametrize(
    "pattern", ["(", "[", "a{2,1}", "[[:nope:]]", r"\1", r"(a)\1", r"\d", r"\n", "[b-a]", "\\", "a\nb", "a\0b"]
)
def test_an_expression_that_cannot_be_answered_is_a_bad_pattern(box: Box, pattern: str) -> None:
    box.put("f", b"x\n")
    assert fault_of(lambda: box.sandbox.search(SearchRequest(pattern, regex=True))) is FileFault.BAD_PATTERN


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("[[:alpha:]]+[[:digit:]]{2}$", ["ab12"]),
        (r"\<if\>", ["if (x)"]),
        ("{", ["a{x", "{"]),
        ("a{x", ["a{x"]),
        (r"a\+b", ["a+b"]),
        ("^(if|a[+]b)", ["if (x)", "a+b"]),
        (r"[\d]", ["a\\b"]),
        ("[]x]", ["if (x)", "a{x", "]"]),
        ("[^a-z]$", ["ab12", "if (x)", "{", "]", "*"]),
        ("^*$", []),
        (r"\*", ["*"]),
        ("^ab*1?2+$", ["ab12"]),
        (r"\w\{", ["a{x"]),
        ("(x|)$", ["ab12", "if (x)", "a{x", "{", "a+b", "a\\b", "]", "*", "notif"]),
    ],
)
def test_expressions_mean_what_posix_says(box: Box, pattern: str, lines: list[str]) -> None:
    text = ["ab12", "if (x)", "a{x", "{", "a+b", "a\\b", "]", "*", "notif"]
    box.put("f", "".join(line + "\n" for line in text).encode())
    assert [match.text for match in box.sandbox.search(SearchRequest(pattern, regex=True)).matches] == lines


def test_a_catastrophic_expression_is_answered(real: Box) -> None:
    real.put("f", b"a" * 5000 + b"b\n")
    assert _found(real, "^(a+)+$", regex=True) == []


def test_an_expression_that_would_explode_is_a_bad_pattern(real: Box) -> None:
    real.put("f", b"x\n")
    act = lambda: real.sandbox.search(SearchRequest("((((a{255}){255}){255}){255})", regex=True))  # noqa: E731
    assert fault_of(act) is FileFault.BAD_PATTERN


def test_a_search_without_time_says_so(real: Box) -> None:
    real.put("f", b"x\n")
    result = real.sandbox.search(SearchRequest("x", deadline_seconds=0.0))
    assert (result.timed_out, result.matches) == (True, ())


def test_a_search_does_not_wait_on_a_fifo(box: Box) -> None:
    box.fifo("pipe")
    box.put("f", b"x\n")
    assert _found(box, "x") == ["f:1:x"]
