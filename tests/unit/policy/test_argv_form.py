"""What an argv must look like before anything else is judged, and which first words are allowed."""

from __future__ import annotations

import pytest

from runner.model.errors import ErrorCode, ToolError
from runner.policy.argv import ArgvPolicy, decide_argv, split_git_args, validate_argv
from tests.support.argv_trees import FakeTree, code_of, decide


def _code_of_validation(value: object) -> ErrorCode:
    with pytest.raises(ToolError) as caught:
        validate_argv(value)
    return caught.value.code


@pytest.mark.parametrize("value", [None, [], (), "git status", {"a": 1}, [1], ["git", None], [["git"]], [b"git"], True])
def test_anything_but_a_filled_array_of_strings_lacks_an_argv(value: object) -> None:
    assert _code_of_validation(value) is ErrorCode.ARGV_REQUIRED


@pytest.mark.parametrize("first", ["git\0", "\0", "gi\udcfft"])
def test_first_word_that_can_name_no_program_is_no_allowed_bin(first: str) -> None:
    assert _code_of_validation([first, "status"]) is ErrorCode.BIN_NOT_ALLOWLISTED


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_word_that_no_program_can_be_given_is_invalid(word: str) -> None:
    assert _code_of_validation(["git", word]) is ErrorCode.INVALID_ARGUMENTS


def test_argv_over_the_bounds_is_invalid() -> None:
    assert _code_of_validation(["git"] * 10_001) is ErrorCode.INVALID_ARGUMENTS
    assert _code_of_validation(["git", "x" * (1024 * 1024)]) is ErrorCode.INVALID_ARGUMENTS
    assert _code_of_validation(["git", "é" * (600 * 1024)]) is ErrorCode.INVALID_ARGUMENTS
    assert len(validate_argv(["git"] * 10_000)) == 10_000


@pytest.mark.parametrize(
    "first",
    [
        "bash",
        "/usr/bin/git",
        "./git",
        "",
        " git",
        "git ",
        "GIT",
        "git-push",
        "npx",
        "sh",
        "node_modules/.bin/git",
        "yarn",
    ],
)
def test_first_word_is_exactly_an_allowed_name(first: str) -> None:
    assert code_of([first, "status"]) is ErrorCode.BIN_NOT_ALLOWLISTED


@pytest.mark.parametrize(
    "argv", [["git", "status"], ["node"], ["node", "-"], ["npm"], ["npm", "init"], ["pnpm"], ["mise"]]
)
def test_allowed_names_run(argv: list[str]) -> None:
    assert decide(argv).allowed


def test_without_allowed_bins_nothing_runs() -> None:
    policy = ArgvPolicy(frozenset(), "os:red", lambda _: True)
    assert decide_argv(["git", "status"], policy, FakeTree()).code is ErrorCode.BIN_NOT_ALLOWLISTED


def test_allowed_bin_that_no_judge_knows_runs() -> None:
    policy = ArgvPolicy(frozenset({"python3"}), "os:red", lambda _: True)
    assert decide_argv(["python3", "-V"], policy, FakeTree()).allowed


def test_git_arguments_in_one_string_are_split_by_shell_quoting() -> None:
    assert split_git_args("log --grep='a b' \"c d\"") == ["log", "--grep=a b", "c d"]
    assert split_git_args("log $(x); y") == ["log", "$(x);", "y"]
    assert split_git_args(["a b"]) == ["a b"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("", ErrorCode.ARGV_REQUIRED),
        ("  ", ErrorCode.ARGV_REQUIRED),
        ([], ErrorCode.ARGV_REQUIRED),
        ("log 'open", ErrorCode.INVALID_ARGUMENTS),
        ("log \\", ErrorCode.INVALID_ARGUMENTS),
        ("log a\0b", ErrorCode.INVALID_ARGUMENTS),
        ("x" * (1024 * 1024 + 1), ErrorCode.INVALID_ARGUMENTS),
    ],
)
def test_git_arguments_that_cannot_be_used_are_refused(args: list[str] | str, code: ErrorCode) -> None:
    with pytest.raises(ToolError) as caught:
        split_git_args(args)
    assert caught.value.code is code
