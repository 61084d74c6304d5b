"""Each spelling of the closed world is refused by the rule about it, or runs in the one canonical spelling."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

import pytest

from runner.model.errors import ToolError
from runner.policy.argv_values import Phase
from runner.policy.strict_values import did_you_mean
from tests.support.argv_trees import ORIGINAL, SCRIPTS, FakeTree
from tests.support.cases_strict import REFUSED, REFUSED_AT_SET_UP, RUNS, RUNS_AT_SET_UP
from tests.support.strict import judge, runs

FILES = {
    **ORIGINAL,
    "package.json": json.dumps({"scripts": {**SCRIPTS, "start": "node src/app.mjs", "stop": "echo"}}),
    "src/package.json": json.dumps({"scripts": {"hi": "x"}}),
    "bare/HEAD": "",
    "bare/x/y": "",
    "headfolder/HEAD/x": "",
    "nested/.git": "",
    "nested/deep/x": "",
    "scratch/changed.mjs": "",
    "src/changed.mjs": "",
    "src/start.mjs": "",
}
ALIASES = {"st": "status -s", "up": "push", "deep": "zz", "sh": "!ls"}


def tree() -> FakeTree:
    return FakeTree(dict(FILES), {"scratch/a.mjs": ""}, {"scratch/changed.mjs", "src/changed.mjs"}, dict(ALIASES))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def _refused(table: Mapping[str, str]) -> list[object]:
    return [pytest.param(line, rule, id=line) for rule, text in table.items() for line in _lines(text)]


def _running(text: str) -> list[object]:
    rows = [line.partition(" => ") for line in _lines(text)]
    return [pytest.param(given, run or given, id=given) for given, _, run in rows]


def _rule_of(line: str, phase: Phase) -> str | None:
    try:
        return judge(shlex.split(line), tree(), phase=phase).decision.rule
    except ToolError as error:
        return error.rule


@pytest.mark.parametrize(("line", "rule"), _refused(REFUSED))
def test_what_the_closed_world_lacks_is_refused_by_the_rule_about_it(line: str, rule: str) -> None:
    assert _rule_of(line, "run") == rule


@pytest.mark.parametrize(("line", "run"), _running(RUNS))
def test_what_the_closed_world_has_runs_in_its_canonical_spelling(line: str, run: str) -> None:
    assert runs(shlex.split(line), tree()) == shlex.split(run)


@pytest.mark.parametrize(("line", "rule"), _refused(REFUSED_AT_SET_UP))
def test_set_up_is_closed_too(line: str, rule: str) -> None:
    assert _rule_of(line, "setup") == rule


@pytest.mark.parametrize(("line", "run"), _running(RUNS_AT_SET_UP))
def test_set_up_may_install_what_is_locked(line: str, run: str) -> None:
    assert runs(shlex.split(line), tree(), phase="setup") == shlex.split(run)


@pytest.mark.parametrize("path", ["mise-tasks/made", ".mise-tasks/made", "mise/tasks/made", ".config/mise/tasks/made"])
def test_a_task_file_that_the_run_changed_is_not_run_by_its_name(path: str) -> None:
    changed = FakeTree({**FILES, path: ""}, {}, {path})
    assert judge(["mise", "run", "made"], changed).decision.rule in ("strict.pinned", "scratch.task")
    assert judge(["mise", "run", "other"], changed).decision.allowed
    assert judge(["mise", "tasks"], changed).decision.allowed


@pytest.mark.parametrize(
    "line", ["npm exec vitest", "npm x vitest", "pnpm exec vitest", "npm init", "pnpm init", "npm run"]
)
def test_who_wants_to_start_a_program_is_sent_to_the_scripts(line: str) -> None:
    decision = judge(line.split(), tree()).decision
    assert decision.rule == "strict.package.verb"
    assert "script of package.json" in decision.hint


@pytest.mark.parametrize("line", ["pnpm dlx vitest", "npm create vite", "pnpm create vite", "pnpm x vitest"])
def test_other_ways_to_start_a_program_are_refused_before(line: str) -> None:
    assert judge(line.split(), tree()).decision.rule in ("launcher.fetch", "launcher.unlisted")


def test_who_wants_to_install_is_told_that_set_up_did() -> None:
    for argv in (["npm", "install"], ["npm", "ci"], ["pnpm", "install"], ["pnpm", "i"], ["pnpm", "ci"]):
        assert "set-up" in judge(argv, tree()).decision.hint


def test_other_verbs_of_package_managers_are_told_what_is_known() -> None:
    assert "`npm start`" in judge(["npm", "stage"], tree()).decision.hint
    hint = judge(["npm", "whoami"], tree()).decision.hint
    assert "npm ls, npm run, npm start, npm stop, npm test" in hint


def test_a_refusal_names_the_file_the_option_and_what_is_known() -> None:
    assert "package.json has no script 'nope'" in judge(["npm", "run", "nope"], tree()).decision.message
    assert "/package.json" not in judge(["npm", "run", "nope"], tree()).decision.message
    assert "src/package.json has no" in judge(["npm", "--prefix", "src", "run", "nope"], tree()).decision.message
    assert "`--silent`" in judge(["npm", "--silnt", "run", "hi"], tree()).decision.hint
    for program in ("npm", "pnpm"):
        assert f"{program}  is not" in judge([program], tree()).decision.message


def test_who_gives_a_program_in_words_is_told_to_write_it_to_a_file() -> None:
    for option in ("-e", "-p", "--eval", "--print"):
        assert "Write the program to a file" in judge(["node", option, "1"], tree()).decision.hint
    assert "`--no-warnings`" in judge(["node", "--no-warning", "src/app.mjs"], tree()).decision.hint


@pytest.mark.parametrize("argv", [["npm", "--prefix", "src", "run", "hi"], ["npm", "--prefix", "src", "ls"]])
def test_the_roots_own_files_are_pinned_in_another_folder_too(argv: list[str]) -> None:
    for file in ("package.json", "src/package.json"):
        assert judge(argv, FakeTree(dict(FILES), {}, {file})).decision.rule in ("strict.pinned", "scratch.package")
    assert judge(argv, tree()).decision.allowed


def test_a_task_in_a_folder_is_pinned_by_its_file() -> None:
    changed = FakeTree({**FILES, "mise-tasks/made/deep": ""}, {}, {"mise-tasks/made/deep"})
    assert judge(["mise", "run", "made:deep"], changed).decision.rule == "strict.pinned"
    assert judge(["mise", "run", "made"], changed).decision.allowed


def test_a_hint_names_the_nearest_word_or_else_all_of_them() -> None:
    assert did_you_mean("statsu", ["status", "stash"], dashes="git ") == "Did you mean `git status`?"
    assert did_you_mean("xyz", ["b", "a"], dashes="--") == "Known here: --a, --b."
    assert did_you_mean("xyz", ["b", "a"]) == "Known here: a, b."
    assert did_you_mean("xyz", []) == "Known here: none."
    hint = judge(["mise", "xyz"], tree()).decision.hint
    assert "mise ls, mise run, mise tasks, mise version" in hint
    assert "--jobs=4" in judge(["mise", "run", "--jobs=x", "t"], tree()).decision.hint


def test_the_root_of_the_clone_is_no_repository_within_it() -> None:
    inside = tree()
    inside.original |= {"./.git": "", "./HEAD": ""}
    assert runs(["git", "-C", ".", "status"], inside)[2:4] == ["-C", "."]
