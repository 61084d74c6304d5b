"""Near misses: words and files that differ in one thing from those that the rest of the tests is about."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.policy.mise_options import BEFORE_VERB, EXEC, RUN, read_options
from runner.policy.npm_argv import npm_command
from runner.policy.pnpm_options import second_reading
from runner.policy.pnpm_reading import read_pnpm
from tests.support.argv_trees import ORIGINAL, FakeTree, decide


def _rule(line: str, tree: FakeTree) -> str | None:
    return decide(shlex.split(line), tree).rule


def _package(folder: str = "", **scripts: str) -> dict[str, str]:
    return {**ORIGINAL, f"{folder}package.json": json.dumps({"scripts": scripts})}


@pytest.mark.parametrize("path", ["node_modules/x/package.json", "a/node_modules/x/package.json"])
def test_manifests_of_what_was_installed_are_no_packages_of_the_workspace(path: str) -> None:
    assert _rule("pnpm -r run hi", FakeTree(created={path: "{}"})) == "argv.default"
    assert _rule("pnpm -r run hi", FakeTree(created={path.replace("node_modules", "modules"): "{}"})) != "argv.default"


def test_a_file_at_the_root_is_no_task_without_a_slash() -> None:
    tree = FakeTree(created={"made": "", "deep/made": ""})
    assert _rule("mise run made", tree) == "argv.default"
    assert _rule("mise run ./made", tree) == "scratch.task"
    assert _rule("mise run deep/made", tree) == "scratch.task"


def test_a_config_in_the_folder_of_the_run_is_judged() -> None:
    tree = FakeTree(created={"pkg/mise.toml": ""})
    for line in ("mise run -C pkg other", "mise run --cd=pkg other", "mise -C pkg run other"):
        assert _rule(line, tree) == "scratch.settings", line
    assert _rule("mise run other", tree) == "argv.default"
    assert _rule("mise run -C /tmp other", tree) == "scratch.settings"


def test_the_name_of_a_variable_is_repeated_and_its_value_is_not() -> None:
    for line in ("mise set NAME='{{ exec(command=1) }}'", "mise set LD_PRELOAD=secret"):
        message = decide(shlex.split(line), FakeTree()).message
        assert line.split()[2].partition("=")[0] in message
        assert "exec(" not in message
        assert "secret" not in message


@pytest.mark.parametrize("folder", ["", "pkg/"])
def test_a_gyp_file_is_built_unless_a_script_installs(folder: str) -> None:
    line = f"npm --prefix ./{folder} install"
    gyp = {f"{folder}binding.gyp": ""}
    assert _rule(line, FakeTree(_package(folder, hi="x"), gyp)) == "scratch.program"
    assert _rule(line, FakeTree(_package(folder, install="echo"), gyp)) == "argv.default"
    assert _rule(line, FakeTree(_package(folder, preinstall="echo"), gyp)) == "argv.default"
    assert _rule(line, FakeTree(_package(folder, hi="x"), {"other/binding.gyp": ""})) == "argv.default"


def test_an_empty_prefix_is_the_root() -> None:
    tree = FakeTree(_package(prepare="git push"))
    assert _rule("npm --prefix= install", tree) == "git.push.verb"
    assert _rule("npm --prefix=src install", tree) == "argv.default"


@pytest.mark.parametrize(
    "line", ["npm -w pkg install", "npm --workspace=./pkg ci", "npm --prefix src -w ../pkg install"]
)
def test_an_install_in_a_named_package_runs_its_scripts(line: str) -> None:
    assert _rule(line, FakeTree(_package("pkg/", prepare="git push"))) == "git.push.verb"
    assert _rule(line, FakeTree(_package("other/", prepare="git push"))) == "argv.default"


@pytest.mark.parametrize("script", ["dependencies", "predependencies", "postdependencies"])
@pytest.mark.parametrize(
    "command",
    [
        *("install", "install ./x", "i x", "ci", "it", "cit", "uninstall x", "rm x", "update", "prune", "dedupe"),
        *("ddp", "link ./x", "audit fix"),
    ],
)
def test_npm_runs_the_script_about_dependencies_when_they_change(command: str, script: str) -> None:
    tree = FakeTree(_package(**{"dependencies": "echo", script: "git push"}))
    assert _rule(f"npm {command}", tree) == "git.push.verb"
    assert _rule(f"npm {command} --ignore-scripts", tree) == "argv.default"
    assert _rule("npm rebuild", tree) == "argv.default"
    assert _rule(f"pnpm {command}", tree) != "git.push.verb"


@pytest.mark.parametrize("script", ["pnpm:devPreinstall", "prepare", "dependencies"])
def test_mise_deps_installs_with_whichever_package_manager(script: str) -> None:
    assert _rule("mise deps", FakeTree(_package(**{script: "git push"}))) == "git.push.verb"
    assert _rule("mise deps", FakeTree(_package(**{f"x{script}": "git push"}))) == "argv.default"


def test_pnpm_looks_for_no_program_by_the_name_of_a_script_that_it_knows() -> None:
    tree = FakeTree(_package(hi="x"))
    for line in ("pnpm test", "pnpm t", "pnpm tst", "pnpm stop"):
        assert _rule(line, tree) == "argv.default", line
    assert _rule("pnpm tset", tree) == "launcher.unlisted"


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("vitest --x", ["vitest", "--x"]),
        ("-s vitest", ["vitest"]),
        ("-s -- vitest", ["vitest"]),
        ("-- vitest x", ["vitest", "x"]),
        ("-- -x vitest", ["-x", "vitest"]),
        ("--dir x vitest", ["x", "vitest"]),
    ],
)
def test_the_program_of_an_implied_command_is_all_behind_the_first_options(line: str, program: list[str]) -> None:
    assert read_pnpm(line.split()).program == program


@pytest.mark.parametrize(
    ("line", "name", "params", "options"),
    [
        ("", None, [], []),
        ("-s", None, [], ["reporter"]),
        ("m", "recursive", ["m"], []),
        ("m -s", "recursive", ["m"], ["reporter"]),
        ("--help exec -r", "exec", ["-r"], ["help"]),
        ("m run hi", "run", ["hi"], ["recursive"]),
        ("m run", "run", [], ["recursive"]),
        ("m run run hi", "run", ["run", "hi"], ["recursive"]),
        ("m m run", "recursive", ["run"], []),
        ("m exec -r x", "exec", ["-r", "x"], ["recursive"]),
        ("m install left", "add", ["left"], ["recursive"]),
        ("-r run hi", "run", ["hi"], ["recursive"]),
        ("run -r hi -r", "run", ["hi", "-r"], ["recursive"]),
        ("install", "install", [], []),
        ("i left", "add", ["left"], []),
        ("i -D left", "add", ["left"], ["save-dev"]),
        ("i -D", "install", [], ["dev"]),
        ("i --dir x", "install", [], ["dir"]),
        ("create -r x", "create", ["-r", "x"], []),
        ("dlx -s x -s", "dlx", ["x", "-s"], ["reporter"]),
        ("remove -s x -s", "remove", ["x"], ["reporter", "reporter"]),
        ("test -r", "run", ["test", "-r"], []),
        ("hi -r x", "run", ["hi", "-r", "x"], []),
    ],
)
def test_pnpms_words_are_a_command_its_parameters_and_options(
    line: str, name: str | None, params: list[str], options: list[str]
) -> None:
    command = read_pnpm(line.split())
    assert (command.name, command.params, [option for option, _ in command.given.options]) == (name, params, options)
    assert (command.program == []) is not command.implied
    assert command.implied is (line.split()[:1] in (["test"], ["hi"]))
    assert command.recursive is ("recursive" in options)


@pytest.mark.parametrize(
    "line",
    [
        *("pnpm -r run hi", "pnpm m run hi", "pnpm multi run hi", "pnpm recursive run hi", "pnpm m exec vitest"),
        *("pnpm --no-recursive m run hi", "pnpm m --no-recursive run hi"),
    ],
)
def test_scripts_of_a_package_that_the_run_made_are_not_run_with_all_others(line: str) -> None:
    assert _rule(line, FakeTree(created={"d/package.json": "{}"})) == "scratch.package"
    assert _rule(line, FakeTree(created={"d/package": "{}"})) == "argv.default"


def test_every_command_of_pnpm_knows_the_global_options() -> None:
    for command in ("restart", "config", "ls", "no-such-command"):
        assert {"recursive", "dir", "filter"} <= second_reading(command).types.keys()
    assert "save-prefix" not in second_reading("restart").types


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("-q run x", [("-q", "")], ["run", "x"]),
        ("--quiet=x run", [("--quiet", "x")], ["run"]),
        ("-C a run -q", [("-C", "a")], ["run", "-q"]),
        ("-Ca run", [("-C", "a")], ["run"]),
        ("-C=a run", [("-C", "a")], ["run"]),
        ("-qCa run", [("-C", "a")], ["run"]),
        ("-qC a run", [("-C", "a")], ["run"]),
        ("--cd a run", [("--cd", "a")], ["run"]),
        ("--cd=a run", [("--cd", "a")], ["run"]),
        ("--cd= run", [("--cd", "")], ["run"]),
        ("--cd", [("--cd", "")], []),
        ("- -q", [], ["-", "-q"]),
        ("-- -q", [], ["--", "-q"]),
        ("--timeout 4 x", [("--timeout", "")], ["4", "x"]),
    ],
)
def test_options_before_mises_verb_end_at_the_first_word(
    line: str, options: list[tuple[str, str]], words: list[str]
) -> None:
    assert read_options(line.split(), BEFORE_VERB) == (options, words)


def test_where_options_may_stand_anywhere_the_words_between_are_kept() -> None:
    read = read_options("a -C b c -- d -q --command e".split(), EXEC, anywhere=True)
    assert read == ([("-C", "b"), ("-q", ""), ("--command", "e")], ["a", "c", "--", "d"])
    assert read_options("--timeout 4 x -q".split(), RUN) == ([("--timeout", "4")], ["x", "-q"])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("A=''\nHUSKY='0'", "git.hooks.environment"),
        ("HUSKY=0\nB=1\nC=1\n", "git.hooks.environment"),
        ("HUSKY=0 # off", "git.hooks.environment"),
        ("HUSKY=1 # on", "argv.default"),
        ("A=HUSKY=0", "argv.default"),
    ],
)
def test_variables_in_a_file_for_node_end_where_node_ends_them(text: str, rule: str) -> None:
    tree = FakeTree(created={"scratch/x.env": text})
    assert _rule("node --env-file scratch/x.env src/app.mjs", tree) == rule


def _scripts(line: str, **scripts: str) -> str | None:
    return _rule(line, FakeTree(_package(**scripts)))


def test_words_behind_a_script_are_its_own_and_not_those_of_the_scripts_around_it() -> None:
    assert _scripts("npm run x -- push", x="git") == "git.push.verb"
    assert _scripts("npm run x -- push", x="echo", prex="git", postx="git") == "argv.default"
    assert _scripts("npm run x", x="echo", prex="git push") == "git.push.verb"
    assert _scripts("npm run x", x="echo", postx="git push") == "git.push.verb"
    assert _scripts("npm run x", x="echo", postxx="git push") == "argv.default"
    assert _scripts("pnpm run x -- push", x="git") == "git.push.verb"


def test_a_script_that_was_seen_does_not_hide_those_after_it() -> None:
    assert _scripts("npm run a", a="npm run prex && npm run x", prex="echo", x="git push") == "git.push.verb"


@pytest.mark.parametrize(
    ("selector", "rule"),
    [
        ("/ship/", "git.push.verb"),
        ("/s/", "git.push.verb"),
        ("/^sh.*/", "git.push.verb"),
        ("/[x]/", "git.push.verb"),
        ("//", "git.push.verb"),
        ("/zz/", "argv.default"),
        ("/xs/", "argv.default"),
    ],
)
def test_a_selector_of_pnpm_runs_every_script_that_it_may_mean(selector: str, rule: str) -> None:
    assert _scripts(f"pnpm run {selector}", ship="git push", hi="echo") == rule


def test_only_a_package_without_a_start_script_starts_its_server() -> None:
    created = {"server.js": ""}
    assert _rule("npm start", FakeTree(_package(hi="x"), created)) == "scratch.node.file"
    assert _rule("npm run other", FakeTree(_package(other="x"), created)) == "argv.default"
    assert _rule("pnpm run '/s/'", FakeTree(_package(sx="x"), created)) == "argv.default"


@pytest.mark.parametrize(
    ("word", "command"),
    [
        *(("run", "run"), ("runScript", "run"), ("run-script", "run"), ("installTest", "install-test")),
        *(("unins", "uninstall"), ("un", "uninstall"), ("r", "uninstall"), ("", ""), ("zzz", "zzz"), ("Run", "-run")),
    ],
)
def test_npm_takes_a_word_for_the_command_that_it_begins(word: str, command: str) -> None:
    assert npm_command(word) == command


def test_npms_settings_at_the_root_are_read_in_other_folders_too() -> None:
    for file in (".npmrc", "pkg/.npmrc"):
        assert _rule("npm --prefix pkg ls", FakeTree(created={file: ""})) == "scratch.settings"
    assert _rule("npm --prefix pkg ls", FakeTree(created={"other/.npmrc": ""})) == "argv.default"
