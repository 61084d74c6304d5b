"""Scripts of the repository's own that a package manager runs by itself are judged as if they had been asked for."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from runner.policy.argv_values import Phase
from tests.support.argv_trees import ORIGINAL, FakeTree, code_of

PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED


def _code(line: str, scripts: dict[str, str], phase: Phase = "run") -> ErrorCode | None:
    manifest = json.dumps({"scripts": scripts})
    tree = FakeTree(original={**ORIGINAL, "package.json": manifest, "packages/a/package.json": manifest})
    return code_of(shlex.split(line), tree, phase)


@pytest.mark.parametrize("script", ["preinstall", "postinstall", "prepare", "preprepare"])
@pytest.mark.parametrize(
    "line",
    [
        *("npm install", "npm i", "npm ci", "npm it", "npm rebuild", "npm install .", "npm install -w packages/a"),
        *("pnpm install", "pnpm i", "pnpm up", "pnpm rebuild", "pnpm -C packages/a install"),
        "npm install --ignore-scripts=false",
        "npm install --ignore-scripts --no-ignore-scripts",
    ],
)
def test_an_install_whose_own_script_pushes_is_refused(line: str, script: str) -> None:
    assert _code(line, {script: "git push"}) is PUSH


@pytest.mark.parametrize(
    ("line", "script"),
    [
        *(
            ("npm pack", "prepack"),
            ("npm pack", "prepare"),
            ("npm publish", "prepublishOnly"),
            ("npm ci", "prepublish"),
        ),
        *(("pnpm pack", "postpack"), ("pnpm publish", "prepublishOnly"), ("pnpm install", "pnpm:devPreinstall")),
        *(("npm test", "pretest"), ("npm version patch", "postversion")),
    ],
)
def test_other_commands_that_run_scripts_by_themselves_are_refused_too(line: str, script: str) -> None:
    assert _code(line, {script: "git commit --no-verify -m x"}) is HOOKS


@pytest.mark.parametrize(
    "line",
    [
        *("npm install --ignore-scripts", "npm ci --ignore-scripts", "pnpm install --ignore-scripts"),
        *("npm install left-pad", "npm ls", "npm pack --ignore-scripts", "pnpm ls", "pnpm add left-pad"),
    ],
)
def test_a_command_that_leaves_the_scripts_alone_runs(line: str) -> None:
    assert _code(line, {"postinstall": "git push", "prepack": "git push"}) is None


def test_an_install_with_honest_scripts_runs() -> None:
    assert _code("npm install", {"prepare": "husky", "postinstall": "node build.mjs"}) is None


def test_a_hook_folder_may_be_set_by_an_install_in_set_up_alone() -> None:
    scripts = {"prepare": "git config core.hooksPath .githooks"}
    assert _code("npm install", scripts, "setup") is None
    assert _code("npm install", scripts) is HOOKS


def test_set_up_builds_packages_but_pushes_nothing() -> None:
    assert _code("pnpm install", {"prepare": "tsc -p ."}, "setup") is None
    assert _code("pnpm install", {"prepare": "git push"}, "setup") is PUSH


def test_a_manifest_of_the_run_without_such_scripts_does_not_stop_an_install() -> None:
    tree = FakeTree(created={"scratch/package.json": '{"scripts":{"hi":"echo hi"}}'})
    assert code_of(["npm", "--prefix", "scratch", "install"], tree) is None
