"""Every spelling is decided by the rule that is about it: a refusal for another reason sends its reader astray."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

import pytest

from runner.model.errors import ToolError
from tests.support.argv_trees import ORIGINAL, SCRIPTS, FakeTree, decide
from tests.support.cases_rules_git import GIT
from tests.support.cases_rules_packages import NPM, PNPM
from tests.support.cases_rules_programs import MISE, NODE
from tests.support.cases_rules_programs import SCRIPTS as SCRIPT_LINES

CREATED = {
    "mise-tasks/db/reset": "",
    "node_modules/.bin/fresh": "",
    "node_modules/fresh/index.js": "",
    "scratch/a.mjs": "",
    "scratch/a.test.mjs": "",
    "scratch/b.js": "",
    "scratch/colon.env": "GIT_EDITOR=:",
    "scratch/config.env": "# GIT_CONFIG",
    "scratch/dir/index.js": "",
    "scratch/env": "NODE_OPTIONS=--import=./scratch/a.mjs",
    "scratch/editor.env": "GIT_EDITOR=true",
    "scratch/export.env": "  export HUSKY = 0",
    "scratch/fake/HEAD": "",
    "scratch/fake/config": "",
    "scratch/hooks.cfg": "[core]\nhooksPath=x",
    "scratch/hooks.env": "A=1\nHUSKY=0\n",
    "scratch/none.env": "GIT_EDITOR=",
    "scratch/nosystem.env": "GIT_CONFIG_NOSYSTEM=1",
    "scratch/package.json": '{"scripts": {"t": "echo x"}}',
    "scratch/pkg/lib.js": "",
    "scratch/pkg/package.json": '{"main": "lib"}',
    "scratch/plain.env": "A=1",
    "scratch/plainx.env": "LEFTHOOK=X0",
    "scratch/quoted.env": "LEFTHOOK='false'",
    "scratch/run.sh": "",
    "scratch/vim.env": "GIT_EDITOR=vim",
    "src/new.mjs": "",
}
PACKAGES = {
    "pkg/node_modules/.bin/only": "",
    "src/package.json": json.dumps({"scripts": {"ship": "git push", "hi": "x"}}),
    "pkg/package.json": json.dumps({"scripts": {"ship": "git push", "prepare": "git push"}}),
}


def rule_of(words: list[str], script: str | None = None) -> str | None:
    """The rule that decides the argv; with `script`, package.json has it under the name `x`."""
    original = {**ORIGINAL, **PACKAGES}
    if script is not None:
        original["package.json"] = json.dumps({"scripts": {**SCRIPTS, "x": script}})
    try:
        return decide(words, FakeTree(original, dict(CREATED))).rule
    except ToolError as error:
        return error.rule


def _cases(*tables: Mapping[str, str]) -> list[object]:
    rows = [(line.strip(), rule) for table in tables for rule, lines in table.items() for line in lines.splitlines()]
    return [pytest.param(line, rule, id=line) for line, rule in rows if line]


@pytest.mark.parametrize(("line", "rule"), _cases(GIT, NPM, PNPM, MISE, NODE))
def test_a_command_line_is_decided_by_the_rule_about_it(line: str, rule: str) -> None:
    assert rule_of(shlex.split(line)) == rule


@pytest.mark.parametrize(("line", "rule"), _cases(SCRIPT_LINES))
def test_the_text_of_a_script_is_decided_by_the_rule_about_it(line: str, rule: str) -> None:
    assert rule_of(["npm", "run", "x"], line) == rule


def test_a_line_end_does_not_hide_the_name_of_a_script() -> None:
    assert rule_of(["pnpm", "exec", "concurrently", "npm:ship\n"]) == "git.push.verb"
    assert rule_of(["pnpm", "exec", "concurrently", "npm:hi\nship"]) == "launcher.unlisted"
