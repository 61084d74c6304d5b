from __future__ import annotations

import pytest

from runner.policy.patterns import check_pattern, split_classes

INERT = [
    "",
    " ",
    "/workspace/src/secret/**",
    "/src",
    "/",
    "C:/src",
    "~/x",
    "~",
    "~root/x",
    "./src/**",
    "../x",
    "src/../x",
    "src/./x",
    "src//x",
    "src\\secret\\*",
    "src/a\\*b",
    "src/** ",
    " src/**",
    "src/**\n",
    "src/\x00",
    "a\tb",
    "a\x85b",
    "!src/**",
    "# comment",
    "src/[abc",
    "src/[]",
    "src/[z-a]",
    "src/[[:alpha:]]*",
    "src/[[.a.]]",
    "src/[[=a=]]",
    "src/[!z-a]",
    "src/[^a-cz-a]",
    "src/[!]",
    "src/[^]",
    "src/*.{ts,js}",
    "a" * 1025,
    "a\ud800b",
]


@pytest.mark.parametrize("pattern", INERT)
def test_a_pattern_that_can_match_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z] [a-z]"):
        check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "src/**",
        "*.md",
        "docs/",
        "**",
        "a b/c",
        "[#]x",
        "[!a]b",
        "[~]x",
        "{{name}}/x",
        "caf\u00e9",
        "a~",
        "[]]x",
        "[a-]",
        "[-a]",
        "[a-a]",
        "[!]]x",
        "[^]]x",
        "[a=.:]x",
    ],
)
def test_a_pattern_that_can_take_effect_is_accepted(pattern: str) -> None:
    check_pattern(pattern)


def test_a_class_is_one_token() -> None:
    assert split_classes("a[]b]*?[!x-z]") == ["a", "[]b]", "*", "?", "[!x-z]"]
    assert split_classes("[!]]x[^]-]y") == ["[!]]", "x", "[^]-]", "y"]
    assert split_classes("[ab]]") == ["[ab]", "]"]


def test_a_range_that_runs_backwards_is_named() -> None:
    with pytest.raises(ValueError, match=r"`z-a`"):
        check_pattern("[xz-ay]")
