"""What the run made outside the full-write paths is not executed, however it is named; everything else runs."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
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


@pytest.mark.parametrize("main", ["lib.js", "./lib", "out", "../dir", "/etc/x", "", 3, "missing"])
def test_folder_is_resolved_by_its_main_and_then_its_index(main: object) -> None:
    made = {"p/package.json": json.dumps({"main": main}), "p/lib.js": "", "p/out/index.js": "", "p/index.js": ""}
    assert code_of(["node", "p"], FakeTree(created=made)) is SCRATCH


def test_folder_with_a_broken_manifest_is_resolved_by_its_index() -> None:
    assert code_of(["node", "p"], FakeTree(created={"p/package.json": "{", "p/index.js": ""})) is SCRATCH


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
