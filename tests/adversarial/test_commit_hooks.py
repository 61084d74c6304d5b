"""Hooks that disturb the repository: after the refused commit all is as before, or the answer says what is not.

The hooks run in the container, as the untrusted user. All of the first group share one run: each must leave the
ground as it found it, or the next one shows it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import P0, node, sh
from tests.support.cli import CliRun, Invocation, call, run_runner
from tests.support.repos import File, build_r0, executable, git

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

_NO_HOOKS = "git -c core.hooksPath=/dev/null"
_FORBIDDEN = "mkdir -p .github; echo x >.github/w; git add -f .github"

PRE = {
    "leaves a lock on the index": "touch .git/index.lock; exit 1",
    "leaves locks on refs": "touch .git/HEAD.lock .git/refs/heads/agent/x1.lock",
    "switches the branch": f"git symbolic-ref HEAD refs/heads/other; {_FORBIDDEN}",
    "switches the branch and commits there": f"git checkout -q -b other; {_NO_HOOKS} commit -qm own; exit 1",
    "makes the repository bare and moves the work tree": "git config core.worktree /tmp; git config core.bare true",
    "removes what the controller has in /tmp": "rm -rf /tmp/runner-*; exit 1",
    "adds a forbidden file": _FORBIDDEN,
    "resets and prunes": "git reset -q --hard; git reflog expire --expire=now --all; git gc -q --prune=now; exit 1",
    "closes a folder": "chmod 000 src; exit 1",
    "closes files and folders of git and of the tree": "chmod 000 src/lib/util.mjs src/lib .git/index .git; exit 1",
    "replaces a folder by a link": "rm -r src; ln -s /etc src; exit 1",
    "hides what it did by ignoring everything": "echo '*' >.gitignore; rm src/new.txt; touch x .hidden; exit 1",
    "fills the disk": "mkdir full; cat /dev/zero >full/x; exit 1",
}
POST = {
    "commits a forbidden file and takes it out again": f"{_FORBIDDEN}; {_NO_HOOKS} commit -qm evil; "
    f"git rm -qr .github; {_NO_HOOKS} commit -qm undo",
    "amends with a forbidden file": f"{_FORBIDDEN}; {_NO_HOOKS} commit -q --amend --no-edit",
    "switches the branch": "git checkout -q -b other",
}
HOOKS: dict[str, File | bytes | str | None] = {
    f".githooks/{name}": executable(f"#!/bin/sh\n[ -e /tmp/{name} ] || exit 0\nmv /tmp/{name} /tmp/now\n. /tmp/now\n")
    for name in ("pre-commit", "post-commit")
}
STATE = """
const fs = require('fs'), path = require('path'), hash = require('crypto').createHash('sha256');
(function walk(at) {
  for (const name of fs.readdirSync(at).sort()) {
    const file = path.join(at, name), info = fs.lstatSync(file);
    if (file === '.git/objects') continue;
    const data = info.isFile() ? fs.readFileSync(file) : info.isSymbolicLink() ? fs.readlinkSync(file) : '';
    hash.update(JSON.stringify([file, info.mode])).update(data);
    console.log(file, info.mode.toString(8));
    if (info.isDirectory()) walk(file);
  }
})('.');
console.log(hash.digest('hex'), fs.statSync('.').mode);
"""
_COMMIT = call("git_commit", message="x")
_PROBE = sh(*node(STATE))
_EDITS = [
    call("write_file", path="src/app.mjs", content="EDITED\n"),
    call("write_file", path="src/new.txt", content=""),
]


def _hook(name: str, script: str) -> Invocation:
    return sh(*node(f"require('fs').writeFileSync('/tmp/{name}', {json.dumps(script)})"))


def _shell(script: str) -> Invocation:
    return sh(
        *node(f"require('child_process').execFileSync('bash', ['-ec', {json.dumps(script)}], {{stdio:'inherit'}})")
    )


def _code(answer: dict[str, Any]) -> str:
    assert not answer["ok"], answer
    return str(answer["error"]["code"])


def _run(tmp_path: Path, calls: Sequence[Invocation], *, seconds: int = 60, status: str = "completed") -> CliRun:
    r0 = build_r0(tmp_path / "r0", extra=HOOKS)
    limits = {**P0["limits"], "commandSeconds": seconds}
    ran = run_runner(r0.remote, {**P0, "limits": limits}, calls, tmp_path, ref="agent/x1")
    assert ran.report["status"] == status, ran.stderr
    return ran


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """For each hook: the state before, the commit's answer, the state after."""
    names = [*PRE, *(f"post: {name}" for name in POST)]
    hooks = [_hook("pre-commit", script) for script in PRE.values()]
    hooks += [_hook("post-commit", script) for script in POST.values()]
    calls = [*_EDITS, *(item for hook in hooks for item in (hook, _PROBE, _COMMIT, _PROBE)), _COMMIT]
    ran = _run(tmp_path_factory.mktemp("hooks"), calls)
    quads = {name: ran.answers[2 + 4 * at : 6 + 4 * at] for at, name in enumerate(names)}
    return {**quads, "at last": ran.answers[-1:]}


