"""POSIX extended expressions, rewritten: what `re` then matches is what grep -E matches."""

from __future__ import annotations

import re

import pytest

from runner.engine.helper_ere import BadPattern, translate_ere


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a+?", ["a", "", "aa"], []),  # not lazy: a repetition of a repetition
        ("^a{2}$", ["aa"], ["a", "aaa"]),
        ("^a{,2}$", ["", "aa"], ["aaa"]),
        ("^a{2,}$", ["aa", "aaa"], ["a"]),
        ("^a{1,2}{2}$", ["aa", "aaaa"], ["a", "aaaaa"]),
        ("^a{x$", ["a{x"], ["ax"]),
        ("^a{1$", ["a{1"], ["a"]),
        ("^{$", ["{"], [""]),
        ("^}]$", ["}]"], [""]),
        ("^a)$", ["a)"], ["a"]),
        ("^()$", [""], ["()"]),
        ("^(a|)b$", ["ab", "b"], ["aab"]),
        ("^(*a|+b)$", ["a", "b"], ["*a", "+b"]),
        (r"^\.\*\[\{\(\|\\$", [r".*[{(|" + "\\"], ["x"]),
        (r"^[\w]$", ["\\", "w"], ["a", "_"]),
        ("^[]]$", ["]"], ["["]),
        ("^[^]]$", ["["], ["]"]),
        ("^[a-]$", ["a", "-"], ["b"]),
        ("^[%--]$", ["%", "&", "-"], ["."]),
        ("^[[:digit:][:space:]x]$", ["1", " ", "x", "\t"], ["a", ":", "["]),
        ("^[^[:alpha:]]$", ["1", "é"], ["a"]),
        ("^[[:punct:]]$", list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), ["a", " "]),
        ("^[[.-.]a]$", ["-", "a"], ["."]),
        ("^[[=a=]]$", ["a"], ["="]),
        ("^[a[]$", ["a", "["], ["]"]),
        ("^[&&~~]$", ["&", "~"], ["a"]),
        (r"\<if\>", ["if", "(if)"], ["iff", "elif"]),
        (r"^\w+\s\S\W$", ["ab -!"], ["ab  !"]),
        ("^é.ü$", ["éxü"], ["eü"]),
        ("a#b c", ["a#b c"], ["a"]),
        (r"^\-\/\"$", ['-/"'], ["x"]),
        ("x^*y|z", ["z"], ["xy"]),
    ],
)
def test_an_expression_matches_as_grep_says(pattern: str, yes: list[str], no: list[str]) -> None:
    compiled = re.compile(translate_ere(pattern))
    assert [text for text in yes if not compiled.search(text)] == []
    assert [text for text in no if compiled.search(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(", "((a)", "[", "[a", "[[:alpha:]", "[[:alpha", "[[:no:]]", "[[.space.]]", "[b-a]", "[[:alpha:]-z]", "a{3,2}",
        "a{256}", "a{1,99999999999}", "\\", r"\1", r"\d", r"\n", r"\x41", r"\é", "a\nb", "a\0b", "(" * 200 + ")" * 200,
        "a" * 10_001,
    ],
)  # fmt: skip
def test_what_cannot_be_said_faithfully_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        translate_ere(pattern)
