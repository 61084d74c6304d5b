"""The closed world of npm, pnpm, node and mise, and what of the base commit is pinned."""

from __future__ import annotations

import json

import pytest

from runner.model.errors import ErrorCode
from runner.policy.argv_values import Preset
from tests.support.argv_trees import ORIGINAL, FakeTree
from tests.support.strict import judge, runs


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ("npm run hi", "npm run hi"),
        ("npm run-script hi", "npm run hi"),
        ("npm rum hi -s", "npm --loglevel=silent run hi"),
        ("npm t", "npm run test"),
        ("npm test -- --watch", "npm run test -- --watch"),
        ("npm run hi a b", "npm run hi -- a b"),
        ("npm --prefix src/.. run hi", "npm --prefix=src/.. run hi"),
        ("npm ls --depth 1 --json", "npm --depth=1 --json ls"),
        ("npm list left", "npm ls -- left"),
        ("npm -v", "npm --version"),
        ("pnpm hi", "pnpm run hi"),
        ("pnpm hi --x", "pnpm run hi --x"),
        ("pnpm run hi -- --x", "pnpm run hi -- --x"),
        ("pnpm -s test", "pnpm --reporter=silent run test"),
        ("pnpm -C . run hi", "pnpm --dir=. run hi"),
        ("pnpm list --depth=0", "pnpm --depth=0 ls"),
        ("node src/app.mjs", "node src/app.mjs"),
        ("node ./src/app", "node src/app.mjs"),
        ("node scratch/old.mjs -e 1", "node scratch/old.mjs -e 1"),
        ("node /workspace/src/app.mjs", "node src/app.mjs"),
        ("node --no-warnings src/app.mjs", "node --no-warnings src/app.mjs"),
        ("node --test", "node --test"),
        ("node --test --test_reporter tap src", "node --test --test-reporter=tap src"),
        ("node -c src/app.mjs", "node --check src/app.mjs"),
        ("node --version", "node --version"),
        ("mise run os:red 7", "mise run os:red 7"),
        ("mise r -q typecheck --fix", "mise run --quiet typecheck --fix"),
        ("mise tasks run t", "mise run t"),
        ("mise run -j 4 t", "mise run --jobs=4 t"),
        ("mise tasks ls", "mise tasks"),
        ("mise ls --json", "mise ls --json"),
    ],
)
def test_what_runs_is_the_canonical_spelling(given: str, run: str) -> None:
    assert runs(given.split()) == run.split()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("npm", "strict.package.verb"),
        ("npm install", "strict.package.verb"),
        ("npm ci", "strict.package.verb"),
        ("npm view left", "strict.package.verb"),
        ("npm exec vitest", "strict.package.verb"),
        ("npm run", "strict.package.verb"),
        ("npm run nope", "strict.script"),
        ("npm run hi --watch", "strict.package.option"),
        ("npm --registry=http://x run hi", "strict.package.option"),
        ("npm -w x run hi", "strict.package.option"),
        ("npm --prefix /tmp ls", "strict.package.path"),
        ("pnpm add left", "strict.package.verb"),
        ("pnpm install", "strict.package.verb"),
        ("pnpm exec vitest", "strict.package.verb"),
        ("pnpm vitest", "strict.package.verb"),
        ("pnpm -r test", "strict.package.option"),
        ("pnpm --filter x test", "strict.package.option"),
        ("node", "strict.node.file"),
        ("node -", "strict.node.file"),
        ("node -e 1", "strict.node.option"),
        ("node -p 1", "strict.node.option"),
        ("node -pe 1", "strict.node.option"),
        ("node --eval=1", "strict.node.option"),
        ("node -r left src/app.mjs", "strict.node.option"),
        ("node --import=left src/app.mjs", "strict.node.option"),
        ("node --loader=left src/app.mjs", "strict.node.option"),
        ("node --env-file=.env src/app.mjs", "strict.node.option"),
        ("node --inspect src/app.mjs", "strict.node.option"),
        ("node inspect src/app.mjs", "strict.node.option"),
        ("node -i", "strict.node.option"),
        ("node --run hi", "strict.node.option"),
        ("node --test --watch", "strict.node.option"),
        ("node --test src/app.mjs --import=left", "strict.node.option"),
        ("node --test --test-reporter=./src/app.mjs", "strict.node.value"),
        ("node src/nope.mjs", "strict.node.file"),
        ("node /usr/local/lib/node_modules/npm/bin/npm-cli.js exec x", "strict.node.path"),
        ("node --test ../x", "scratch.node.test"),
        ("mise", "strict.mise.verb"),
        ("mise t", "strict.mise.option"),
        ("mise x -- node", "strict.mise.verb"),
        ("mise install", "strict.mise.verb"),
        ("mise os:red", "strict.mise.verb"),
        ("mise -C src run t", "strict.mise.verb"),
        ("mise run", "strict.mise.task"),
        ("mise run a ::: b", "strict.mise.task"),
        ("mise run --jobs=x t", "strict.mise.option"),
        ("mise run --cd=src t", "strict.mise.option"),
    ],
)
def test_what_is_not_known_is_refused(given: str, rule: str) -> None:
    if given == "mise t":
        given = "mise tasks deps"
    assert judge(given.split()).decision.rule == rule


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("pnpm run typecheck", ErrorCode.DIRECT_TYPECHECK_REFUSED),
        ("npm run ship", ErrorCode.GIT_PUSH_VIA_RUN_COMMAND),
        ("npm exec -- git push", ErrorCode.GIT_PUSH_VIA_RUN_COMMAND),
        ("node node_modules/typescript/bin/tsc", ErrorCode.DIRECT_TYPECHECK_REFUSED),
        ("npm exec -- sh -c x", ErrorCode.BIN_NOT_ALLOWLISTED),
    ],
)
def test_what_the_contract_refuses_keeps_its_code(given: str, code: ErrorCode) -> None:
    assert judge(given.split()).decision.code is code


