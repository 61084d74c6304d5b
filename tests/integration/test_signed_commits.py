"""Signed commits: what is signed is what was judged and nothing else, and the key is met by the gate alone."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.gate.commit_object import CommitObject, Expected, object_name, reason_not_to_sign, with_signature
from runner.model.errors import ErrorCode, ToolError
from tests.support.cases import P0, sh
from tests.support.cli import CliRun, Invocation, call, run_runner
from tests.support.local_repo import Repo, repo
from tests.support.repos import R0, build_r0, executable, git, git_environment

__all__ = ["repo"]

ARMOURED = b"-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"
NO_HOOKS = "git -c core.hooksPath=/dev/null"
ONCE = "[ -e ../once ] && exit; touch ../once; "


@dataclass
class Signs:
    """Signs what Ada may have made in 2023, and remembers it."""

    signed: list[CommitObject] = field(default_factory=list)

    def __call__(self, commit: CommitObject, parents: tuple[str, ...]) -> bytes:
        reason = reason_not_to_sign(commit, Expected(parents, "Ada", "ada@example.com", 1.7e9, 1.7e9))
        if reason is not None:
            raise ToolError(ErrorCode.GIT_COMMIT_FAILED, reason)
        self.signed.append(commit)
        return with_signature(commit, ARMOURED)


def test_the_signed_form_of_the_judged_commit_takes_its_place(repo: Repo) -> None:
    start = git(repo.root, "rev-parse", "HEAD")
    signs = Signs()
    made = repo.commit(sign=signs).commit

    (plain,) = signs.signed
    assert made == object_name(with_signature(plain, ARMOURED)) == git(repo.root, "rev-parse", "refs/heads/main")
    assert git(repo.root, "rev-parse", f"{made}^", f"{made}^{{tree}}").split() == [start, plain.tree]
    assert git(repo.root, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(repo.root, "status", "--porcelain") == ""
    git(repo.root, "fsck", "--strict")


def test_a_first_commit_and_one_on_no_branch_are_signed_too(repo: Repo) -> None:
    git(repo.root, "checkout", "--quiet", "--detach")
    detached = repo.commit(sign=Signs()).commit
    assert git(repo.root, "rev-parse", "HEAD") == detached != git(repo.root, "rev-parse", "main")
    git(repo.root, "checkout", "--quiet", "--orphan", "new")
    git(repo.root, "rm", "-q", "-f", "README")
    first = repo.commit(sign=Signs()).commit
    assert git(repo.root, "rev-list", "--parents", "new") == first


def test_what_a_hook_made_of_the_message_is_signed(repo: Repo) -> None:
    repo.hook("commit-msg", "printf 'in\\n\\nother words\\n' >$1")
    signs = Signs()
    made = repo.commit(sign=signs).commit
    assert git(repo.root, "log", "-1", "--format=%B", made) == "in\n\nother words"


def test_locks_that_a_hook_leaves_do_not_stop_the_signature(repo: Repo) -> None:
    repo.hook("post-commit", "touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock")
    assert repo.commit(sign=Signs()).commit == git(repo.root, "rev-parse", "main")


NOT_SIGNED = {
    "by another author": f"{NO_HOOKS} commit -q --amend --no-edit --author 'Eve <eve@example.com>'",
    "by another committer": f"GIT_COMMITTER_NAME=Eve {NO_HOOKS} commit -q --amend --no-edit",
    "at another time": f"GIT_COMMITTER_DATE='1600000000 +0000' {NO_HOOKS} commit -q --amend --no-edit",
    "at another author's time": f"{NO_HOOKS} commit -q --amend --no-edit --date '1600000000 +0000'",
    "in another encoding": f"{NO_HOOKS} -c i18n.commitEncoding=latin1 commit -q --amend --no-edit",
    "with a header of its own": "new=$(git cat-file commit HEAD | sed 's/^committer.*/&\\ngpgsig x/' "
    "| git hash-object -t commit -w --stdin); git update-ref HEAD $new",
    "on another parent": "git update-ref HEAD $(git commit-tree -m other -p HEAD^ -p HEAD HEAD^{tree})",
    "beside one more": f"{NO_HOOKS} commit -q --allow-empty -m more",
    "on another branch": "git symbolic-ref HEAD refs/heads/other; git update-ref HEAD main",
    "with a file that is not allowed": f"echo x >evil; git add evil; {NO_HOOKS} commit -q --amend --no-edit",
}


@pytest.mark.parametrize("script", NOT_SIGNED.values(), ids=NOT_SIGNED.keys())
def test_a_hook_gets_nothing_signed_that_was_made(repo: Repo, script: str) -> None:
    """Asset: the operator's signature. Attack: a hook replaces the commit. Expected: refused, all as it was."""
    repo.hook("post-commit", ONCE + script)
    before, signs = repo.state(), Signs()
    error = repo.refused(sign=signs)

    assert error.code in (ErrorCode.GIT_COMMIT_FAILED, ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED)
    assert signs.signed == []
    assert "restored" not in error.details
    assert repo.state() == before


