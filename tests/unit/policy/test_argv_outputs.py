"""Files that programs write because of their own options, and hooks that commands put in place."""

from __future__ import annotations

import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import FakeTree, code_of

BIN = ErrorCode.BIN_NOT_ALLOWLISTED
HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED
SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED


@pytest.mark.parametrize(
    "option",
    [
        *("redirect-warnings", "cpu-prof-dir", "heap-prof-dir", "trace-event-file-pattern", "report-dir"),
        *("report-directory", "report_filename", "diagnostic-dir", "localstorage-file", "tls-keylog", "cpu-prof-name"),
    ],
)
@pytest.mark.parametrize("value", ["README.md", "/tmp/x", ".git/hooks/pre-commit", "../x"])
def test_node_writes_no_file_outside_the_full_write_paths(option: str, value: str) -> None:
    assert code_of(["node", f"--{option}={value}", "src/app.mjs"]) is BIN
    assert code_of(["node", f"--{option}", value, "src/app.mjs"]) is BIN


def test_node_writes_no_snapshot_outside_the_full_write_paths() -> None:
    build = ["node", "--build-snapshot", "src/app.mjs"]
    assert code_of([*build[:1], "--snapshot-blob", "README.md", *build[1:]]) is BIN
    assert code_of([*build[:1], "--snapshot-blob", "src/blob", *build[1:]]) is None


@pytest.mark.parametrize(
    "line",
    [
        "node --cpu-prof --cpu-prof-dir=src src/app.mjs",
        "node --redirect-warnings=src/w.txt src/app.mjs",
        "node --test --test-reporter=junit --test-reporter-destination=report.xml tests",
        "node --test --test-reporter=spec --test-reporter-destination=stdout tests",
    ],
)
def test_node_writes_where_the_run_may(line: str) -> None:
    assert code_of(shlex.split(line)) is None


@pytest.mark.parametrize(
    "line",
    [
        "mise generate git-pre-commit --write",
        "mise gen pre-commit -w --hook pre-push",
        "mise g git-pre-commit -t x -w",
        "mise set --file .git/hooks/pre-commit A=1",
        "git checkout-index --prefix=.git/hooks/ -a",
        "git checkout-index --prefix .git/hooks/ README.md",
        "git bundle create .git/hooks/pre-commit HEAD",
        "git bundle create .git//./hooks/pre-commit HEAD",
        "git mailinfo .git/hooks/pre-commit x",
        "git --work-tree=.git/hooks checkout HEAD -- pre-commit",
        "git --work-tree=.git checkout HEAD -- hooks",
        "git -C .git/hooks --git-dir=.. --work-tree=. checkout HEAD -- pre-commit",
        "git --work-tree=. -C .git/hooks checkout HEAD -- pre-commit",
        "git config core.worktree .git/hooks",
        "git config -f .git/config core.hooksPath x",
        "git worktree add .git/hooks/x",
        "pnpm --filter x deploy .git/hooks",
        "node --test --test-reporter=tap --test-reporter-destination=.git/hooks/pre-commit tests",
    ],
)
def test_a_command_that_replaces_hooks_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is HOOKS


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("git checkout-index --prefix=out/ -a", BIN),
        ("git init --template=scratch", BIN),
        ("mise generate github-action --write", BIN),
        ("mise generate task-docs --output README.md", BIN),
        ("mise generate config", BIN),
        ("mise link node@99 scratch/tool", BIN),
    ],
)
def test_a_command_that_writes_files_of_its_own_is_refused(line: str, code: ErrorCode) -> None:
    assert code_of(shlex.split(line)) is code


@pytest.mark.parametrize(
    "line",
    [
        "mise generate git-pre-commit",
        "mise generate config -n",
        "git checkout-index -a",
        "git commit -m 'explain .git/hooks/pre-commit'",
        "git log -- .githooks/pre-commit",
        "git --work-tree=. status",
        "git bundle create src/x.bundle HEAD",
    ],
)
def test_a_near_miss_runs(line: str) -> None:
    assert code_of(shlex.split(line)) is None


@pytest.mark.parametrize(
    "program",
    [
        "new (require('worker_threads').Worker)('./scratch/a.mjs')",
        "new Worker(new URL('./scratch/a.mjs', import.meta.url))",
        "require('child_process').fork('./scratch/a.mjs')",
        "require('child_process').fork('scratch/a.mjs')",
        "(0, require('child_process').fork)('./scratch/a.mjs')",
    ],
)
def test_an_inline_program_starts_no_scratch_in_a_worker_or_a_fork(program: str) -> None:
    assert code_of(["node", "-e", program], FakeTree(created={"scratch/a.mjs": ""})) is SCRATCH
    assert code_of(["node", "-e", program.replace("a.mjs", "old.mjs")]) is None


@pytest.mark.parametrize(
    "line",
    [
        """mise set 'A={{exec(command="git push")}}'""",
        "mise set 'A={% if true %}'",
        "mise set _.source=scratch/x.sh",
        "mise set --file x.toml A=1",
        "mise set PATH=/workspace/scratch",
        "mise ev LD_PRELOAD=./scratch/x.so",
        "mise tasks add x -- git push",
        "mise task -q add x -- git push",
    ],
)
def test_mise_writes_nothing_that_starts_programs_to_a_config_that_it_then_trusts(line: str) -> None:
    assert code_of(shlex.split(line)) is BIN


def test_a_template_in_a_task_file_of_the_run_stops_mise() -> None:
    head = "#!/bin/sh\n#MISE description=\"{{exec(command='git push')}}\"\n"
    assert code_of(["mise", "tasks", "ls"], FakeTree(created={"mise-tasks/x": head})) is SCRATCH
    assert code_of(["mise", "tasks", "ls"], FakeTree(created={"mise-tasks/x": "#!/bin/sh\n"})) is None


def test_a_tool_that_came_during_the_run_is_refused_with_the_way_to_have_it() -> None:
    tree = FakeTree(created={"node_modules/.bin/mytool": ""})
    for launcher in (["pnpm", "exec"], ["npm", "exec", "--"], ["pnpm"]):
        assert code_of([*launcher, "mytool"], tree) is SCRATCH
