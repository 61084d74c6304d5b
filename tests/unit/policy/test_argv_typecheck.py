"""Typecheckers are run by the verification task alone, whatever starts them; the task itself is never refused."""

from __future__ import annotations

import json
import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import FakeTree, code_of, decide

TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED


@pytest.mark.parametrize(
    "line",
    [
        "pnpm exec tsc --noEmit",
        "pnpm tsc",
        "pnpm -r exec tsc",
        "pnpm --filter x exec vue-tsc",
        "pnpm dlx tsc",
        "pnpm exec node_modules/.bin/tsc",
        "pnpm exec ./node_modules/typescript/bin/tsc",
        "npm exec tsc",
        "npm exec -- tsc -p .",
        "npm exec --package=typescript -- tsc",
        "npm exec typescript@5",
        "npm x -c 'tsc --noEmit'",
        "npm exec turbo run build",
        "pnpm turbo build",
        "pnpm tsgo",
        "pnpm exec cross-env A=1 tsc",
        "mise x -- tsc",
        "mise x npm:typescript -- tsc",
        "mise x -- pnpm exec tsc",
        "mise x -c 'tsc'",
        "node node_modules/typescript/bin/tsc --noEmit",
        "node ./node_modules/typescript/bin/tsc",
        "node /workspace/node_modules/typescript/lib/tsc.js",
        "node node_modules/typescript/lib/_tsc.js",
        "node node_modules/.bin/tsc",
        "node node_modules/.bin/../typescript/bin/tsc",
        "node node_modules/.pnpm/typescript@5/node_modules/typescript/bin/tsc",
        "node --max-old-space-size=4096 node_modules/typescript/bin/tsc",
        "node -r ./x node_modules/vue-tsc/bin/vue-tsc.js",
        "node node_modules/turbo/bin/turbo build",
        "node -e \"require('typescript/bin/tsc')\"",
        "node -r typescript/lib/tsc.js src/app.mjs",
        "node --import=typescript/lib/tsc.js src/app.mjs",
        "node --run typecheck",
        "node --run check",
        "pnpm run typecheck",
        "pnpm typecheck",
        "pnpm -r typecheck",
        "pnpm -C src typecheck",
        "pnpm --filter x run type-check",
        "pnpm run '/^type/'",
        "pnpm run '/check|x/'",
        "npm run typecheck",
        "npm run-script typecheck",
        "npm rum typecheck",
        "npm --prefix src run typecheck",
        "npm run types:check",
        "npm run check:types",
        "npm run check-types",
        "npm run typeCheck",
        "npm run typecheck:ci",
        "npm run tsc",
        "npm run ts:check",
        "npm -w a run typecheck",
        "npm run check",
        "pnpm check",
        "pnpm run check",
    ],
)
def test_typecheck_around_the_verification_task_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is TYPECHECK


@pytest.mark.parametrize(
    "script",
    [
        "tsc",
        "eslint . && tsc --noEmit",
        "eslint .;tsc",
        "A=1 tsc -b",
        "npx tsc",
        "npx -y -p typescript tsc",
        "cross-env A=1 tsc",
        "npm run inner",
        "pnpm inner",
        "yarn inner",
        "npm-run-all lint inner",
        "run-p inner",
        'concurrently "npm:inner" "x"',
        'concurrently "x" "tsc -w"',
        "node node_modules/typescript/bin/tsc",
        "./node_modules/.bin/tsc",
        "sh -c 'tsc'",
        "echo $(tsc)",
        'echo "$(tsc)"',
        "if true; then tsc; fi",
        "a\ntsc",
        "tsc > out 'open",
        "turbo run build",
        "yarn exec tsc",
        "yarn run inner",
        "run-s 'inn*'",
        "eval 'tsc'",
        "cross-env-shell A=1 'tsc && x'",
        f"echo {'x' * 20_000}; tsc",
    ],
)
def test_script_is_followed_to_the_command_behind_it(script: str) -> None:
    tree = FakeTree(original={"package.json": json.dumps({"scripts": {"x": script, "inner": "tsc"}})})
    assert code_of(["npm", "run", "x"], tree) is TYPECHECK
    assert code_of(["pnpm", "x"], tree) is TYPECHECK


@pytest.mark.parametrize("name", ["prex", "postx"])
def test_what_runs_before_and_after_a_script_counts(name: str) -> None:
    tree = FakeTree(original={"package.json": json.dumps({"scripts": {"x": "true", name: "tsc"}})})
    assert code_of(["npm", "run", "x"], tree) is TYPECHECK


@pytest.mark.parametrize(
    "line",
    [
        "mise run typecheck",
        "mise run os:red 7",
        "mise typecheck",
        "pnpm run hi",
        "pnpm run build",
        "pnpm run '/^build/'",
        "npm run hi",
        "node src/tsc.mjs",
        "node -e \"console.log('tsc')\"",
        "node -p \"require('typescript').version\"",
        "npm install typescript",
        "npm ls turbo",
        "pnpm add -D typescript",
        "pnpm why turbo",
        "git commit -m tsc",
        "git checkout typecheck",
    ],
)
def test_what_only_names_a_typechecker_runs(line: str) -> None:
    decision = decide(shlex.split(line), FakeTree(original={**FakeTree().original, "src/tsc.mjs": ""}))
    assert decision.allowed, decision


def test_refusal_names_the_verification_task() -> None:
    decision = decide(["pnpm", "exec", "tsc"])
    assert "mise run os:red <issue>" in decision.hint