def test_an_amendment_within_the_policy_is_judged_and_signed(repo: Repo) -> None:
    amend = f"echo x >src/more; git add src/more; {NO_HOOKS} commit -q --amend -m amended"
    repo.hook("post-commit", ONCE + amend)
    signs = Signs()
    made = repo.commit(sign=signs)
    assert made.files == ("src/app", "src/more", "src/staged")
    assert repo.judged[-1] == made.files
    assert git(repo.root, "rev-parse", f"{made.commit}^{{tree}}") == signs.signed[0].tree


def test_an_object_store_that_lies_about_the_commit_gets_nothing_signed(repo: Repo) -> None:
    """Asset: the signature. Attack: other bytes stand under the commit's name. Expected: refused."""
    lie = (
        "o=$(git rev-parse HEAD); p=.git/objects/$(echo $o | sed 's|^..|&/|'); "
        "e=$(git cat-file commit HEAD | sed s/^message/forged/ | git hash-object -t commit -w --stdin); "
        "chmod u+w $p; cp .git/objects/$(echo $e | sed 's|^..|&/|') $p"
    )
    repo.hook("post-commit", ONCE + lie)
    signs = Signs()
    assert repo.refused(sign=signs).code is ErrorCode.GIT_COMMIT_FAILED
    assert signs.signed == []


def test_without_a_signature_nothing_is_committed(repo: Repo) -> None:
    def fails(_commit: CommitObject, _parents: tuple[str, ...]) -> bytes:
        raise ToolError(ErrorCode.GIT_COMMIT_FAILED, "no key")

    before = repo.state()
    assert "restored" not in repo.refused(sign=fails).details
    assert repo.state() == before


# Whole runs, with ssh's own key and git's own verification.

in_a_run = pytest.mark.usefixtures("docker_engine")
EDIT = call("edit", path="src/app.mjs", oldString="1", newString="2")
COMMIT = call("git_commit", message="two")
LOOK = (
    "const fs=require('fs');const seen=[JSON.stringify(process.env)];"
    "const walk=d=>{let l=[];try{l=fs.readdirSync(d,{withFileTypes:true})}catch{};"
    "for(const e of l){const p=d+'/'+e.name;"
    "try{if(e.isDirectory())walk(p);else if(e.isFile())seen.push(fs.readFileSync(p,'latin1'))}catch{}}};"
    "for(const d of ['/workspace','/home/agent','/tmp','/run','/dev/shm','/etc'])walk(d);"
    "for(const p of fs.readdirSync('/proc'))for(const f of ['environ','cmdline'])"
    "try{seen.push(fs.readFileSync(`/proc/${p}/${f}`,'latin1'))}catch{};"
    "const all=seen.join('\\n');"
    "console.log(process.argv.slice(1).map(s=>all.includes(Buffer.from(s,'base64').toString())).join())"
)


@dataclass(frozen=True)
class Key:
    """A key pair of ssh's, and the file that says for whom it signs."""

    private: Path
    allowed: Path

    @property
    def secret(self) -> str:
        """A line that is in this private key alone."""
        return self.private.read_text(encoding="ascii").splitlines()[3]


def new_key(folder: Path, *, passphrase: str = "", kind: tuple[str, ...] = ("-t", "ed25519")) -> Key:
    folder.mkdir()
    private = folder / "key"
    argv = ["ssh-keygen", "-q", *kind, "-N", passphrase, "-C", "operator", "-f", str(private)]
    subprocess.run(argv, check=True, capture_output=True)
    allowed = folder / "allowed"
    public = (folder / "key.pub").read_text(encoding="ascii")
    allowed.write_text(f'runner@localhost namespaces="git" {public}', encoding="ascii")
    return Key(private, allowed)


def signing(source: Mapping[str, Any]) -> dict[str, Any]:
    return {**P0, "commit": {"sign": {"ssh": dict(source)}}}


def verified(repository: Path, commit: str, key: Key) -> bool:
    trust = ["-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={key.allowed}"]
    argv = ["git", f"--git-dir={repository}", *trust, "verify-commit", commit]
    return subprocess.run(argv, env=git_environment(repository), capture_output=True, check=False).returncode == 0


def ran(r0: R0, tmp_path: Path, policy: Mapping[str, Any], *calls: Invocation, **environment: str) -> CliRun:
    return run_runner(r0.remote, policy, calls, tmp_path, ref=r0.branch, environment=environment)


def codes(run: CliRun) -> list[str | None]:
    return [None if answer["ok"] else answer["error"]["code"] for answer in run.answers]


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "r0")


