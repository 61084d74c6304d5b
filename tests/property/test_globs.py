"""Patterns against pathspec, which is the reference for gitignore's semantics."""

from __future__ import annotations

import warnings

from hypothesis import given
from hypothesis import strategies as st

from runner.policy.globs import GlobSet, names_git
from runner.policy.patterns import check_pattern
from tests.support.path_strategies import NAMES, PATHS, PATTERNS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pathspec import GitIgnoreSpec


def reference(pattern: str, path: str) -> bool:
    return bool(GitIgnoreSpec.from_lines([pattern]).match_file(path))


def mixes(pattern: str) -> bool:
    last = pattern.rsplit("/", 1)[-1]
    return bool(last.strip("*")) and any(character in last for character in "*?[")


@given(PATTERNS, PATHS)
def test_a_grant_never_reaches_further_than_gitignore(pattern: str, path: str) -> None:
    if GlobSet.granting([pattern]).match(path) is not None:
        assert reference(pattern, path)


@given(PATTERNS, PATHS)
def test_a_grant_reaches_as_far_as_gitignore_unless_its_last_part_names_files_only(pattern: str, path: str) -> None:
    if not mixes(pattern):
        assert (GlobSet.granting([pattern]).match(path) is not None) == reference(pattern, path)


@given(PATTERNS, PATHS)
def test_a_deny_reaches_at_least_as_far_as_gitignore(pattern: str, path: str) -> None:
    if reference(pattern, path):
        assert GlobSet.denying([pattern]).match(path) is not None


@given(PATTERNS, PATHS)
def test_a_deny_reaches_at_least_as_far_as_a_grant_in_any_case(pattern: str, path: str) -> None:
    if GlobSet.granting([pattern]).match(path) is not None:
        deny = GlobSet.denying([pattern])
        assert deny.match(path) is not None
        if "[" not in pattern:
            assert deny.match(path.swapcase()) is not None


@given(PATTERNS, PATHS, NAMES)
def test_a_deny_covers_what_is_beneath(pattern: str, path: str, name: str) -> None:
    deny = GlobSet.denying([pattern])
    if deny.match(path) is not None:
        assert deny.match(f"{path}/{name}") is not None


@given(st.text(max_size=30), st.text(max_size=60))
def test_any_pattern_is_refused_or_compiles_and_any_path_gets_an_answer(pattern: str, path: str) -> None:
    names_git(path)
    try:
        check_pattern(pattern)
    except ValueError:
        return
    GlobSet.granting([pattern]).match(path)
    GlobSet.denying([pattern]).match(path)


@given(st.text(alphabet="ab[]!^-*?\\:.~/", max_size=12), PATHS)
def test_any_accepted_class_compiles(pattern: str, path: str) -> None:
    try:
        check_pattern(pattern)
    except ValueError:
        return
    GlobSet.denying([pattern]).match(path)
