"""A workspace as the argv policy sees it, in memory: files, what the run made of them, and git's aliases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import EntryKind
from runner.policy.argv import ArgvPolicy, decide_argv
from runner.policy.argv_values import Phase

BINS = frozenset({"git", "pnpm", "npm", "node", "mise"})
SCRIPTS = {
    "hi": "echo hi",
    "test": "node --test tests",
    "typecheck": "tsc --noEmit",
    "build": "node build.mjs",
    "check": "tsc -p .",
    "ship": "git push origin HEAD",
    "quiet": "HUSKY=0 git commit -m x",
    "ci:install": "HUSKY=0 npm ci",
}
ORIGINAL = {
    "src/app.mjs": "export const a = 1;",
    "scratch/old.mjs": "",
    "build.mjs": "",
    "package.json": json.dumps({"scripts": SCRIPTS}),
    "node_modules/.bin/vitest": "",
    "node_modules/.bin/eslint": "",
    "node_modules/.bin/tsc": "",
    "node_modules/.bin/git": "",
    "node_modules/.bin/sh": "",
    "node_modules/.bin/cross-env": "",
    "node_modules/typescript/bin/tsc": "",
    "node_modules/left/index.js": "",
}


@dataclass
class FakeTree:
    """`TreeView` over two dicts; every question is counted."""

    original: dict[str, str] = field(default_factory=lambda: dict(ORIGINAL))
    created: dict[str, str] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    questions: int = 0

    def kind(self, path: str) -> EntryKind | None:
        self.questions += 1
        files = {**self.original, **self.created}
        if path in files:
            return EntryKind.FILE
        if path == "." or any(name.startswith(f"{path}/") for name in files):
            return EntryKind.DIR
        return None

    def read_text(self, path: str) -> str | None:
        self.questions += 1
        return {**self.original, **self.created}.get(path)

    def created_by_run(self, path: str) -> bool:
        self.questions += 1
        return path in self.created

    def changed_by_run(self, path: str) -> bool:
        self.questions += 1
        return path in self.changed

    def git_aliases(self) -> Mapping[str, str]:
        self.questions += 1
        return self.aliases


def full_write(path: str) -> bool:
    """The full-write paths of the handed policy: src, tests and package.json."""
    return path.startswith(("src/", "tests/")) or path == "package.json"


def decide(argv: Sequence[str], tree: FakeTree | None = None, phase: Phase = "run") -> Decision:
    """What the policy says about the argv over the tree."""
    tree = tree or FakeTree()
    policy = ArgvPolicy(BINS, "os:red", full_write, lambda: tuple(tree.created))
    return decide_argv(argv, policy, tree, phase=phase)


def code_of(argv: Sequence[str], tree: FakeTree | None = None, phase: Phase = "run") -> ErrorCode | None:
    """The code of the refusal; None when the argv may run."""
    return decide(argv, tree, phase).code