@pytest.mark.parametrize("name", [*PRE, *(f"post: {name}" for name in POST)])
def test_after_the_refusal_everything_is_as_before_though_a_hook(
    answers: dict[str, list[dict[str, Any]]], name: str
) -> None:
    hook, before, refused, after = answers[name]
    assert hook["ok"] and before["result"]["code"] == 0, before
    assert _code(refused) in ("git_commit_failed", "workspace_commit_not_allowed")
    assert "restored" not in refused["error"]["details"], refused
    assert after["result"]["stdout"] == before["result"]["stdout"]
    assert (after["result"]["code"], after["result"]["stderr"]) == (0, "")


def test_after_all_those_hooks_the_same_work_is_committed(answers: dict[str, list[dict[str, Any]]]) -> None:
    assert answers["at last"][0]["result"]["files"] == ["src/app.mjs", "src/new.txt"]


@pytest.mark.parametrize("script", ["rm -rf .git; exit 1", "chmod 000 .; exit 1"], ids=["git's objects", "the root"])
def test_what_a_hook_destroyed_or_closed_for_good_is_said(tmp_path: Path, script: str) -> None:
    ran = _run(tmp_path, [*_EDITS, _hook("pre-commit", script), _COMMIT], status="lost")
    assert _code(ran.answers[-1]) == "git_commit_failed"
    details = ran.answers[-1]["error"]["details"]
    assert details["restored"] is False
    assert details["not_restored"]


def test_a_hook_that_outlives_its_time_limit_is_undone_too(tmp_path: Path) -> None:
    slow = "echo x >src/app.mjs; git add -A; sleep 60"
    ran = _run(tmp_path, [*_EDITS, _hook("pre-commit", slow), _PROBE, _COMMIT, _PROBE], seconds=3)
    before, refused, after = ran.answers[-3:]
    assert _code(refused) == "git_commit_failed"
    assert "restored" not in refused["error"]["details"]
    assert before["result"]["code"] == 0
    assert after["result"]["stdout"] == before["result"]["stdout"]


def test_a_merge_in_progress_survives_a_hook_that_adds_a_forbidden_file(tmp_path: Path) -> None:
    conflict = (
        f"git checkout -q -b up origin/main; echo one >>src/app.mjs; {_NO_HOOKS} commit -qam up; "
        f"git checkout -q agent/x1; echo two >>src/app.mjs; {_NO_HOOKS} commit -qam mine; git merge -q up || true"
    )
    calls = [_shell(conflict), _hook("pre-commit", _FORBIDDEN), _PROBE, _COMMIT, _PROBE]
    before, refused, after = _run(tmp_path, calls).answers[-3:]
    assert _code(refused) == "workspace_commit_not_allowed"
    assert ".git/MERGE_HEAD" in before["result"]["stdout"]
    assert after["result"]["stdout"] == before["result"]["stdout"]


def test_an_honest_merge_of_the_remote_is_committed_once_its_conflict_is_resolved(tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "r0", extra=HOOKS)
    work = tmp_path / "theirs"
    git(tmp_path, "clone", "--quiet", "--branch=main", str(r0.remote), str(work))
    (work / "README.md").write_text("theirs\n", encoding="utf-8")
    (work / "src/app.mjs").write_text("theirs\n", encoding="utf-8")
    git(work, "commit", "-qam", "theirs")
    git(work, "push", "-q", "origin", "main")
    mine = f"echo mine >src/app.mjs; {_NO_HOOKS} commit -qam mine; git merge -q origin/main || true"
    resolved = call("write_file", path="src/app.mjs", content="resolved\n")
    smuggled = call("run_command", argv=list(node("require('fs').writeFileSync('README.md', 'x')")))
    back = sh("git", "checkout", "MERGE_HEAD", "--", "README.md")
    calls = [_shell(mine), resolved, smuggled, _COMMIT, back, _COMMIT, call("git_push")]
    ran = run_runner(r0.remote, P0, calls, tmp_path, ref="agent/x1")
    assert _code(ran.answers[3]) == "workspace_commit_not_allowed"
    assert ran.answers[5]["ok"], ran.answers[5]
    assert ran.answers[6]["ok"], ran.answers[6]
    tip = git(r0.remote, "rev-parse", "agent/x1")
    assert len(git(r0.remote, "rev-list", "--parents", "-1", tip).split()) == 3
