"""npm's words as npm itself reads them: what stands behind an option is not always its value, and not always a word."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from runner.policy.nopt import Dialect, option_types, read_options
from runner.policy.npm_options import NPM
from tests.support.argv_trees import FakeTree, code_of

TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED
BIN = ErrorCode.BIN_NOT_ALLOWLISTED
SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED


@pytest.mark.parametrize(
    "line",
    [
        "npm --force=run typecheck",
        "npm run --force=typecheck",
        "npm -f=run typecheck",
        "npm run -sf=typecheck",
        "npm --=run typecheck",
        "npm --force=exec --call=tsc",
        "npm exec --yes=tsc",
        "npm -d=exec tsc",
    ],
)
def test_the_value_of_an_option_that_takes_none_is_a_word(line: str) -> None:
    assert code_of(shlex.split(line)) is TYPECHECK


@pytest.mark.parametrize("line", ["npm run --force=hi", "npm --force=run hi", "npm exec --yes=vitest -- run"])
def test_a_harmless_word_behind_an_equals_sign_runs(line: str) -> None:
    assert code_of(shlex.split(line)) is None


@pytest.mark.parametrize(
    "line",
    [
        "npm run --yes null typecheck",
        "npm run --color always typecheck",
        "npm run --no-depth 3 typecheck",
        "npm run --no-script-shell true typecheck",
        "npm run --browser x typecheck",
    ],
)
def test_a_word_that_an_option_may_take_is_not_the_script(line: str) -> None:
    assert code_of(shlex.split(line)) is TYPECHECK


def test_a_text_option_does_not_take_another_option_as_its_text() -> None:
    assert code_of(shlex.split("npm --message --loglevel ls run typecheck")) is TYPECHECK
    assert code_of(shlex.split("npm --message=--loglevel ls run typecheck")) is TYPECHECK
    assert code_of(shlex.split("npm --message --loglevel ls run hi")) is None


@pytest.mark.parametrize(
    "line",
    [
        "npm run hi --no-script-shell src/run.sh",
        "npm run hi --No-script-shell src/run.sh",
        "npm run hi --no-no-script-shell src/run.sh",
        "npm run hi --no-node-options --require=./src/x.js",
    ],
)
def test_a_negated_option_may_still_take_a_program(line: str) -> None:
    assert code_of(shlex.split(line)) is BIN


def test_a_double_negation_switches_on() -> None:
    assert read_options(["--no-no-ignore-scripts"], NPM).has_switch("ignore-scripts")
    assert not read_options(["--no-no-no-ignore-scripts"], NPM).has_switch("ignore-scripts")
    assert read_options(["--no-ignore-scripts", "false"], NPM).has_switch("ignore-scripts")
    assert not read_options(["--ignore-scripts=false"], NPM).has_switch("ignore-scripts")


def test_a_short_form_of_what_it_stands_for_ends_there() -> None:
    dialect = Dialect(option_types({"boolean": "force"}), {"development": ("--dev",)})
    given = read_options(["-dev", "--dev", "x"], dialect)
    assert (given.options, given.words) == ([("dev", ""), ("dev", "")], ["x"])


def test_a_word_of_the_stop_list_ends_the_options_unless_an_option_takes_it() -> None:
    given = read_options(["--prefix", "go", "go", "--force"], NPM, stop_at=frozenset({"go"}))
    assert (given.options, given.words) == ([("prefix", "go")], ["go", "--force"])


def test_a_version_without_scripts_runs_none() -> None:
    tree = FakeTree(original={"package.json": json.dumps({"scripts": {"postversion": "tsc"}})})
    assert code_of(["npm", "version", "patch"], tree) is TYPECHECK
    assert code_of(["npm", "version", "patch", "--ignore-scripts"], tree) is None
    assert code_of(
        ["npm", "test", "--ignore-scripts"], FakeTree(original={"package.json": '{"scripts": {"test": "tsc"}}'})
    )


def test_two_dashes_are_no_value() -> None:
    assert code_of(shlex.split("npm --prefix -- run typecheck")) is TYPECHECK
    assert code_of(shlex.split("npm --unknown=-- run typecheck")) is TYPECHECK


@pytest.mark.parametrize(
    "line", ["npm run hi --workspaces", "npm run hi -ws", "npm test -w a", "npm run hi -w=packages/x"]
)
def test_scripts_of_packages_that_the_run_made_are_not_run(line: str) -> None:
    manifest = json.dumps({"name": "a", "scripts": {"hi": "tsc"}})
    assert code_of(shlex.split(line), FakeTree(created={"packages/x/package.json": manifest})) is SCRATCH
    assert code_of(shlex.split(line), FakeTree(created={"src/x/package.json": manifest})) is None
    assert code_of(["npm", "run", "hi"], FakeTree(created={"packages/x/package.json": manifest})) is None


def test_a_package_without_a_start_script_starts_its_server_file() -> None:
    tree = FakeTree(original={"package.json": "{}"}, created={"server.js": ""})
    for argv in (
        ["npm", "start"],
        ["npm", "run", "start"],
        ["npm", "restart"],
        ["pnpm", "start"],
        ["pnpm", "run", "start"],
    ):
        assert code_of(argv, tree) is SCRATCH, argv
    assert code_of(["npm", "start"], FakeTree(original={"package.json": "{}", "server.js": ""})) is None
    started = FakeTree(original={"package.json": json.dumps({"scripts": {"start": "echo"}})}, created={"server.js": ""})
    assert code_of(["npm", "start"], started) is None


def test_an_install_builds_what_a_gyp_file_of_the_run_describes() -> None:
    tree = FakeTree(original={"package.json": "{}"}, created={"binding.gyp": ""})
    for argv in (["npm", "install"], ["npm", "ci"], ["npm", "rebuild"], ["pnpm", "install"]):
        assert code_of(argv, tree) is SCRATCH, argv
    assert code_of(["npm", "install", "--ignore-scripts"], tree) is None
    assert code_of(["npm", "install"], FakeTree(original={"package.json": "{}", "binding.gyp": ""})) is None