def test_words_for_a_script_are_judged_behind_the_scripts_own() -> None:
    tree = FakeTree({"package.json": json.dumps({"scripts": {"g": "git", "e": "echo"}})})
    for program in ("npm", "pnpm"):
        assert judge([program, "run", "g", "--", "push"], tree).decision.code is ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
        assert judge([program, "run", "e", "--", "push"], tree).decision.allowed
        assert judge([program, "run", "g", "--", "status"], tree).decision.allowed


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        ("npm run hi", "package.json"),
        ("npm run hi", ".npmrc"),
        ("npm test", "package.json"),
        ("npm ls", ".npmrc"),
        ("pnpm hi", "package.json"),
        ("pnpm ls", ".pnpmfile.cjs"),
        ("pnpm run hi", "pnpm-workspace.yaml"),
        ("mise run t", "mise.toml"),
        ("mise run t", ".config/mise/config.toml"),
        ("mise run t", "mise-tasks/t"),
        ("mise ls", ".tool-versions"),
    ],
)
def test_what_says_which_programs_start_is_pinned_to_the_base_commit(argv: str, file: str) -> None:
    text = ORIGINAL.get(file, "")
    for tree in (
        FakeTree(original={**ORIGINAL, file: text}, changed={file}),
        FakeTree(original={k: v for k, v in ORIGINAL.items() if k != file}, created={file: text}),
    ):
        decision = judge(argv.split(), tree).decision
        assert decision.code is ErrorCode.SCRATCH_EXECUTION_REFUSED
    assert judge(argv.split(), FakeTree(original={**ORIGINAL, file: text})).decision.allowed


@pytest.mark.parametrize("file", ["mise.ci.toml", ".mise/tasks/x", ".config/mise/conf.d/x.toml", ".miserc.toml"])
def test_configuration_of_any_name_that_the_run_made_stops_mise(file: str) -> None:
    assert not judge(["mise", "run", "t"], FakeTree(created={file: ""})).decision.allowed
    assert judge(["mise", "run", "t"], FakeTree(created={f"src/{file}": ""})).decision.allowed


def test_files_run_unchanged_or_from_the_full_write_paths() -> None:
    changed = FakeTree(changed={"scratch/old.mjs", "src/app.mjs"})
    assert judge(["node", "scratch/old.mjs"], changed).decision.rule == "strict.node.changed"
    assert judge(["node", "--test", "scratch/old.mjs"], changed).decision.rule == "strict.node.changed"
    assert runs(["node", "src/app.mjs"], changed) == ["node", "src/app.mjs"]
    made = FakeTree(created={"src/n.mjs": "", "scratch/a.mjs": ""})
    assert judge(["node", "scratch/a.mjs"], made).decision.code is ErrorCode.SCRATCH_EXECUTION_REFUSED
    assert runs(["node", "src/n.mjs"], made) == ["node", "src/n.mjs"]


def test_a_file_whose_name_is_an_option_stays_a_file() -> None:
    tree = FakeTree(original={"-e.mjs": ""})
    assert runs(["node", "./-e.mjs"], tree) == ["node", "./-e.mjs"]


@pytest.mark.parametrize(
    ("argv", "run"),
    [
        ("pnpm install --frozen-lockfile --ignore-scripts", "pnpm --frozen-lockfile --ignore-scripts install"),
        ("npm ci --ignore-scripts", "npm --ignore-scripts ci"),
        ("mise install", "mise install"),
        ("mise trust", "mise trust"),
        (
            "git config core.hooksPath .githooks",
            "git --no-pager -c core.fsmonitor=false config core.hooksPath .githooks",
        ),
    ],
)
def test_set_up_may_install_and_switch_hooks_on_and_a_run_may_not(argv: str, run: str) -> None:
    assert runs(argv.split(), phase="setup") == run.split()
    assert not judge(argv.split()).decision.allowed


def test_single_packages_are_not_installed_even_at_set_up() -> None:
    assert judge(["npm", "install", "left"], phase="setup").decision.rule == "strict.package.verb"


@pytest.mark.parametrize(("preset", "allowed"), [("default", True), ("strict", False)])
def test_inline_programs_run_by_default_and_not_in_the_closed_world(preset: Preset, allowed: bool) -> None:
    for argv in (["node", "-e", "1"], ["node", "-p", "JSON.stringify(process.env)"], ["node"]):
        verdict = judge(argv, preset=preset)
        assert verdict.decision.allowed is allowed
        assert verdict.argv == tuple(argv)
