"""The rules about files that the run made, as data: what counts as executing one, by every way that is read."""

from __future__ import annotations

from runner.model.errors import ErrorCode
from runner.policy.builtin_rule import BuiltinRule, rule

__all__ = ["SCRATCH_RULES"]

_SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED
_A = ("scratch/a.mjs",)

_RUNS_SCRATCH = "What the run wrote outside the full-write paths is not executed."

SCRATCH_RULES: tuple[BuiltinRule, ...] = (
    rule("scratch.node.file", _SCRATCH, _RUNS_SCRATCH, "node scratch/a.mjs", "node scratch/old.mjs", created=_A),
    rule(
        "scratch.node.inline",
        _SCRATCH,
        _RUNS_SCRATCH,
        ("node", "-e", "require('./scratch/a.mjs')"),
        "node -e \"require('./scratch/old.mjs')\"",
        created=_A,
    ),
    rule(
        "scratch.node.preload",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --import=./scratch/a.mjs src/app.mjs",
        "node --import=./scratch/old.mjs src/app.mjs",
        created=_A,
    ),
    rule(
        "scratch.node.option",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --snapshot-blob=scratch/a.mjs src/app.mjs",
        "node --snapshot-blob=scratch/old.mjs src/app.mjs",
        created=_A,
    ),
    rule(
        "scratch.node.test",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --test scratch/a.mjs",
        "node --test scratch/old.mjs",
        created=_A,
    ),
    rule(
        "scratch.node.config",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --experimental-default-config-file src/app.mjs",
        "node src/app.mjs",
        created=("node.config.json",),
    ),
    rule(
        "scratch.node.env-file",
        _SCRATCH,
        "Variables can load code, and a file elsewhere is not looked into.",
        "node --env-file=/tmp/e src/app.mjs",
        "node --env-file=env src/app.mjs",
    ),
    rule(
        "scratch.package",
        _SCRATCH,
        "A package.json that the run wrote says what its scripts are.",
        "npm --prefix scratch run t",
        "npm run hi",
        created=("scratch/package.json",),
    ),
    rule(
        "scratch.settings",
        _SCRATCH,
        "Settings that the run wrote can name programs.",
        "npm run hi",
        "node src/app.mjs",
        created=(".npmrc",),
    ),
    rule(
        "scratch.program",
        _SCRATCH,
        _RUNS_SCRATCH,
        "npm run own",
        "npm run old",
        scripts={"own": "./scratch/a.mjs", "old": "./scratch/old.mjs"},
        created=_A,
    ),
    rule(
        "scratch.shell",
        _SCRATCH,
        _RUNS_SCRATCH,
        "npm run own",
        "npm run old",
        scripts={"own": "sh scratch/a.mjs", "old": "sh scratch/old.mjs"},
        created=_A,
    ),
    rule(
        "scratch.tool",
        _SCRATCH,
        _RUNS_SCRATCH,
        "pnpm exec own",
        "pnpm exec eslint",
        created=("node_modules/.bin/own",),
    ),
    rule(
        "scratch.tool.file",
        _SCRATCH,
        _RUNS_SCRATCH,
        "pnpm exec vitest scratch/a.mjs",
        "pnpm exec vitest scratch/old.mjs",
        created=_A,
    ),
    rule("scratch.task", _SCRATCH, _RUNS_SCRATCH, "mise run x", "mise run y", created=("mise-tasks/x",)),
    rule(
        "scratch.git-dir",
        _SCRATCH,
        "A folder shaped like a repository brings settings of its own.",
        "git --git-dir=scratch/r log",
        "git --git-dir=.git log",
        created=("scratch/r/HEAD", "scratch/r/config"),
    ),
)
