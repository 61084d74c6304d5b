"""What the run made outside the full-write paths is not executed, however it is named; everything else runs."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from runner.model.tree import EntryKind
from runner.policy.tree_questions import MAX_QUESTIONS
from tests.support.argv_trees import FakeTree, code_of, decide

SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED


def _tree() -> FakeTree:
    return FakeTree(
        created={
            "scratch/a.mjs": "",
            "scratch/b.js": "",
            "scratch/a.test.mjs": "",
            "scratch/dir/index.js": "",
            "scratch/pkg/package.json": '{"main": "lib"}',
            "scratch/pkg/lib.js": "",
            "scratch/package.json": '{"scripts": {"t": "echo x"}}',
            "scratch/env": "NODE_OPTIONS=--import=./scratch/a.mjs",
            "scratch/plain.env": "A=1",
            "scratch/run.sh": "",
            "tmp.js": "",
            "src/new.mjs": "",
            "src/new.test.mjs": "",
            "node_modules/.bin/fresh": "",
            "node_modules/fresh/index.js": "",
        }
    )


@pytest.mark.parametrize(
    "line",
    [
        "node scratch/a.mjs",
        "node ./scratch/a.mjs",
        "node scratch//a.mjs",
        "node src/../scratch/a.mjs",
        "node /workspace/scratch/a.mjs",
        "node //workspace/scratch/a.mjs",
        "node ../workspace/scratch/a.mjs",
        "node -- scratch/a.mjs",
        "node scratch/b",
        "node tmp",
        "node scratch/dir",
        "node scratch/dir/",
        "node scratch/pkg",
        "node --no-warnings scratch/a.mjs x",
        "node --title x scratch/a.mjs",
        "node --conditions dev scratch/a.mjs",
        "node -C dev scratch/a.mjs",
        "node --max-old-space-size=10 scratch/a.mjs",
        "node --watch scratch/a.mjs",
        "node --watch-path src scratch/a.mjs",
        "node --inspect scratch/a.mjs",
        "node --input-type module scratch/a.mjs",
        "node inspect scratch/a.mjs",
        "node -r ./scratch/a.mjs src/app.mjs",
        "node -r ./scratch/b -e 1",
        "node --require ./scratch/b src/app.mjs",
        "node --require=./scratch/b src/app.mjs",
        "node --import=./scratch/a.mjs src/app.mjs",
        "node --import ./scratch/a.mjs src/app.mjs",
        "node --import file:///workspace/scratch/a.mjs src/app.mjs",
        "node --import=file:///workspace/scr%61tch/a.mjs -e 1",
        "node --import ./scratch/a.mjs?x=1 src/app.mjs",
        "node --import \"data:text/javascript,import('/workspace/scratch/a.mjs')\" -e 1",
        "node --loader ./scratch/a.mjs src/app.mjs",
        "node --experimental-loader=./scratch/a.mjs src/app.mjs",
        "node --experimental_loader=./scratch/a.mjs src/app.mjs",
        "node --test-reporter=./scratch/a.mjs --test src",
        "node --snapshot-blob scratch/a.mjs src/app.mjs",
        "node --env-file=scratch/env src/app.mjs",
        "node --env-file scratch/env src/app.mjs",
        "node --env-file-if-exists=scratch/env src/app.mjs",
        "node --test scratch/a.test.mjs",
        "node --test src/app.mjs scratch/a.mjs",
        "node --test scratch",
        "node --test 'scratch/*.mjs'",
        "node --test '**/*.test.mjs'",
        "node --test",
        "node --test --test-reporter dot",
        "node -e \"require('./scratch/b')\"",
        "node -e \"require('./tmp')\"",
        'node -e "require( `./scratch/b` )"',
        "node -e \"require('./scr\\x61tch/b')\"",
        "node -e \"require('/workspace/scratch/b.js')\"",
        "node -e \"require/* */('./scratch/b')\"",
        "node -e \"const x=1\nmodule.require('./scratch/dir')\"",
        "node -e \"import('./scratch/a.mjs')\"",
        "node --eval=\"import('./scratch/a.mjs')\"",
        "node -p \"require('./scratch/b')\"",
        "node --print \"require('./scratch/b')\"",
        "node -pe \"require('./scratch/b')\"",
        "node -p -e \"require('./scratch/b')\"",
        "node --input-type=module -e \"import x from './scratch/a.mjs'\"",
        "node --input-type=module -e \"import './scratch/a.mjs'\"",
        "node --input-type=module -e \"export * from './scratch/a.mjs'\"",
        "node -e \"new Worker('./scratch/b.js')\"",
        "node -e \"require('child_process').fork('./scratch/b.js')\"",
        "node -e \"require('module').createRequire(process.cwd()+'/')('./scratch/b')\"",
        "node -e \"/'/.test(1); require('./scratch/b')\"",
        "node --entry-url file:///workspace/scratch/a.mjs",
        "node -r scratch/b.js src/app.mjs",
        "node -r fresh src/app.mjs",
        "node --env-file=/tmp/env src/app.mjs",
        "node /tmp/x.mjs",
        "node ../tmp/x.mjs",
        "node /home/agent/x.mjs",
        "node /proc/self/cwd/scratch/a.mjs",
        "node -r /tmp/x.js src/app.mjs",
        "npm --prefix scratch run t",
        "npm run t --prefix scratch",
        "npm run t --prefi=scratch",
        "npm -C scratch run t",
        "npm --prefix scratch test",
        "npm --prefix /tmp/x run t",
        "pnpm -C scratch run t",
        "pnpm --dir scratch t",
        "pnpm --dir=scratch run t",
        "pnpm --prefix scratch test",
        "pnpm -C /tmp run t",
        "pnpm exec node scratch/a.mjs",
        "pnpm node scratch/a.mjs",
        "pnpm -C scratch exec node a.mjs",
        "mise x -- node scratch/a.mjs",
        "mise -C scratch x -- node a.mjs",
        "npm exec -- node scratch/a.mjs",
        "npm exec fresh",
        "pnpm exec vitest scratch/a.mjs",
        "pnpm exec vitest --config=scratch/a.mjs",
        "pnpm exec vitest --config scratch/a.mjs",
        "npm exec -- vitest run /tmp/a.test.js",
        "mise -qC scratch x -- node a.mjs",
        "pnpm fresh",
        "git bisect run node scratch/a.mjs",
        "npm run hi --node-options='--require ./scratch/b'",
        "npm run hi --node-options=--import=./scratch/a.mjs",
    ],
)
def test_scratch_of_this_run_is_not_executed(line: str) -> None:
    assert code_of(shlex.split(line), _tree()) is SCRATCH


@pytest.mark.parametrize(
    "line",
    [
        "node scratch/old.mjs",
        "node src/app.mjs",
        "node src/new.mjs",
        "node --test src/new.test.mjs",
        "node --test src",
        "node --test 'src/**/*.test.mjs'",
        "node src/app.mjs scratch/a.mjs",
        "node -e 1 scratch/a.mjs",
        "node --check scratch/a.mjs",
        "node -c scratch/a.mjs",
        "node missing.mjs",
        "node node_modules/left",
        "node /usr/local/lib/node_modules/npm/bin/npm-cli.js -v",
        "node -e \"require('fs').writeFileSync('scratch/c.mjs','x')\"",
        "node -e \"require('fs').readFileSync('./scratch/b.js')\"",
        "node -e \"require('./scratch/old.mjs')\"",
        "node -e \"require('left')\"",
        "node -e \"// require('x')\nrequire('node:fs')\"",
        'node -e "process.exit(3)"',
        "node -e ''",
        "node -p 1",
        "node",
        "node -",
        "node --env-file=scratch/plain.env src/app.mjs",
        "node --import ./src/new.mjs src/app.mjs",
        "node --watch-path scratch/a.mjs src/app.mjs",
        "node --title scratch/a.mjs src/app.mjs",
        "node --version",
        "git add scratch/a.mjs",
        "git diff scratch/a.mjs",
        "npm --prefix src run x",
        "npm run hi",
        "pnpm exec vitest src/new.test.mjs --outputFile=/tmp/report.json",
        "pnpm exec eslint scratch/a.mjs",
    ],
)
def test_everything_else_runs(line: str) -> None:
    decision = decide(shlex.split(line), _tree())
    assert decision.allowed, decision


def test_bare_test_run_without_scratch_tests_is_allowed() -> None:
    assert code_of(["node", "--test"], FakeTree(created={"scratch/a.mjs": "", "src/a.test.mjs": ""})) is None


@pytest.mark.parametrize("script", ["node scratch/a.mjs", "sh scratch/run.sh", "./scratch/run.sh", ". scratch/run.sh"])
def test_script_of_the_clone_does_not_execute_scratch(script: str) -> None:
    tree = _tree()
    tree.original["package.json"] = json.dumps({"scripts": {"x": script}})
    assert code_of(["npm", "run", "x"], tree) is SCRATCH


@pytest.mark.parametrize("main", ["lib.js", "./lib", "out", "../dir", "/etc/x", "", 3, "missing", "../..", "../../x"])
def test_folder_is_resolved_by_its_main_and_then_its_index(main: object) -> None:
    made = {"p/package.json": json.dumps({"main": main}), "p/lib.js": "", "p/out/index.js": "", "p/index.js": ""}
    assert code_of(["node", "p"], FakeTree(created=made)) is SCRATCH


def test_folder_with_a_broken_manifest_is_resolved_by_its_index() -> None:
    for text in ("{", "[]", '"x"', "[" * 100_000):
        assert code_of(["node", "p"], FakeTree(created={"p/package.json": text, "p/index.js": ""})) is SCRATCH


@pytest.mark.parametrize("main", ["../src/out", "../src/out/", "../src/out/index", "../src/out/index.js"])
def test_a_main_that_lies_in_the_full_write_paths_is_what_runs(main: str) -> None:
    made = {"p/package.json": json.dumps({"main": main}), "p/index.js": "", "src/out/index.js": ""}
    assert code_of(["node", "p"], FakeTree(created=made)) is None
    assert code_of(["node", "p"], FakeTree(created=made | {"src/out/index.js": ""}, original={})) is None


@pytest.mark.parametrize("main", ["..", "../..", "../../x", "/x", "../../../workspace/p/x"])
def test_the_tree_is_not_asked_about_a_main_outside_the_workspace(main: str) -> None:
    asked: list[str] = []

    class Asked(FakeTree):
        def kind(self, path: str) -> EntryKind | None:
            asked.append(path)
            return super().kind(path)

    code_of(["node", "p"], Asked(created={"p/package.json": json.dumps({"main": main}), "p/x.mjs": ""}))
    assert not [path for path in asked if path.startswith(("../", "/")) or path == ".."]


def test_a_module_of_node_itself_and_a_relative_one_are_not_looked_for_in_packages() -> None:
    tree = FakeTree(created={"node_modules/node:fs/index.js": "", "node_modules/x.js": ""})
    assert code_of(["node", "-e", "require('node:fs')"], tree) is None
    assert code_of(["node", "-e", "require('./x')"], tree) is None
    assert code_of(["node", "-e", "require('x')"], tree) is SCRATCH


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:///workspace/scratch/x%23y.mjs?z", "scratch/x#y.mjs"),
        ("file:///workspace/scratch/x%3Fy.mjs#z", "scratch/x?y.mjs"),
        ("file:///workspace/scratch/x%3Fy.mjs?a#z", "scratch/x?y.mjs"),
    ],
)
def test_a_file_url_ends_where_its_query_begins_and_not_at_an_escaped_mark(url: str, path: str) -> None:
    tree = FakeTree(created={path: ""})
    assert code_of(["node", "--import", url, "src/app.mjs"], tree) is SCRATCH


def test_default_node_config_made_by_the_run_is_not_loaded() -> None:
    argv = ["node", "--experimental-default-config-file", "src/app.mjs"]
    assert code_of(argv, FakeTree(created={"node.config.json": "{}"})) is SCRATCH
    assert code_of(argv) is None


@pytest.mark.parametrize("file", [".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"])
def test_settings_made_by_the_run_are_not_loaded_by_pnpm(file: str) -> None:
    assert code_of(["pnpm", "list"], FakeTree(created={file: ""})) is SCRATCH
    assert code_of(["pnpm", "list"], FakeTree(original={**FakeTree().original, file: ""})) is None


def test_settings_made_by_the_run_are_not_loaded_by_npm() -> None:
    assert code_of(["npm", "run", "hi"], FakeTree(created={".npmrc": ""})) is SCRATCH
    assert code_of(["npm", "run", "hi"], FakeTree(created={".pnpmfile.cjs": ""})) is None


@pytest.mark.parametrize("file", ["mise.toml", ".mise.toml", ".config/mise/config.toml"])
def test_settings_made_by_the_run_are_not_loaded_by_mise(file: str) -> None:
    assert code_of(["mise", "ls"], FakeTree(created={file: ""})) is SCRATCH


def test_task_file_made_by_the_run_is_not_run() -> None:
    tree = FakeTree(created={"mise-tasks/db/reset": ""})
    assert code_of(["mise", "run", "db:reset"], tree) is SCRATCH
    assert code_of(["mise", "run", "other"], tree) is None


def test_scripts_changed_outside_the_full_write_paths_are_not_run() -> None:
    tree = FakeTree(changed={"a/package.json"}, original={"a/package.json": '{"scripts": {"x": "y"}}'})
    assert code_of(["npm", "--prefix", "a", "run", "x"], tree) is SCRATCH
    assert code_of(["npm", "run", "hi"], FakeTree(changed={"package.json"})) is None


def test_argv_that_names_too_many_files_is_refused_after_a_bounded_number_of_questions() -> None:
    tree = FakeTree()
    program = ";".join(f"require('./m{n}')" for n in range(50_000))
    assert code_of(["node", "-e", program], tree) is ErrorCode.BIN_NOT_ALLOWLISTED
    assert tree.questions <= MAX_QUESTIONS


def test_huge_inline_program_is_read_in_linear_time() -> None:
    for text in ("'\\'" * 300_000, "/*" * 400_000, "`" * 900_000, "require(" * 120_000, "import " * 140_000):
        assert code_of(["node", "-e", text]) is None


def test_the_root_is_looked_at_from_another_folder_too() -> None:
    assert decide(["mise", "-C", "src", "ls"], FakeTree(created={"mise.toml": ""})).rule == "scratch.settings"
    assert decide(["pnpm", "-C", "src", "list"], FakeTree(created={".npmrc": ""})).rule == "scratch.settings"


def test_a_task_file_with_a_template_is_not_even_listed() -> None:
    for text in ("{{exec(command='ls')}}", "{% if x %}"):
        assert decide(["mise", "ls"], FakeTree(created={"mise-tasks/t": text})).rule == "scratch.task"
    assert decide(["mise", "ls"], FakeTree(created={"mise-tasks/t": "echo {x}"})).allowed
    assert decide(["mise", "ls"], FakeTree(created={"other/t": "{{x}}"})).allowed


def test_a_task_file_is_looked_for_in_the_folder_that_mise_starts_in() -> None:
    tree = FakeTree(created={"sub/mise-tasks/t": ""})
    assert decide(["mise", "-C", "sub", "run", "t"], tree).rule == "scratch.task"
    assert decide(["mise", "run", "t"], tree).allowed


def test_gits_own_folder_is_no_folder_that_the_run_made() -> None:
    tree = FakeTree(created={".git/HEAD": "", ".git/config": "", "x/HEAD": "", "x/config": ""})
    assert decide(["git", "--git-dir=.git", "status"], tree).allowed
    assert decide(["git", "-C", ".git", "status"], tree).allowed
    assert decide(["git", "-C", "x", "status"], tree).rule == "scratch.git-dir"


def test_an_implicit_program_of_a_package_that_the_run_changed_is_not_started() -> None:
    tree = FakeTree({**FakeTree().original, "a/package.json": "{}"}, {}, {"a/package.json"})
    assert decide(["pnpm", "-C", "a", "vitest"], tree).rule == "scratch.package"
    assert decide(["pnpm", "vitest"], tree).allowed


def test_a_string_that_goes_on_in_the_next_line_is_read_as_one() -> None:
    assert code_of(["node", "-e", "require('./scr\\\natch/b')"], _tree()) is SCRATCH


def test_a_package_with_a_name_of_one_letter_is_one() -> None:
    tree = FakeTree(created={"node_modules/y/index.js": ""})
    assert code_of(["node", "--input-type=module", "-e", "import x from 'y'"], tree) is SCRATCH
    assert code_of(["node", "--input-type=module", "-e", "import x from ''"], tree) is None


def test_settings_with_an_overlong_name_are_passed_over_and_hide_none_behind_them() -> None:
    long = "--" + "a" * 101
    assert decide(["npm", long, "--script-shell=/x", "run", "hi"]).rule == "package.setting.program"
    assert decide(["npm", "config", "set", "a" * 100 + "=x", "editor=y"]).rule == "package.setting.program"


def test_a_manifest_with_a_byte_order_mark_has_its_scripts() -> None:
    text = "\ufeff" + json.dumps({"scripts": {"x": "git push"}})
    tree = FakeTree({**FakeTree().original, "package.json": text})
    assert decide(["npm", "run", "x"], tree).rule == "git.push.verb"


@pytest.mark.parametrize("path", ["/dev/null", "//dev/null", "/usr/bin/x", "//usr/bin/x", "../usr/x", "../../usr/x"])
def test_what_the_image_brings_is_run_from_any_folder(path: str) -> None:
    expected = path not in ("../usr/x", "//dev/null")
    for argv in (["node", path], ["pnpm", "-C", "src", "exec", "node", path]):
        if path.startswith("../"):
            continue
        assert decide(argv).allowed is expected
    assert decide(["node", "../usr/x"]).allowed  # beside the workspace is the root
    assert decide(
        ["pnpm", "-C", "src", "exec", "node", "../usr/x"]
    ).allowed  # there, it is in the workspace, and not there
    assert decide(["pnpm", "-C", "src", "exec", "node", "../../usr/x"]).allowed
    assert not decide(["pnpm", "-C", "src", "exec", "node", "../../tmp/x"]).allowed


def test_a_folder_is_not_searched_where_a_file_was_found() -> None:
    made = {"p.js": "", "p/index.js": ""}
    tree = FakeTree({**FakeTree().original, "p.js": "", "p/x": ""}, {"p/index.js": ""})
    assert decide(["node", "p"], tree).allowed
    assert not decide(["node", "p"], FakeTree(created=made)).allowed
