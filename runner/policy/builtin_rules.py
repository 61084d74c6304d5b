"""The rules for command lines that ship, as data: what each refuses and why, with an example and a near miss.

The checkers decide; this table says in one place what they say, for people and for `runner policy show`. A test runs
every example, and another one finds rule ids in the checkers that are not here.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from runner.model.errors import ErrorCode

__all__ = ["BUILTIN_RULES", "BuiltinRule"]

_PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
_HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED
_BIN = ErrorCode.BIN_NOT_ALLOWLISTED
_TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED
_SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED
_OUTSIDE = ErrorCode.PATH_OUTSIDE_WORKSPACE


@dataclass(frozen=True, slots=True)
class BuiltinRule:
    """One rule. `refused` is decided by it, `allowed` is a near miss that runs, over the files that the example needs.

    `code` is the usual one, None for a rule that allows (then the two examples are each other's near miss).
    """

    id: str
    reason: str
    code: ErrorCode | None
    refused: tuple[str, ...]
    allowed: tuple[str, ...]
    original: Mapping[str, str] = field(default_factory=dict)
    created: Mapping[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def preset(self) -> Literal["default", "strict"]:
        """The preset that has the rule; those of `default` hold in `strict` too."""
        return "strict" if self.id.startswith("strict.") or self.id == "argv.strict" else "default"


def _rule(
    identity: str,
    code: ErrorCode | None,
    reason: str,
    refused: str | tuple[str, ...],
    allowed: str,
    *,
    scripts: Mapping[str, str] | None = None,
    created: tuple[str, ...] = (),
    changed: str = "",
    aliases: Mapping[str, str] | None = None,
) -> BuiltinRule:
    return BuiltinRule(
        identity,
        reason,
        code,
        refused if isinstance(refused, tuple) else tuple(shlex.split(refused)),
        tuple(shlex.split(allowed)),
        {"package.json": json.dumps({"scripts": dict(scripts)})} if scripts else {},
        dict.fromkeys(created, ""),
        frozenset({changed}) if changed else frozenset(),
        aliases or {},
    )


_CHAIN = {f"a{number}": f"a{number + 1}" for number in range(25)} | {"a25": "status"}
_A = ("scratch/a.mjs",)

_FORM = (
    _rule("argv.required", ErrorCode.ARGV_REQUIRED, "An argv is a non-empty list of words.", (), "git status"),
    _rule(
        "argv.form",
        ErrorCode.INVALID_ARGUMENTS,
        "Words with a NUL, or more than a program takes, can be passed to none.",
        ("git", "log", "a\0b"),
        "git log ab",
    ),
    _rule("argv.bin", _BIN, "Only the policy's programs start, by bare name.", "/usr/bin/git status", "git status"),
    _rule(
        "argv.depth",
        _BIN,
        "A chain of launchers longer than any honest one is not followed.",
        "git " + "for-each-repo --config=x " * 14 + "status",
        "git for-each-repo --config=x status",
    ),
    _rule(
        "argv.size",
        _BIN,
        "A decision looks at a bounded number of files.",
        ("node", "--test", *(f"src/{number}.test.mjs" for number in range(3000))),
        "node --test src/app.mjs",
    ),
    _rule(
        "argv.default",
        None,
        "What no rule refuses runs as given (preset default).",
        "git push",
        "git status",
    ),
    _rule(
        "argv.strict",
        None,
        "What the grammars know runs in its canonical spelling (preset strict).",
        "git instaweb",
        "git status",
    ),
)

_GIT = (
    _rule(
        "git.push.verb",
        _PUSH,
        "Pushes leave through workspace.git_push alone, whose credential no command can reach.",
        "git -C . push origin HEAD",
        "git stash push -m wip",
    ),
    _rule(
        "git.config.autocorrect",
        _PUSH,
        "With autocorrection a misspelt verb is run as another one.",
        "git -c help.autocorrect=1 status",
        "git -c help.autocorrect=never status",
    ),
    _rule(
        "git.hooks.option",
        _HOOKS,
        "The repository's hooks run.",
        "git commit --no-verif -m x",
        "git commit -uno -m x",
    ),
    _rule(
        "git.hooks.config",
        _HOOKS,
        "Another hooks folder is another set of hooks, or none.",
        "git -c core.hooksPath=/dev/null commit -m x",
        "git -c core.quotePath=false commit -m x",
    ),
    _rule(
        "git.hooks.environment",
        _HOOKS,
        "A script may not switch the hooks off either.",
        "npm run quiet",
        "npm run loud",
        scripts={"quiet": "HUSKY=0 git commit -m x", "loud": "git commit -m x"},
    ),
    _rule(
        "git.hooks.manager",
        _HOOKS,
        "Uninstalling the hook manager skips all hooks to come.",
        "npm run off",
        "npm run on",
        scripts={"off": "husky uninstall", "on": "husky"},
    ),
    _rule("git.hooks.npm", _HOOKS, "npm commits too.", "npm version patch --no-commit-hooks", "npm version patch"),
    _rule("git.verb.path", _BIN, "A verb with a slash is the path of a program.", "git /../scratch/x", "git describe"),
    _rule("git.verb.program", _BIN, "These verbs start other programs.", "git daemon", "git describe"),
    _rule(
        "git.address.helper",
        _BIN,
        "An ext:: or fd:: address is a program.",
        "git fetch ext::x",
        "git fetch origin",
    ),
    _rule(
        "git.option.output",
        _BIN,
        "An output file is written around the write rules.",
        "git log -1 --output=src/app.mjs",
        "git log -1 --oneline",
    ),
    _rule(
        "git.option.program",
        _BIN,
        "The option's value is a program.",
        "git fetch --upload-pack=x .",
        "git fetch --depth=1 origin",
    ),
    _rule(
        "git.option.shell",
        _BIN,
        "The option's value is a shell line.",
        "git rebase --exec make HEAD~1",
        "git rebase HEAD~1",
    ),
    _rule("git.exec-path", _BIN, "git would take its programs from there.", "git --exec-path=x log", "git --exec-path"),
    _rule("git.path.outside", _OUTSIDE, "git works in the clone.", "git -C /etc status", "git -C src status"),
    _rule(
        "git.config.program",
        _BIN,
        "The setting's value is a program or a shell line.",
        "git -c core.pager=sh log",
        "git -c core.pager=cat log",
    ),
    _rule(
        "git.config.include",
        _HOOKS,
        "An included file may hold any setting.",
        "git -c include.path=x log",
        "git -c include.path= log",
    ),
    _rule(
        "git.config.section",
        _BIN,
        "Under another section's name a setting may name a program.",
        "git config --rename-section user alias",
        "git config --rename-section user author",
    ),
    _rule(
        "git.config.worktree",
        _BIN,
        "git works in the clone.",
        "git config core.worktree /etc",
        "git config core.worktree .",
    ),
    _rule("git.config.edit", _BIN, "An editor is a program.", "git config --edit", "git config --list"),
    _rule(
        "git.alias.shell", _BIN, "A shell alias is a shell line.", "git config alias.x !make", "git config alias.x log"
    ),
    _rule(
        "git.alias.unreadable",
        _BIN,
        "An alias out of the environment cannot be judged.",
        "git --config-env=alias.x=HOME x",
        "git -c alias.x=log x",
    ),
    _rule(
        "git.alias.value",
        _BIN,
        "An alias may stand for no refused command.",
        "git config alias.x 'grep -Oless x'",
        "git config alias.x 'grep -n x'",
    ),
    _rule("git.alias.depth", _BIN, "A longer chain of aliases is not followed.", "git a0", "git a20", aliases=_CHAIN),
)

_LAUNCHERS = (
    _rule("launcher.fetch", _BIN, "A fetched program is nobody's choice.", "npm init left", "npm init"),
    _rule("launcher.program", _BIN, "Editors and the like are programs.", "npm edit left", "npm ls left"),
    _rule("launcher.shell", _BIN, "No shell, ever.", "npm exec -- sh -c x", "npm exec -- vitest"),
    _rule(
        "launcher.unlisted",
        _BIN,
        "A launcher starts what the repository installed, nothing else.",
        "pnpm exec curl",
        "pnpm exec eslint",
    ),
    _rule("npm.command", _BIN, "npm has no such command.", "npm zzz", "npm ls"),
    _rule(
        "package.setting.program",
        _BIN,
        "The setting's value is a program.",
        "npm --script-shell=x run hi",
        "npm --silent run hi",
    ),
    _rule(
        "package.setting.node-options",
        _BIN,
        "Node's options can load code.",
        "npm --node-options=--title=a/b run hi",
        "npm --node-options=--no-warnings run hi",
    ),
    _rule(
        "environment.program", _BIN, "git reads programs from it.", "mise set GIT_SSH_COMMAND=x", "mise set COLOUR=x"
    ),
    _rule(
        "mise.setting",
        _BIN,
        "What mise trusts is fixed.",
        "mise settings paranoid=false",
        "mise settings get paranoid",
    ),
    _rule(
        "mise.trust", _BIN, "Configurations are trusted as the base commit has them.", "mise trust", "mise trust --show"
    ),
)

_TYPECHECKS = (
    _rule(
        "typecheck.program",
        _TYPECHECK,
        "The verification task typechecks; it knows with which settings.",
        "pnpm exec tsc --noEmit",
        "pnpm exec eslint .",
    ),
    _rule("typecheck.script", _TYPECHECK, "The same under a script's name.", "pnpm run typecheck", "pnpm run hi"),
    _rule(
        "typecheck.path",
        _TYPECHECK,
        "The same by the file.",
        "node node_modules/typescript/bin/tsc",
        "node node_modules/left/index.js",
    ),
    _rule(
        "typecheck.module",
        _TYPECHECK,
        "The same as a module.",
        "node --import=typescript/lib/tsc.js src/app.mjs",
        "node --import=left src/app.mjs",
    ),
)

_RUNS_SCRATCH = "What the run wrote outside the full-write paths is not executed."

_SCRATCHES = (
    _rule("scratch.node.file", _SCRATCH, _RUNS_SCRATCH, "node scratch/a.mjs", "node scratch/old.mjs", created=_A),
    _rule(
        "scratch.node.inline",
        _SCRATCH,
        _RUNS_SCRATCH,
        ("node", "-e", "require('./scratch/a.mjs')"),
        "node -e \"require('./scratch/old.mjs')\"",
        created=_A,
    ),
    _rule(
        "scratch.node.preload",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --import=./scratch/a.mjs src/app.mjs",
        "node --import=./scratch/old.mjs src/app.mjs",
        created=_A,
    ),
    _rule(
        "scratch.node.option",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --snapshot-blob=scratch/a.mjs src/app.mjs",
        "node --snapshot-blob=scratch/old.mjs src/app.mjs",
        created=_A,
    ),
    _rule(
        "scratch.node.test",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --test scratch/a.mjs",
        "node --test scratch/old.mjs",
        created=_A,
    ),
    _rule(
        "scratch.node.config",
        _SCRATCH,
        _RUNS_SCRATCH,
        "node --experimental-default-config-file src/app.mjs",
        "node src/app.mjs",
        created=("node.config.json",),
    ),
    _rule(
        "scratch.node.env-file",
        _SCRATCH,
        "Variables can load code, and a file elsewhere is not looked into.",
        "node --env-file=/tmp/e src/app.mjs",
        "node --env-file=env src/app.mjs",
    ),
    _rule(
        "scratch.package",
        _SCRATCH,
        "A package.json that the run wrote says what its scripts are.",
        "npm --prefix scratch run t",
        "npm run hi",
        created=("scratch/package.json",),
    ),
    _rule(
        "scratch.settings",
        _SCRATCH,
        "Settings that the run wrote can name programs.",
        "npm run hi",
        "node src/app.mjs",
        created=(".npmrc",),
    ),
    _rule(
        "scratch.program",
        _SCRATCH,
        _RUNS_SCRATCH,
        "npm run own",
        "npm run old",
        scripts={"own": "./scratch/a.mjs", "old": "./scratch/old.mjs"},
        created=_A,
    ),
    _rule(
        "scratch.shell",
        _SCRATCH,
        _RUNS_SCRATCH,
        "npm run own",
        "npm run old",
        scripts={"own": "sh scratch/a.mjs", "old": "sh scratch/old.mjs"},
        created=_A,
    ),
    _rule(
        "scratch.tool",
        _SCRATCH,
        _RUNS_SCRATCH,
        "pnpm exec own",
        "pnpm exec eslint",
        created=("node_modules/.bin/own",),
    ),
    _rule(
        "scratch.tool.file",
        _SCRATCH,
        _RUNS_SCRATCH,
        "pnpm exec vitest scratch/a.mjs",
        "pnpm exec vitest scratch/old.mjs",
        created=_A,
    ),
    _rule("scratch.task", _SCRATCH, _RUNS_SCRATCH, "mise run x", "mise run y", created=("mise-tasks/x",)),
    _rule(
        "scratch.git-dir",
        _SCRATCH,
        "A folder shaped like a repository brings settings of its own.",
        "git --git-dir=scratch/r log",
        "git --git-dir=.git log",
        created=("scratch/r/HEAD", "scratch/r/config"),
    ),
)

_CLOSED = "Unknown is refused: a grammar per verb."

_STRICT = (
    _rule("strict.git.verb", _BIN, _CLOSED, "git fast-import", "git log"),
    _rule("strict.git.option", _BIN, _CLOSED, "git commit --trailer=a=b -m x", "git commit --mess x"),
    _rule(
        "strict.git.value", _BIN, "Values that choose programs are lists.", "git merge -s zz x", "git merge -s ours x"
    ),
    _rule("strict.git.global", _BIN, _CLOSED, "git --namespace=x log", "git --no-pager log"),
    _rule("strict.git.config", _BIN, "Settings are read, not made.", "git config user.name x", "git config user.name"),
    _rule("strict.git.operand", _BIN, _CLOSED, "git stash clear x", "git stash clear"),
    _rule("strict.git.path", _OUTSIDE, "git works in the clone.", "git add ../x", "git add src/../x"),
    _rule(
        "strict.git.folder",
        _BIN,
        "A repository within brings settings of its own.",
        "git -C src/r status",
        "git -C src status",
        created=("src/r/HEAD",),
    ),
    _rule(
        "strict.pinned",
        _SCRATCH,
        "What says which programs start is the base commit's.",
        "npm run hi",
        "npm --version",
        changed="package.json",
    ),
    _rule("strict.script", _BIN, "Scripts are those of the base commit.", "npm run nope", "npm run hi"),
    _rule("strict.package.verb", _BIN, _CLOSED, "pnpm exec vitest", "pnpm run hi"),
    _rule("strict.package.option", _BIN, _CLOSED, "npm --workspaces run hi", "npm --silent run hi"),
    _rule("strict.package.path", _OUTSIDE, "Scripts run in the clone.", "npm --prefix .. ls", "npm --prefix src ls"),
    _rule("strict.node.option", _BIN, "A file, and no program in words.", "node -e 1", "node --no-warnings build.mjs"),
    _rule("strict.node.value", _BIN, _CLOSED, "node --test --test-reporter=./r.mjs", "node --test --test-reporter=tap"),
    _rule("strict.node.file", _BIN, "A file that is there.", "node src/nope.mjs", "node src/app"),
    _rule("strict.node.path", _OUTSIDE, "A file of the clone.", "node /usr/lib/x.js", "node /workspace/src/app.mjs"),
    _rule(
        "strict.node.changed",
        _SCRATCH,
        "A file that the run changed outside the full-write paths is as good as a new one.",
        "node build.mjs",
        "node src/app.mjs",
        changed="build.mjs",
    ),
    _rule("strict.mise.verb", _BIN, _CLOSED, "mise doctor", "mise ls"),
    _rule("strict.mise.option", _BIN, _CLOSED, "mise run --tool=x t", "mise run --quiet t"),
    _rule("strict.mise.task", _BIN, "One task in a call.", "mise run a ::: b", "mise run a b"),
)

BUILTIN_RULES: tuple[BuiltinRule, ...] = (*_FORM, *_GIT, *_LAUNCHERS, *_TYPECHECKS, *_SCRATCHES, *_STRICT)
"""All rules of both presets, those that always hold first."""
