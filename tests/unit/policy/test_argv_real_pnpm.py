"""pnpm's words as pnpm itself reads them: twice, and a third time where a word is neither command nor script."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from runner.policy.pnpm_reading import read_pnpm
from tests.support.argv_trees import ORIGINAL, FakeTree, code_of

TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED
BIN = ErrorCode.BIN_NOT_ALLOWLISTED
SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED


def scripts(**lines: str) -> FakeTree:
    """The usual tree, with these package scripts."""
    return FakeTree(original={**ORIGINAL, "package.json": json.dumps({"scripts": lines})})


@pytest.mark.parametrize("line", ["pnpm --loglevel tsc vitest", "pnpm --dir tsc vitest", "pnpm -C tsc vitest"])
def test_the_value_of_an_option_before_an_implied_program_is_the_program(line: str) -> None:
    assert code_of(shlex.split(line)) is TYPECHECK
    assert read_pnpm(shlex.split(line)[1:]).program == ["tsc", "vitest"]


@pytest.mark.parametrize(
    "line", ["pnpm --loglevel=info vitest", "pnpm -s vitest run", "pnpm -- vitest", "pnpm -r -- vitest"]
)
def test_options_in_one_word_before_an_implied_program_are_left_out(line: str) -> None:
    assert code_of(shlex.split(line)) is None


@pytest.mark.parametrize(
    "line",
    [
        "pnpm --save-prefix typecheck hi",
        "pnpm --store-dir typecheck hi",
        "pnpm --registry typecheck hi",
        "pnpm --stream=typecheck",
        "pnpm run --stream=typecheck",
        "pnpm --color always run typecheck",
    ],
)
def test_an_option_that_only_the_first_reading_knows_leaves_its_value_as_the_script(line: str) -> None:
    assert code_of(shlex.split(line)) is TYPECHECK


def test_an_option_that_only_the_second_reading_knows_moves_the_program() -> None:
    assert code_of(shlex.split("pnpm --resume-from vitest run hi")) is None
    assert code_of(shlex.split("pnpm --resume-from tsc run hi")) is TYPECHECK


def test_an_option_of_the_second_reading_takes_its_value() -> None:
    assert code_of(shlex.split("pnpm run --resume-from typecheck hi")) is None


def test_a_restart_runs_three_scripts() -> None:
    assert code_of(["pnpm", "restart"], scripts(stop="tsc", restart="true", start="true")) is TYPECHECK
    assert code_of(["pnpm", "restart"], scripts(stop="true", restart="true", start="tsc")) is TYPECHECK
    assert code_of(["pnpm", "restart"], scripts(stop="true", restart="true", start="true")) is None


@pytest.mark.parametrize("name", ["version", "pkg", "view", "rum", "urn", "catalog-file", "docs"])
def test_a_word_that_is_no_command_of_this_pnpm_is_a_script(name: str) -> None:
    assert code_of(["pnpm", "-s", name], scripts(**{name: "tsc"})) is TYPECHECK
    assert code_of(["pnpm", "-s", name], scripts(**{name: "echo"})) is None


def test_what_pnpm_hands_to_npm_is_judged_as_npm_reads_it() -> None:
    assert code_of(["pnpm", "version", "patch"], scripts(version="tsc")) is TYPECHECK
    assert code_of(["pnpm", "version", "patch"], scripts(preversion="tsc")) is TYPECHECK
    assert code_of(["pnpm", "edit", "left"]) is BIN
    assert code_of(["pnpm", "view", "left"]) is None
    assert code_of(["pnpm", "view", "left", "--viewer=vi"]) is BIN


@pytest.mark.parametrize(
    "line", ["pnpm m run typecheck", "pnpm multi typecheck", "pnpm -r m run typecheck", "pnpm recursive exec tsc"]
)
def test_the_old_word_for_all_packages_hides_nothing(line: str) -> None:
    assert code_of(shlex.split(line), scripts(run="tsc", typecheck="tsc")) is TYPECHECK


@pytest.mark.parametrize("line", ["pnpm -r run hi", "pnpm --filter a hi", "pnpm -F=a run hi", "pnpm -r exec vitest"])
def test_packages_that_the_run_made_are_not_gone_through(line: str) -> None:
    made = {"packages/x/package.json": json.dumps({"name": "a", "scripts": {"hi": "tsc"}})}
    assert code_of(shlex.split(line), FakeTree(created=made)) is SCRATCH
    assert code_of(shlex.split(line)) is None
    assert code_of(["pnpm", "run", "hi"], FakeTree(created=made)) is None


def test_the_workspace_root_is_judged_beside_the_named_folder() -> None:
    tree = FakeTree(
        original={
            "package.json": json.dumps({"scripts": {"go": "tsc"}}),
            "packages/a/package.json": json.dumps({"scripts": {"go": "echo"}}),
        }
    )
    assert code_of(["pnpm", "-C", "packages/a", "-w", "run", "go"], tree) is TYPECHECK
    assert code_of(["pnpm", "-C", "packages/a", "run", "go"], tree) is None


def test_words_after_exec_are_all_of_the_program() -> None:
    assert code_of(["pnpm", "exec", "vitest", "-c", "x"]) is None
    assert code_of(["pnpm", "-c", "exec", "echo hi"]) is BIN
    assert code_of(["pnpm", "exec", "--", "tsc"]) is TYPECHECK


def test_an_option_that_its_own_short_form_stands_for_is_read_once() -> None:
    assert code_of(["pnpm", "--dev", "hi"]) is None
    assert code_of(["pnpm", "--dev", "typecheck"]) is TYPECHECK


def test_a_set_of_settings_is_read_with_its_own_options() -> None:
    assert code_of(["pnpm", "config", "set", "--loc", "project", "script-shell", "/x"]) is BIN
    assert code_of(["pnpm", "config", "--loc", "project", "set", "save-exact", "true"]) is None
