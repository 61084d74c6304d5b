"""node's words as node itself reads them, and its files of variables."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import ORIGINAL, FakeTree, code_of

TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED
SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED
TSC = "node_modules/typescript/bin/tsc"


def made(**more: str) -> FakeTree:
    """A tree in which the run made a file of code, and these files of variables below `scratch`."""
    return FakeTree(created={"scratch/new.js": "", **{f"scratch/{name}": text for name, text in more.items()}})


@pytest.mark.parametrize(
    "line",
    [
        "node --print=0 --no-warnings scratch/new.js",
        "node --print=0 -- scratch/new.js",
        "node -p --no-warnings scratch/new.js",
        "node --check --no-check scratch/new.js",
        "node --test --no-test scratch/new.js",
    ],
)
def test_an_option_that_was_taken_back_leaves_the_script(line: str) -> None:
    assert code_of(shlex.split(line), made()) is SCRATCH


@pytest.mark.parametrize(
    "line", ["node --print=0 scratch/new.js", "node --no-check --check scratch/new.js", "node -c scratch/new.js"]
)
def test_a_program_text_or_a_check_executes_no_file(line: str) -> None:
    assert code_of(shlex.split(line), made()) is None


@pytest.mark.parametrize(
    "line", [f"node --test {TSC}", f"node --check --no-check {TSC}", f"node --test --no-test {TSC}"]
)
def test_a_typechecker_as_a_test_or_behind_a_taken_back_option_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is TYPECHECK


@pytest.mark.parametrize("line", ["node --test --run typecheck", "node --check --run typecheck", "node --run check"])
def test_a_script_is_run_before_anything_else(line: str) -> None:
    assert code_of(shlex.split(line)) is TYPECHECK


@pytest.mark.parametrize("option", ["--stack-trace-limit 5", "--max-old-space-size-percentage 50", "--title x"])
def test_the_word_that_an_option_takes_is_not_the_script(option: str) -> None:
    assert code_of(shlex.split(f"node {option} scratch/new.js"), made()) is SCRATCH
    assert code_of(shlex.split(f"node {option} src/app.mjs"), made()) is None


def test_debug_is_the_name_of_a_script() -> None:
    assert code_of(["node", "debug"], FakeTree(created={"debug.js": ""})) is SCRATCH
    assert code_of(["node", "debug"]) is None


@pytest.mark.parametrize(
    "line",
    [
        "node src/app.mjs --env-file=scratch/env",
        "node src/app.mjs --env-file scratch/env",
        "node src/app.mjs x --env-file-if-exists=scratch/env",
        "node -e 0 --env-file scratch/env",
    ],
)
def test_a_file_of_variables_is_read_behind_the_script_too(line: str) -> None:
    tree = made(env="NODE_OPTIONS=--require ./scratch/new.js", plain="A=1")
    assert code_of(shlex.split(line), tree) is SCRATCH
    assert code_of(shlex.split(line.replace("scratch/env", "scratch/plain")), tree) is None


def test_two_dashes_end_the_search_for_files_of_variables() -> None:
    tree = made(env="NODE_OPTIONS=--require ./scratch/new.js")
    assert code_of(shlex.split("node src/app.mjs -- --env-file=scratch/env"), tree) is None


@pytest.mark.parametrize(
    "text",
    [
        "NODE_OPTIONS='--require ./scratch/new.js' # it's",
        "NODE_OPTIONS=`--require ./scratch/new.js`#x",
        "NODE_OPTIONS='\n--require\n./scratch/new.js\n'",
        'NODE_OPTIONS="--require\\n./scratch/new.js"',
        "  export NODE_OPTIONS \t=  --require ./scratch/new.js   # x",
        "A=1\r\nNODE_OPTIONS=--require ./scratch/new.js\r\n",
        "NODE_OPTIONS=--no-warnings\nNODE_OPTIONS=--require ./scratch/new.js",
    ],
)
def test_a_value_is_read_up_to_its_quote_or_comment(text: str) -> None:
    assert code_of(["node", "--env-file=scratch/env", "-e", "0"], made(env=text)) is SCRATCH


@pytest.mark.parametrize(
    "text",
    ["NODE_OPTIONS=\n--require ./scratch/new.js", "NODE_OPTIONS=--no-warnings # --require ./scratch/new.js", "x"],
)
def test_what_is_no_value_is_not_read_as_one(text: str) -> None:
    assert code_of(["node", "--env-file=scratch/env", "-e", "0"], made(env=text)) is None


@pytest.mark.parametrize(
    "script",
    [
        "echo a >scratch/log",
        "echo a >>scratch/log 2>&1",
        "node build.mjs > scratch/log",
        "cat <scratch/log",
        "echo >|scratch/log",
    ],
)
def test_a_file_that_a_script_writes_or_reads_is_not_executed(script: str) -> None:
    original = {**ORIGINAL, "package.json": json.dumps({"scripts": {"go": script}})}
    assert code_of(["npm", "run", "go"], FakeTree(original=original, created={"scratch/log": ""})) is None


@pytest.mark.parametrize(
    "script",
    [
        ">log tsc",
        "tsc >log",
        "true & >log tsc",
        "echo <(tsc)",
        "echo &>log tsc",
        "echo >log; tsc",
        "echo >log | tsc",
        "(true)>log;tsc",
    ],
)
def test_a_command_around_a_redirection_is_seen(script: str) -> None:
    original = {**ORIGINAL, "package.json": json.dumps({"scripts": {"go": script}})}
    assert code_of(["npm", "run", "go"], FakeTree(original=original)) is TYPECHECK
