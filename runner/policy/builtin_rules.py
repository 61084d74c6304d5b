"""The rules for command lines that ship, as data: what each refuses and why, with an example and a near miss.

The checkers decide; this table says in one place what they say, for people and for `runner policy show`. A test runs
every example, and another one finds rule ids in the checkers that are not here.
"""

from __future__ import annotations

from runner.model.errors import ErrorCode
from runner.policy.builtin_rule import BuiltinRule, rule
from runner.policy.scratch_rules import SCRATCH_RULES
from runner.policy.strict_rules import STRICT_RULES

__all__ = ["BUILTIN_RULES", "BuiltinRule"]

_PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
_HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED
_BIN = ErrorCode.BIN_NOT_ALLOWLISTED
_TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED
_OUTSIDE = ErrorCode.PATH_OUTSIDE_WORKSPACE

_CHAIN = {f"a{number}": f"a{number + 1}" for number in range(25)} | {"a25": "status"}

_FORM = (
    rule("argv.required", ErrorCode.ARGV_REQUIRED, "An argv is a non-empty list of words.", (), "git status"),
    rule(
        "argv.form",
        ErrorCode.INVALID_ARGUMENTS,
        "Words with a NUL, or more than a program takes, can be passed to none.",
        ("git", "log", "a\0b"),
        "git log ab",
    ),
    rule("argv.bin", _BIN, "Only the policy's programs start, by bare name.", "/usr/bin/git status", "git status"),
    rule(
        "argv.depth",
        _BIN,
        "A chain of launchers longer than any honest one is not followed.",
        "git " + "for-each-repo --config=x " * 14 + "status",
        "git for-each-repo --config=x status",
    ),
    rule(
        "argv.size",
        _BIN,
        "A decision looks at a bounded number of files.",
        ("node", "--test", *(f"src/{number}.test.mjs" for number in range(3000))),
        "node --test src/app.mjs",
    ),
    rule(
        "argv.default",
        None,
        "What no rule refuses runs as given (preset default).",
        "git push",
        "git status",
    ),
    rule(
        "argv.strict",
        None,
        "What the grammars know runs in its canonical spelling (preset strict).",
        "git instaweb",
        "git status",
    ),
)

_GIT = (
    rule(
        "git.push.verb",
        _PUSH,
        "Pushes leave through workspace.git_push alone, whose credential no command can reach.",
        "git -C . push origin HEAD",
        "git stash push -m wip",
    ),
    rule(
        "git.config.autocorrect",
        _PUSH,
        "With autocorrection a misspelt verb is run as another one.",
        "git -c help.autocorrect=1 status",
        "git -c help.autocorrect=never status",
    ),
    rule(
        "git.hooks.option",
        _HOOKS,
        "The repository's hooks run.",
        "git commit --no-verif -m x",
        "git commit -uno -m x",
    ),
    rule(
        "git.hooks.config",
        _HOOKS,
        "Another hooks folder is another set of hooks, or none.",
        "git -c core.hooksPath=/dev/null commit -m x",
        "git -c core.quotePath=false commit -m x",
    ),
    rule(
        "git.hooks.environment",
        _HOOKS,
        "A script may not switch the hooks off either.",
        "npm run quiet",
        "npm run loud",
        scripts={"quiet": "HUSKY=0 git commit -m x", "loud": "git commit -m x"},
    ),
    rule(
        "git.hooks.manager",
        _HOOKS,
        "Uninstalling the hook manager skips all hooks to come.",
        "npm run off",
        "npm run on",
        scripts={"off": "husky uninstall", "on": "husky"},
    ),
    rule(
        "git.hooks.path",
        _HOOKS,
        "What is written into git's own folder replaces the hooks.",
        "git checkout-index --prefix=.git/hooks/ -a",
        "git checkout-index -a",
    ),
    rule(
        "git.hooks.mise",
        _HOOKS,
        "A generated hook takes the place of the repository's.",
        "mise generate git-pre-commit --write",
        "mise generate git-pre-commit",
    ),
    rule("git.hooks.npm", _HOOKS, "npm commits too.", "npm version patch --no-commit-hooks", "npm version patch"),
    rule("git.verb.path", _BIN, "A verb with a slash is the path of a program.", "git /../scratch/x", "git describe"),
    rule("git.verb.program", _BIN, "These verbs start other programs.", "git daemon", "git describe"),
    rule(
        "git.address.helper",
        _BIN,
        "An ext:: or fd:: address is a program.",
        "git fetch ext::x",
        "git fetch origin",
    ),
    rule(
        "git.option.output",
        _BIN,
        "An output file is written around the write rules.",
        "git log -1 --output=src/app.mjs",
        "git log -1 --oneline",
    ),
    rule(
        "git.option.program",
        _BIN,
        "The option's value is a program.",
        "git fetch --upload-pack=x .",
        "git fetch --depth=1 origin",
    ),
    rule(
        "git.option.shell",
        _BIN,
        "The option's value is a shell line.",
        "git rebase --exec make HEAD~1",
        "git rebase HEAD~1",
    ),
    rule("git.exec-path", _BIN, "git would take its programs from there.", "git --exec-path=x log", "git --exec-path"),
    rule("git.path.outside", _OUTSIDE, "git works in the clone.", "git -C /etc status", "git -C src status"),
    rule(
        "git.config.program",
        _BIN,
        "The setting's value is a program or a shell line.",
        "git -c core.pager=sh log",
        "git -c core.pager=cat log",
    ),
    rule(
        "git.config.include",
        _HOOKS,
        "An included file may hold any setting.",
        "git -c include.path=x log",
        "git -c include.path= log",
    ),
    rule(
        "git.config.section",
        _BIN,
        "Under another section's name a setting may name a program.",
        "git config --rename-section user alias",
        "git config --rename-section user author",
    ),
    rule(
        "git.config.worktree",
        _BIN,
        "git works in the clone.",
        "git config core.worktree /etc",
        "git config core.worktree .",
    ),
    rule("git.config.edit", _BIN, "An editor is a program.", "git config --edit", "git config --list"),
    rule(
        "git.alias.shell", _BIN, "A shell alias is a shell line.", "git config alias.x !make", "git config alias.x log"
    ),
    rule(
        "git.alias.unreadable",
        _BIN,
        "An alias out of the environment cannot be judged.",
        "git --config-env=alias.x=HOME x",
        "git -c alias.x=log x",
    ),
    rule(
        "git.alias.value",
        _BIN,
        "An alias may stand for no refused command.",
        "git config alias.x 'grep -Oless x'",
        "git config alias.x 'grep -n x'",
    ),
    rule(
        "git.alias.elsewhere",
        _BIN,
        "What a verb stands for in another repository is not read.",
        "git -C src up",
        "git -C src log",
    ),
    rule("git.alias.depth", _BIN, "A longer chain of aliases is not followed.", "git a0", "git a20", aliases=_CHAIN),
)

