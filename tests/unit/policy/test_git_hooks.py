"""Skipping the repository's hooks is refused by every route, and options that only look like it are not."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import FakeTree, code_of, decide

HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED


@pytest.mark.parametrize(
    "line",
    [
        "git commit --no-verify -m x",
        "git commit -m x --no-verify",
        "git commit --no-ver -m x",
        "git commit --no-verif -m x",
        "git commit -n -m x",
        "git commit -an -m x",
        "git commit -nm x",
        "git commit -qan",
        "git commit -anm x",
        "git commit -vnuno -m x",
        "git commit -m x -n",
        "git commit file -n",
        "git commit -m -m -n",
        "git commit --message x --no-verify",
        "git commit --mess x -n",
        "git commit -S -n -m x",
        "git commit -u -n -m x",
        "git commit --no-post-rewrite --amend",
        "git merge --no-verify x",
        "git pull --no-verify",
        "git pull --no-veri",
        "git rebase --no-verify main",
        "git rebase --no-ver main",
        "git am --no-verify p",
        "git am -n p",
        "git -C . commit --no-verify",
        "git -c core.hooksPath=/dev/null commit -m x",
        "git -c core.hookspath= commit -m x",
        "git -c CORE.HOOKSPATH=x status",
        "git -c core.hooksPath commit -m x",
        "git -c core.hooksPath=scratch/hooks status",
        "git --config-env=core.hooksPath=HOME commit -m x",
        "git --config-env core.hookspath=HOME commit -m x",
        "git config core.hooksPath /dev/null",
        "git config core.hooksPath .githooks",
        "git config --local core.hookspath x",
        "git config --add core.hooksPath x",
        "git config --replace-all core.hooksPath x",
        "git config --rep core.hooksPath x",
        "git config set core.hooksPath x",
        "git config set --global core.hooksPath x",
        "git config -f .git/config core.hooksPath x",
        "git config -f.git/config core.hooksPath x",
        "git config --file=.git/config core.hooksPath x",
        "git config --file .git/config core.hooksPath x",
        "git config --type path core.hooksPath x",
        "git config --unset core.hooksPath",
        "git config --unset-all core.hooksPath",
        "git config unset core.hooksPath",
        "git config --remove-section core",
        "git config --rename-section foo core",
        "git config rename-section foo core",
        "git config include.path evil",
        "git -c include.path=/tmp/evil commit -m x",
        "git -c includeIf.gitdir:/.path=/tmp/evil commit",
        "git clone -c core.hooksPath=x . y",
        "git clone --config core.hooksPath=x . y",
        "git -c alias.ci='commit -n' ci -m x",
        "git -c alias.ci=commit ci --no-verify",
        "git config alias.ci 'commit --no-verify'",
        "git -c alias.c='!git commit -n' c",
        "git rebase -x 'git commit --amend -n' HEAD~1",
        "npm exec -- git commit --no-verify -m x",
        "pnpm git commit --no-verify -m x",
        "pnpm exec git commit -n -m x",
        "mise x -- git commit -n",
        "npm run quiet",
        "pnpm quiet",
        "pnpm exec cross-env HUSKY=0 git commit -m x",
        "mise set HUSKY=0",
        "npm version patch --no-commit-hooks",
        "npm version patch --commit-hooks=false",
        "npm version patch --commit-hooks false",
        "npm config set commit-hooks false",
        "npm config set commit-hooks=false",
    ],
)
def test_hook_skip_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is HOOKS


@pytest.mark.parametrize(
    "line",
    [
        "git commit -uno -m x",
        "git commit -m -n",
        "git commit -m --no-verify",
        "git commit -am -n",
        "git commit --message --no-verify",
        "git commit --message=--no-verify",
        "git commit -F -n",
        "git commit -C -n",
        "git commit -Snono -m x",
        "git commit -m x -- -n",
        "git commit -m x -- --no-verify",
        "git commit --no-verbose -m x",
        "git commit --no-edit --amend",
        "git commit --verify -m x",
        "git cherry-pick -n HEAD~1",
        "git revert -n HEAD",
        "git log -n 3",
        "git log -n3",
        "git merge -n x",
        "git merge --no-verify-signatures x",
        "git pull -n",
        "git fetch -n",
        "git clean -n",
        "git rebase -n main",
        "git add -n .",
        "git rm -n x",
        "git config --get core.hooksPath",
        "git config core.hooksPath",
        "git config get core.hooksPath",
        "git config --list --show-origin",
        "git config -l",
        "git config --get-regexp hooks",
        "git config user.name core.hooksPath",
        "git config --rename-section branch.a branch.b",
        "git config --remove-section branch.a",
        "git -c core.quotePath=false log",
        "git log --grep=core.hooksPath",
        "git commit -m 'set core.hooksPath, HUSKY=0'",
        "npm run ci:install",
        "npm version patch --no-git-tag-version",
        "mise set HUSKY=1",
    ],
)
def test_what_only_looks_like_a_hook_skip_runs(line: str) -> None:
    decision = decide(shlex.split(line))
    assert decision.allowed, decision


@pytest.mark.parametrize(
    "script",
    [
        "export HUSKY=0; git commit -m x",
        "npx husky uninstall",
        "env GIT_CONFIG_COUNT=1 git commit",
        "SKIP_SIMPLE_GIT_HOOKS=1 git commit -m x",
        "cross-env LEFTHOOK=false git commit -m x",
        "git -c core.hooksPath=/dev/null commit",
    ],
)
def test_script_that_skips_hooks_is_refused(script: str) -> None:
    tree = FakeTree(original={"package.json": json.dumps({"scripts": {"x": script}})})
    assert code_of(["npm", "run", "x"], tree) is HOOKS


@pytest.mark.parametrize(
    "script", ["GIT_EDITOR=vim git status", "git log -1 --output=x", "ls | sort", "HUSKY=0 pnpm i"]
)
def test_script_may_otherwise_start_what_it_likes(script: str) -> None:
    tree = FakeTree(original={"package.json": json.dumps({"scripts": {"x": script}})})
    assert code_of(["npm", "run", "x"], tree) is None


def test_include_of_a_file_without_hook_settings_is_refused_as_a_program() -> None:
    tree = FakeTree(created={"src/git.cfg": "[core]\n\tpager = x\n", "src/hooks.cfg": "[core]\nHooksPath = x\n"})
    assert code_of(["git", "-c", "include.path=src/git.cfg", "log"], tree) is ErrorCode.BIN_NOT_ALLOWLISTED
    assert code_of(["git", "-c", "include.path=src/hooks.cfg", "log"], tree) is HOOKS
    assert code_of(["git", "-c", "include.path=", "log"], tree) is None


@pytest.mark.parametrize("path", [".githooks", "./.githooks", "tools/hooks/"])
def test_set_up_may_switch_on_hooks_of_the_clone(path: str) -> None:
    assert code_of(["git", "config", "core.hooksPath", path], phase="setup") is None


@pytest.mark.parametrize(
    "path", ["/dev/null", "../x", "", "/workspace/.githooks", "a/../../x", ".git/hooks", "~/hooks"]
)
def test_set_up_may_not_point_hooks_elsewhere(path: str) -> None:
    assert code_of(["git", "config", "core.hooksPath", path], phase="setup") is HOOKS


def test_set_up_may_not_skip_hooks_otherwise() -> None:
    assert code_of(["git", "commit", "-n"], phase="setup") is HOOKS


@pytest.mark.parametrize("text", ["HUSKY=0\n", "A=1\nexport LEFTHOOK=false\n", "GIT_CONFIG_COUNT=1\n"])
def test_env_file_that_switches_hooks_off_is_refused(text: str) -> None:
    tree = FakeTree(created={"src/.env": text})
    assert code_of(["node", "--env-file=src/.env", "src/app.mjs"], tree) is HOOKS


def test_env_file_without_switches_runs() -> None:
    tree = FakeTree(created={"src/.env": "PORT=80\n"})
    assert code_of(["node", "--env-file", "src/.env", "src/app.mjs"], tree) is None


@pytest.mark.parametrize("value", [".githooks", "a/.git/x", "hooks/", "./x", ".github", ".git2/x"])
def test_set_up_may_switch_on_a_folder_of_the_clone_and_a_run_may_not(value: str) -> None:
    assert decide(["git", "config", "core.hooksPath", value], phase="setup").allowed
    assert decide(["git", "config", "core.hooksPath", value]).rule == "git.hooks.config"


@pytest.mark.parametrize(
    "value", ["", ".git/hooks", ".git", "./.git/x", "/workspace/hooks", "~/hooks", "../x", "a/../.git"]
)
def test_set_up_may_switch_on_no_other_folder(value: str) -> None:
    refused = decide(["git", "config", "core.hooksPath", value], phase="setup")
    assert refused.rule in ("git.hooks.config", "git.hooks.path")
