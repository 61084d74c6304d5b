"""The rules of the preset `strict`, as data; the grammars and judges of `runner/policy/strict_*.py` decide."""

from __future__ import annotations

from runner.model.errors import ErrorCode
from runner.policy.builtin_rule import BuiltinRule, rule

__all__ = ["STRICT_RULES"]

_BIN = ErrorCode.BIN_NOT_ALLOWLISTED
_SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED
_OUTSIDE = ErrorCode.PATH_OUTSIDE_WORKSPACE

_CLOSED = "Unknown is refused: a grammar per verb."

STRICT_RULES: tuple[BuiltinRule, ...] = (
    rule("strict.git.verb", _BIN, _CLOSED, "git fast-import", "git log"),
    rule("strict.git.option", _BIN, _CLOSED, "git commit --trailer=a=b -m x", "git commit --mess x"),
    rule(
        "strict.git.value", _BIN, "Values that choose programs are lists.", "git merge -s zz x", "git merge -s ours x"
    ),
    rule("strict.git.global", _BIN, _CLOSED, "git --namespace=x log", "git --no-pager log"),
    rule("strict.git.config", _BIN, "Settings are read, not made.", "git config user.name x", "git config user.name"),
    rule("strict.git.operand", _BIN, _CLOSED, "git stash clear x", "git stash clear"),
    rule("strict.git.path", _OUTSIDE, "git works in the clone.", "git add ../x", "git add src/../x"),
    rule(
        "strict.git.folder",
        _BIN,
        "A repository within brings settings of its own.",
        "git -C src/r status",
        "git -C src status",
        created=("src/r/HEAD",),
    ),
    rule(
        "strict.pinned",
        _SCRATCH,
        "What says which programs start is the base commit's.",
        "npm run hi",
        "npm --version",
        changed="package.json",
    ),
    rule("strict.script", _BIN, "Scripts are those of the base commit.", "npm run nope", "npm run hi"),
    rule("strict.package.verb", _BIN, _CLOSED, "pnpm exec vitest", "pnpm run hi"),
    rule("strict.package.option", _BIN, _CLOSED, "npm --workspaces run hi", "npm --silent run hi"),
    rule("strict.package.path", _OUTSIDE, "Scripts run in the clone.", "npm --prefix .. ls", "npm --prefix src ls"),
    rule("strict.node.option", _BIN, "A file, and no program in words.", "node -e 1", "node --no-warnings build.mjs"),
    rule("strict.node.value", _BIN, _CLOSED, "node --test --test-reporter=./r.mjs", "node --test --test-reporter=tap"),
    rule("strict.node.file", _BIN, "A file that is there.", "node src/nope.mjs", "node src/app"),
    rule("strict.node.path", _OUTSIDE, "A file of the clone.", "node /usr/lib/x.js", "node /workspace/src/app.mjs"),
    rule(
        "strict.node.changed",
        _SCRATCH,
        "A file that the run changed outside the full-write paths is as good as a new one.",
        "node build.mjs",
        "node src/app.mjs",
        changed="build.mjs",
    ),
    rule("strict.mise.verb", _BIN, _CLOSED, "mise doctor", "mise ls"),
    rule("strict.mise.option", _BIN, _CLOSED, "mise run --tool=x t", "mise run --quiet t"),
    rule("strict.mise.task", _BIN, "One task in a call.", "mise run a ::: b", "mise run a b"),
)
