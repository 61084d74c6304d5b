"""Words after a script's or a task's name belong to its last command, and are judged with it."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import ORIGINAL, FakeTree, code_of

PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED
SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED
TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED

SCRIPTS = {
    "g": "git",
    "x": "node",
    "sh": "sh",
    "env2": "env",
    "two": "echo one && git",
    "all": "run-s",
    "pass": "sh -c '\"$@\"' _",
    "fun": 'f() { git "$@"; }; f',
    "lint": "eslint .",
    "test": "node --test tests",
    "start": "git",
    "preg": "echo before",
}
TASKS = """
[tasks.g]
run = ["echo one", "git"]
[tasks."os:red"]
run = "tsc -p"
[tasks.ship]
run = "git push origin HEAD"
"""
TREE = {**ORIGINAL, "package.json": json.dumps({"scripts": SCRIPTS}), "mise.toml": TASKS}


def _code(line: str) -> ErrorCode | None:
    return code_of(shlex.split(line), FakeTree(original=dict(TREE), created={"scratch/a.mjs": ""}))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("npm run g -- push origin HEAD", PUSH),
        ("npm run g push origin HEAD", PUSH),
        ("npm run-script g --silent -- push", PUSH),
        ("npm start -- push", PUSH),
        ("npm run two -- push", PUSH),
        ("npm run env2 -- git push", PUSH),
        ("npm run sh -- -c 'git push'", PUSH),
        ("npm run pass -- git push", PUSH),
        ("npm run fun -- push", PUSH),
        ("npm run all -- 'g -- push'", PUSH),
        ("npm run g -- commit --no-verify", HOOKS),
        ("npm run x -- scratch/a.mjs", SCRATCH),
        ("npm run sh -- scratch/a.mjs", SCRATCH),
        ("pnpm g push", PUSH),
        ("pnpm run g push", PUSH),
        ("pnpm run g -- push", PUSH),
        ("pnpm start push", PUSH),
        ("pnpm g commit -n -m x", HOOKS),
        ("pnpm x scratch/a.mjs", SCRATCH),
        ("node --run g -- push", PUSH),
        ("node --run=x -- scratch/a.mjs", SCRATCH),
        ("npm run env2 -- npx tsc", TYPECHECK),
        ("mise run g push", PUSH),
        ("mise tasks run g push", PUSH),
        ("mise run ship ::: g commit -n", HOOKS),
    ],
)
def test_a_script_is_judged_with_the_words_after_its_name(line: str, code: ErrorCode) -> None:
    assert _code(line) is code


@pytest.mark.parametrize(
    "line",
    [
        "npm run g -- status",
        "npm run g -- stash push",
        "npm run lint -- --fix push",
        "npm run two -- log -1",
        "npm test -- --watch",
        "npm run x -- scratch/old.mjs",
        "npm run pass -- git status",
        "npm run fun -- status",
        "npm run sh -- -c 'git status'",
        "pnpm g log -1",
        "pnpm run lint push",
        "node --run g -- status",
        "mise run g status",
        "mise run os:red 7",
        "mise run ship",
        "mise run ship 7",
    ],
)
def test_a_script_with_harmless_words_runs(line: str) -> None:
    assert _code(line) is None


def test_a_config_of_mise_that_cannot_be_read_hides_no_other_one() -> None:
    tasks = '[tasks.t]\nrun = ["echo", "ls", "git"]\n'
    tree = FakeTree({**FakeTree().original, "mise.toml": "broken[", ".mise.toml": tasks})
    assert code_of(["mise", "run", "t", "push"], tree) is ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
    assert code_of(["mise", "run", "t", "status"], tree) is None
