from __future__ import annotations

import time

import pytest

from runner.policy.globs import GlobSet, is_git_name, names_git
from runner.policy.patterns import check_pattern

NFC_CAFE = "src/caf\u00e9"
NFD_CAFE = "src/cafe\u0301"

# pattern, path, granted, denied
READINGS = [
    ("docs/*", "docs/a/b", True, True),
    ("docs/**", "docs/a/b", True, True),
    ("docs/", "docs/a/b", True, True),
    ("docs", "docs/a/b", True, True),
    ("docs", "x/docs/a", True, True),
    ("docs/**", "x/docs/a", False, False),
    ("docs/**", "docs", False, True),
    ("docs/*", "docs", False, True),
    ("docs/", "docs", False, True),
    ("docs/**", "docs2/a", False, False),
    ("*.md", "a.md", True, True),
    ("*.md", "x/y/a.md", True, True),
    ("*.md", "a.md/evil.mjs", False, True),
    ("*.md", "a.md/b.md", True, True),
    ("src/*.md", "src/a.md", True, True),
    ("src/*.md", "src/x/a.md", False, False),
    ("src/**/*.md", "src/a.md", True, True),
    ("src/**/*.md", "src/x/y/a.md", True, True),
    ("src/**/*.md", "src/a.md/evil", False, True),
    ("**/*.lock", "a/b/pnpm.lock", True, True),
    ("**/.env*", ".env.local", True, True),
    ("**/.env*", ".env/x", False, True),
    ("package.json", "package.json", True, True),
    ("package.json", "packages/a/package.json", True, True),
    ("**", "a", True, True),
    ("*", "a/b", True, True),
    ("a/**/b", "a/b", True, True),
    ("a/**/b", "a/x/y/b/c", True, True),
    ("a/**/b", "x/a/b", False, False),
    ("[ab].ts", "a.ts", True, True),
    ("[!ab].ts", "a.ts", False, False),
    ("[[]id].tsx", "[id].tsx", True, True),
    ("[a-c].ts", "b.ts", True, True),
    ("[a-c].ts", "-.ts", False, False),
    ("[a-].ts", "-.ts", True, True),
    ("[-a].ts", "-.ts", True, True),
    ("[-a].ts", "_.ts", False, False),
    ("[!a-].ts", "-.ts", False, False),
    ("[ab-d].ts", "c.ts", True, True),
    ("[ab-d].ts", "-.ts", False, False),
    ("[.+].ts", "x.ts", False, False),
    ("[]^].ts", "^.ts", True, True),
    ("[x[y].ts", "[.ts", True, True),
    ("[a&&b].ts", "&.ts", True, True),
    ("f?.ts", "f1.ts", True, True),
    ("f?.ts", "f12.ts", False, False),
    ("*a*b*", "xaybz", True, True),
    ("*a*b*", "xbya", False, False),
    ("ab*ba", "aba", False, False),
    ("src/**", "SRC/a", False, True),
    ("src/[A-Z]*", "src/abc", False, True),
    ("src/[!A]x", "src/ax", True, True),
    (f"{NFC_CAFE}/**", f"{NFD_CAFE}/x", True, True),
    (f"{NFD_CAFE}/**", f"{NFC_CAFE}/x", True, True),
    (f"{NFC_CAFE}/**", "src/CAFE\u0301/x", False, True),
    ("J*", "J\u030cx", True, True),
    ("a/**/b/**/c.ts", "a/x/b/y/c.ts", True, True),
    ("a/**/b/**/c.ts", "a/x/y/c.ts", False, False),
    ("**/x/y/z.ts", "a/b/x/y/z.ts", True, True),
    ("**/x/y/**", "a/x/y/b", True, True),
    ("**/x/y/**", "a/x/b/y", False, False),
    ("**/x/y/**", "x", False, False),
    ("**/", "a", False, True),
    ("**/**/", "a/b", True, True),
    ("**/**/", "a", False, True),
    ("a/b/c", "a/b", False, False),
]


@pytest.mark.parametrize(("pattern", "path", "granted", "denied"), READINGS)
def test_a_pattern_grants_narrowly_and_denies_widely(pattern: str, path: str, granted: bool, denied: bool) -> None:
    check_pattern(pattern)
    assert (GlobSet.granting([pattern]).match(path) is not None) == granted
    assert (GlobSet.denying([pattern]).match(path) is not None) == denied


def test_the_first_pattern_that_matches_is_named_as_it_was_written() -> None:
    assert GlobSet.granting(["docs/**", "*.md", "src/**"]).match("src/a.md") == "*.md"


def test_an_empty_set_names_nothing() -> None:
    assert GlobSet.granting([]).match("a") is None
    assert GlobSet.denying([]).match("a") is None


@pytest.mark.parametrize("root", [".", ""])
def test_the_root_is_named_by_no_pattern(root: str) -> None:
    assert GlobSet.granting(["**", "*"]).match(root) is None


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git",
        ".git.",
        ".git ",
        ".git. . ",
        "git~1",
        "GIT~1",
        ".git::$INDEX_ALLOCATION",
        ".git:x",
        ".git ::$INDEX_ALLOCATION",
        ".g\u200cit",
        "\ufeff.git",
        ".gi\u202et",
        "git~1.",
    ],
)
def test_every_spelling_that_a_file_system_takes_for_git_is_known(name: str) -> None:
    assert is_git_name(name)
    assert names_git(f"a/b/{name}/config")


@pytest.mark.parametrize("name", [".gitignore", ".github", "git", "git~2", "x.git", ".gitmodules", ". git", ".gits"])
def test_names_that_only_look_like_git_are_ordinary(name: str) -> None:
    assert not is_git_name(name)


def test_a_back_slash_does_not_hide_git_from_a_checkout_on_windows() -> None:
    assert names_git("a\\.git\\config")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a*a*a*a*a*a*a*b", "a" * 255),
        ("**/*a*a/**/*a*a/**/*b*c", "/".join(["a" * 200] * 20)),
        ("**/x/**/x/**/x/**/y", "/".join(["x"] * 2047)),
        ("/".join(["*a*b"] * 8), "/".join(["a" * 127 + "b" * 127] * 8) + "c"),
    ],
)
def test_a_hostile_name_costs_time_linear_in_its_length(pattern: str, path: str) -> None:
    globs = GlobSet.denying([pattern])
    begin = time.process_time()
    globs.match(path)
    assert time.process_time() - begin < 0.25  # processor time; the fastest backtracking matcher takes minutes