_LAUNCHERS = (
    rule("launcher.fetch", _BIN, "A fetched program is nobody's choice.", "npm init left", "npm init"),
    rule("launcher.program", _BIN, "Editors and the like are programs.", "npm edit left", "npm ls left"),
    rule("launcher.shell", _BIN, "No shell, ever.", "npm exec -- sh -c x", "npm exec -- vitest"),
    rule(
        "launcher.unlisted",
        _BIN,
        "A launcher starts what the repository installed, nothing else.",
        "pnpm exec curl",
        "pnpm exec eslint",
    ),
    rule(
        "mise.generate",
        _BIN,
        "Generated files are workflows and programs.",
        "mise generate github-action --write",
        "mise generate github-action",
    ),
    rule("npm.command", _BIN, "npm has no such command.", "npm zzz", "npm ls"),
    rule(
        "package.setting.program",
        _BIN,
        "The setting's value is a program.",
        "npm --script-shell=x run hi",
        "npm --silent run hi",
    ),
    rule(
        "package.setting.node-options",
        _BIN,
        "Node's options can load code.",
        "npm --node-options=--title=a/b run hi",
        "npm --node-options=--no-warnings run hi",
    ),
    rule("environment.program", _BIN, "git reads programs from it.", "mise set GIT_SSH_COMMAND=x", "mise set COLOUR=x"),
    rule(
        "argv.node.output",
        _BIN,
        "Files that node itself writes stay within the full-write paths.",
        "node --redirect-warnings=README.md src/app.mjs",
        "node --redirect-warnings=src/w.txt src/app.mjs",
    ),
    rule(
        "mise.setting",
        _BIN,
        "What mise trusts is fixed.",
        "mise settings paranoid=false",
        "mise settings get paranoid",
    ),
    rule(
        "mise.trust", _BIN, "Configurations are trusted as the base commit has them.", "mise trust", "mise trust --show"
    ),
)

_TYPECHECKS = (
    rule(
        "typecheck.program",
        _TYPECHECK,
        "The verification task typechecks; it knows with which settings.",
        "pnpm exec tsc --noEmit",
        "pnpm exec eslint .",
    ),
    rule("typecheck.script", _TYPECHECK, "The same under a script's name.", "pnpm run typecheck", "pnpm run hi"),
    rule(
        "typecheck.path",
        _TYPECHECK,
        "The same by the file.",
        "node node_modules/typescript/bin/tsc",
        "node node_modules/left/index.js",
    ),
    rule(
        "typecheck.module",
        _TYPECHECK,
        "The same as a module.",
        "node --import=typescript/lib/tsc.js src/app.mjs",
        "node --import=left src/app.mjs",
    ),
)

BUILTIN_RULES: tuple[BuiltinRule, ...] = (*_FORM, *_GIT, *_LAUNCHERS, *_TYPECHECKS, *SCRATCH_RULES, *STRICT_RULES)
"""All rules of both presets, those that always hold first."""