@pytest.mark.docker
@in_a_run
def test_the_pushed_commit_verifies_and_the_workspace_never_met_the_key(r0: R0, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys")
    looked_for = [base64.b64encode(text.encode()).decode() for text in (key.secret, "repositoryformatversion")]
    merged = ("git", "merge", "--no-ff", "--no-commit", "origin/side")
    git(r0.path, "checkout", "--quiet", "-b", "side", "origin/main")
    (r0.path / "README.md").write_text("theirs\n", encoding="utf-8")
    git(r0.path, "commit", "--quiet", "-am", "side")
    git(r0.path, "push", "--quiet", "origin", "side")
    again = call("git_commit", message="again")
    run = ran(
        r0, tmp_path, signing({"file": str(key.private)}),
        EDIT, COMMIT, sh(*merged), again, again, call("git_push"), sh("git", "rev-parse", "HEAD"),
        sh("node", "-e", LOOK, *looked_for),
    )  # fmt: skip

    assert codes(run) == [None] * 8, run.answers
    made = [run.answers[number]["result"]["commit"] for number in (1, 3, 4)]
    assert git(r0.remote, "rev-parse", "agent/x1") == made[2] == run.answers[6]["result"]["stdout"].strip()
    assert git(r0.remote, "rev-list", "--topo-order", "agent/x1", f"^{r0.base}", "^side").split() == made[::-1]
    assert [verified(r0.remote, commit, key) for commit in (*made, r0.base)] == [True, True, True, False]
    assert not verified(r0.remote, made[0], new_key(tmp_path / "other"))
    assert run.answers[7]["result"]["stdout"].strip() == "false,true"
    state = Path(os.environ["RUNNER_STATE_DIR"])
    left = [path for folder in (run.out, state) for path in folder.rglob("*") if path.is_file()]
    assert [path for path in left if key.secret.encode() in path.read_bytes()] == []
    assert [room["role"] for room in run.report["gate"]["rooms"]] == ["gate", "sign", "judge"]
    assert [line["data"]["commit"] for line in run.audit if line["event"] == "commit.signed"] == made


@pytest.mark.docker
@in_a_run
def test_a_key_in_pem_form_in_a_variable_signs_and_a_hook_cannot_move_it_in_time(tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys", kind=("-t", "rsa", "-b", "2048", "-m", "PEM"))
    amend = "GIT_COMMITTER_DATE='1600000000 +0000' git commit -q --amend -C HEAD"
    backdate = f"#!/bin/sh\n[ -e /tmp/once ] && exit\ntouch /tmp/once\n{amend}\n"
    r0 = build_r0(tmp_path / "r0", extra={".githooks/post-commit": executable(backdate)})
    run = ran(
        r0, tmp_path, signing({"env": "SIGNING_KEY"}),
        EDIT, COMMIT, sh("git", "rev-parse", "HEAD"), COMMIT,
        SIGNING_KEY=key.private.read_text(encoding="ascii"),
    )  # fmt: skip

    assert codes(run) == [None, "git_commit_failed", None, None], run.answers
    assert run.answers[1]["error"]["details"]["rule"] == "commit.sign"
    assert run.answers[2]["result"]["stdout"].strip() == r0.base
    assert len([line for line in run.audit if line["event"] == "commit.signed"]) == 1


@pytest.mark.docker
@in_a_run
def test_a_key_that_cannot_sign_makes_no_commit(r0: R0, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys", passphrase="five words")
    run = ran(r0, tmp_path, signing({"file": str(key.private)}), EDIT, COMMIT, sh("git", "rev-parse", "HEAD"))

    assert codes(run) == [None, "git_commit_failed", None]
    assert "passphrase" in run.answers[1]["error"]["message"]
    assert run.answers[2]["result"]["stdout"].strip() == r0.base


@pytest.mark.docker
@in_a_run
def test_a_key_that_others_can_read_or_that_is_none_ends_the_run_before_it_starts(r0: R0, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys")
    key.private.chmod(0o644)
    token = tmp_path / "token"
    token.write_text("tok-FAKE\n", encoding="ascii")
    token.chmod(0o600)
    for file in (key.private, token, tmp_path / "none"):
        run = ran(r0, tmp_path, signing({"file": str(file)}), EDIT)
        assert (run.exit_code, run.answers) == (4, [])
        assert "credential_unavailable" in json.dumps(run.report)
        assert "gate" not in run.report


@pytest.mark.docker
@in_a_run
def test_where_the_gate_has_no_room_a_policy_that_signs_is_refused(r0: R0, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys")
    run = ran(r0, tmp_path, signing({"file": str(key.private)}), EDIT, RUNNER_GATE="host")
    assert (run.exit_code, run.answers) == (2, [])
    assert "gate_host_sign" in json.dumps(run.report)
