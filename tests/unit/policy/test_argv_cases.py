"""The conformance cases that argv alone decides, each as it was handed over."""

from __future__ import annotations

import time

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import FakeTree, code_of, decide

PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED
BIN = ErrorCode.BIN_NOT_ALLOWLISTED
TYPECHECK = ErrorCode.DIRECT_TYPECHECK_REFUSED
SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED

CASES: list[tuple[str, list[str], ErrorCode | None]] = [
    ("G01", ["git", "push", "origin", "HEAD"], PUSH),
    ("G03", ["git", "-C", ".", "push", "origin", "HEAD:main"], PUSH),
    ("G05", ["git", "-c", "alias.up=push", "up", "origin", "HEAD"], PUSH),
    ("G07", ["git", "config", "alias.up", "push"], PUSH),
    ("G09", ["git", "send-pack", "http://h/r", "HEAD:refs/heads/agent/x1"], PUSH),
    ("G11", ["git", "for-each-repo", "--config=multi.r", "push", "origin", "HEAD"], PUSH),
    ("G13", ["git", "rebase", "--exec", "git push origin HEAD", "HEAD~1"], PUSH),
    ("G15", ["git", "fetch", "--upload-pack=touch /tmp/pwn;git-upload-pack", "."], BIN),
    ("G17", ["git", "grep", "--open-files-in-pager=touch /tmp/pwn #", "export"], BIN),
    ("G19", ["git", "-c", "core.fsmonitor=touch /tmp/pwn; true", "status"], BIN),
    ("G21", ["pnpm", "git", "push", "origin", "HEAD"], PUSH),
    ("G23", ["git", "stash", "push", "-m", "wip"], None),
    ("H01", ["git", "commit", "--no-verify", "-m", "x"], HOOKS),
    ("H03", ["git", "commit", "-n", "-m", "x"], HOOKS),
    ("H05", ["git", "-c", "core.hooksPath=/dev/null", "commit", "-m", "x"], HOOKS),
    ("H07", ["git", "--config-env=core.hooksPath=HOME", "commit", "-m", "x"], HOOKS),
    ("H09", ["git", "config", "core.hooksPath", "/dev/null"], HOOKS),
    ("H15", ["git", "commit", "-uno", "-m", "x"], None),
    ("H17", ["git", "cherry-pick", "-n", "HEAD~1"], None),
    ("B03", ["bash", "-lc", "git status"], BIN),
    ("B05", ["/usr/bin/git", "status"], BIN),
    ("B07", ["npm", "exec", "--", "sh", "-c", "touch /tmp/pwn"], BIN),
    ("B09", ["mise", "x", "--", "sh", "-c", "touch /tmp/pwn"], BIN),
    ("B11", ["pnpm", "dlx", "left-pad"], BIN),
    ("B13", ["npm", "config", "set", "script-shell", "/workspace/src/run.sh", "--location=project"], BIN),
    ("B15", ["node", "-e", "require('fs').writeFileSync('.github/x.yml','a')"], None),
    ("B17", ["node"], None),
    ("B19", ["git", "log", "--grep=$(touch /tmp/pwn); touch /tmp/pwn && x", "-1"], None),
    ("B23", ["git", "status"], None),
    ("T01", ["pnpm", "exec", "tsc", "--noEmit"], TYPECHECK),
    ("T03", ["node", "node_modules/typescript/bin/tsc", "--noEmit"], TYPECHECK),
    ("T05", ["pnpm", "run", "typecheck"], TYPECHECK),
    ("T05", ["mise", "run", "typecheck"], None),
    ("T05", ["mise", "run", "os:red", "7"], None),
    ("S01", ["node", "scratch/a.mjs"], SCRATCH),
    ("S03", ["node", "--import=./scratch/a.mjs", "src/app.mjs"], SCRATCH),
    ("S05", ["npm", "--prefix", "scratch", "run", "t"], SCRATCH),
    ("S07", ["node", "-e", "require('fs').writeFileSync('scratch/c.mjs','console.log(1)')"], None),
    ("S07", ["node", "scratch/c.mjs"], SCRATCH),
    ("S09", ["node", "scratch/old.mjs"], None),
    ("S11", ["git", "-c", "core.hooksPath=scratch/hooks", "status"], HOOKS),
    ("C13", ["git", "--work-tree=/etc", "add", "passwd"], ErrorCode.PATH_OUTSIDE_WORKSPACE),
    ("exec-path", ["git", "--exec-path=/workspace/scratch", "zz"], BIN),
    ("log --output", ["git", "log", "-1", "--output=src/app.mjs"], BIN),
    ("editor", ["git", "commit"], None),
    ("editor", ["git", "rebase", "-i", "HEAD~1"], None),
]


def _tree() -> FakeTree:
    made = {"scratch/a.mjs": "", "scratch/c.mjs": "", "scratch/package.json": '{"scripts":{"t":"echo x"}}'}
    return FakeTree(created=made)


@pytest.mark.parametrize(("name", "argv", "code"), CASES)
def test_case_is_decided_as_the_contract_says(name: str, argv: list[str], code: ErrorCode | None) -> None:
    assert code_of(argv, _tree()) is code, name


@pytest.mark.parametrize(("name", "argv", "code"), CASES)
def test_every_refusal_names_its_rule_and_a_way_out(name: str, argv: list[str], code: ErrorCode | None) -> None:
    decision = decide(argv, _tree())
    assert decision.rule
    assert decision.allowed == (code is None), name
    if not decision.allowed:
        assert decision.rule in decision.message
        assert decision.hint


def test_long_git_argv_is_decided_quickly() -> None:
    # CPU time, not wall clock. The promise is a millisecond for an ordinary argv; a long one may take five.
    argv = ["git", "-c", "user.name=x", "-C", "src", "log", "--grep=a", *[f"path{n}" for n in range(100)]]
    decide(argv)
    start = time.process_time()
    for _ in range(50):
        decide(argv)
    assert (time.process_time() - start) / 50 < 0.005
