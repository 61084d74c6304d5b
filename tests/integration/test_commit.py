"""A commit in a real repository on this machine: what hooks do before a refusal is undone, or said.

The hooks are the tests' own. What needs a user without privileges, or a container, is in tests/adversarial.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runner.controller.guest_git import GuestGit
from runner.engine.contract import SpawnRequest, SpawnResult
from runner.engine.fake import FakeOutcome, FakeSandbox
from runner.model.errors import ErrorCode
from tests.support.local_repo import Repo, repo
from tests.support.repos import git

__all__ = ["repo"]


PRUNE = "git reset -q --hard; git reflog expire --expire=now --all; git gc -q --prune=now; exit 1"
HOSTILE = {
    "leaves a lock on the index": "touch .git/index.lock; exit 1",
    "leaves locks on refs": "touch .git/HEAD.lock .git/refs/heads/main.lock",
    "switches the branch": "git symbolic-ref HEAD refs/heads/other",
    "switches the branch and commits there": "git checkout -q -b other; "
    "git -c core.hooksPath=/dev/null commit -qm own; git branch third; exit 1",
    "makes the repository bare": "git config core.bare true",
    "moves the work tree": "git config core.worktree /tmp; exit 1",
    "ignores everything": "echo '*' >.git/info/exclude; rm src/staged; echo x >src/hidden; exit 1",
    "ignores everything in a tracked file": "echo '*' >.gitignore; git add .gitignore; rm src/app; exit 1",
    "removes what the controller has in /tmp": "rm -f /tmp/runner-scratch-*; exit 1",
    "adds a forbidden file": "mkdir -p .github; echo x >.github/w; git add -f .github",
    "resets and prunes": PRUNE,
    "makes a folder and an empty one": "mkdir -p new/deep empty; touch new/deep/x; exit 1",
    "replaces a folder by a link": "rm -r src; ln -s /etc src; exit 1",
    "replaces a file by a folder": "rm README; mkdir README; touch README/x; exit 1",
    "makes a file executable": "chmod 755 src/app; chmod 600 README; chmod 700 src; exit 1",
    "rewrites the hooks": "echo '#!/bin/sh' >.git/hooks/pre-commit; exit 1",
    "replaces the index by a folder": "rm .git/index; mkdir .git/index; exit 1",
}


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE.keys())
def test_after_a_refused_commit_everything_is_as_before_though_the_hook(repo: Repo, script: str) -> None:
    repo.hook("pre-commit", script)
    before = repo.state()
    error = repo.refused()
    assert "restored" not in error.details, error.message
    assert repo.state() == before
    git(repo.root, "fsck", "--connectivity-only")
    (repo.root / ".git/hooks/pre-commit").unlink()
    assert repo.commit().files == ("src/app", "src/staged")


@pytest.mark.parametrize(
    "script",
    [
        "mkdir .github; echo x >.github/w; git add -f .github; git -c core.hooksPath=/dev/null commit -qm evil; "
        "git rm -qr .github; git -c core.hooksPath=/dev/null commit -qm undo",
        "git -c core.hooksPath=/dev/null commit -q --allow-empty -m more",
        "git checkout -q -b other",
        "git update-ref HEAD $(git commit-tree -m root HEAD^{tree})",
        "mkdir .github; echo x >.github/w; git add -f .github; "
        "git -c core.hooksPath=/dev/null commit -q --amend --no-edit",
    ],
    ids=["a forbidden step and its undoing", "an empty one", "a switch", "a new root", "a forbidden amendment"],
)
def test_commits_that_a_post_commit_hook_adds_are_not_hidden_by_the_net_difference(repo: Repo, script: str) -> None:
    # The judge forbids what is outside src/; commits beyond the one are refused whatever they hold.
    repo.hook("post-commit", f"[ -e ../once ] && exit; touch ../once; {script}")
    before = repo.state()
    error = repo.refused()
    assert error.code in (ErrorCode.GIT_COMMIT_FAILED, ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED)
    assert "restored" not in error.details
    assert repo.state() == before


def test_an_amendment_by_a_post_commit_hook_within_the_policy_is_the_commit(repo: Repo) -> None:
    amend = "echo x >src/more; git add src/more; git -c core.hooksPath=/dev/null commit -q --amend --no-edit"
    repo.hook("post-commit", f"[ -e ../once ] && exit; touch ../once; {amend}")
    assert repo.commit().files == ("src/app", "src/more", "src/staged")


def test_a_lock_that_a_hook_leaves_behind_a_made_commit_does_not_stop_the_next_one(repo: Repo) -> None:
    repo.hook("post-commit", "touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock")
    first = repo.commit().commit
    assert git(repo.root, "rev-parse", f"{repo.commit().commit}^") == first


def test_the_output_of_a_failed_commit_is_what_the_hook_said_and_nothing_else(repo: Repo) -> None:
    repo.hook("pre-commit", "echo lint failed; exit 1")
    assert repo.refused().details["output"] == "lint failed"


def test_local_commits_that_a_hook_pruned_are_there_again(repo: Repo) -> None:
    git(repo.root, "branch", "side", git(repo.root, "commit-tree", "-p", "HEAD", "-m", "side", "HEAD^{tree}"))
    repo.hook("pre-commit", f"git checkout -q --orphan x; git branch -q -D main side; {PRUNE}")
    before = repo.state()
    assert "restored" not in repo.refused().details
    assert repo.state() == before
    assert git(repo.root, "rev-list", "--count", "main", "side") == "2"


def test_a_repository_that_a_hook_removed_is_said_to_be_not_restored(repo: Repo) -> None:
    git(repo.root, "update-ref", "refs/remotes/origin/main", "HEAD")  # so that its objects are not the run's own
    repo.hook("pre-commit", "rm -rf .git; exit 1")
    error = repo.refused()
    assert error.details["restored"] is False
    assert "git's objects" in error.details["not_restored"]


def test_the_content_of_a_changed_file_comes_back_to_the_byte_where_git_converts_line_ends(repo: Repo) -> None:
    (repo.root / "src/.gitattributes").write_text("mixed text\n")
    (repo.root / "src/mixed").write_bytes(b"one\r\ntwo\n")
    repo.hook("pre-commit", "printf 'one\\ntwo\\n' >src/mixed; exit 1")
    repo.refused()
    assert (repo.root / "src/mixed").read_bytes() == b"one\r\ntwo\n"


def _conflict(repo: Repo, *, forbidden: bool) -> None:
    """A merge of `up` in progress, conflicting in src/app and bringing README."""
    plain = ("-c", "core.hooksPath=/dev/null")
    git(repo.root, "checkout", "--quiet", "--force", "-b", "up")
    git(repo.root, "rm", "-q", "--force", "--ignore-unmatch", "src/staged")
    (repo.root / "src/app").write_text("theirs\n")
    if forbidden:
        (repo.root / "README").write_text("theirs\n")
    git(repo.root, *plain, "commit", "-qam", "up")
    git(repo.root, "checkout", "-q", "main")
    (repo.root / "src/app").write_text("ours\n")
    git(repo.root, *plain, "commit", "-qam", "mine")
    git(repo.root, *plain, "merge", "up", check=False)
    assert (repo.root / ".git/MERGE_HEAD").exists()


def test_a_merge_in_progress_survives_a_refusal_with_its_conflicts(repo: Repo) -> None:
    _conflict(repo, forbidden=False)
    repo.hook("pre-commit", HOSTILE["adds a forbidden file"])
    unmerged, before = git(repo.root, "ls-files", "--unmerged"), repo.state()
    assert repo.refused().code is ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED
    assert repo.state() == before
    assert git(repo.root, "ls-files", "--unmerged") == unmerged != ""


def test_a_resolved_merge_of_what_the_remote_had_introduces_only_the_resolution(repo: Repo) -> None:
    _conflict(repo, forbidden=True)
    (repo.root / "src/app").write_text("resolved\n")
    up = git(repo.root, "rev-parse", "up")
    made = repo.commit(known=lambda name: name == up)
    assert set(repo.judged) == {("src/app", "src/app")}  # once for each parent
    assert git(repo.root, "rev-list", "--parents", "-1", made.commit).split()[2] == up


def test_a_merge_of_commits_that_the_remote_never_had_is_judged_against_head(repo: Repo) -> None:
    _conflict(repo, forbidden=True)
    assert repo.refused().code is ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED


def test_a_file_smuggled_into_a_merge_of_what_the_remote_had_is_seen(repo: Repo) -> None:
    _conflict(repo, forbidden=True)
    (repo.root / "README").write_text("neither side's\n")
    assert repo.refused(known=lambda _commit: True).code is ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED


def test_a_commit_that_a_hook_takes_out_of_a_merge_is_refused(repo: Repo) -> None:
    _conflict(repo, forbidden=False)
    repo.hook("pre-commit", "rm .git/MERGE_HEAD")
    before = repo.state()
    assert repo.refused().code is ErrorCode.GIT_COMMIT_FAILED
    assert repo.state() == before


def test_the_first_commit_of_an_empty_history_is_judged_and_made(repo: Repo) -> None:
    git(repo.root, "checkout", "--quiet", "--orphan", "new")
    git(repo.root, "rm", "-q", "--cached", "README")
    (repo.root / "README").unlink()
    made = repo.commit()
    assert git(repo.root, "rev-list", "--count", made.commit) == "1"


def test_an_edit_of_the_same_size_right_after_the_index_was_written_is_seen(repo: Repo) -> None:
    path, long_ago = repo.root / "README", 1_600_000_000
    os.utime(path, (long_ago, long_ago))
    git(repo.root, "add", "-A")
    with path.open("r+") as file:
        file.write("READM")
    os.utime(path, (long_ago, long_ago))
    git(repo.root, "config", "core.trustctime", "false")
    os.utime(repo.root / ".git/index", (long_ago, long_ago))  # no older than the file, so git must look into it
    assert repo.refused().code is ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED


@pytest.mark.parametrize(
    "arrange",
    [
        lambda root: (root / ".git").rename(root.parent / "elsewhere") and (root / ".git").symlink_to("../elsewhere"),
        lambda root: git(root, "config", "core.worktree", "/tmp"),
        lambda root: git(root, "config", "core.bare", "true"),
        lambda root: shutil.rmtree(root / ".git"),
    ],
    ids=["a linked .git", "another work tree", "a bare repository", "no repository"],
)
def test_a_repository_that_is_not_the_workspaces_own_is_refused(repo: Repo, arrange: Callable[[Path], object]) -> None:
    arrange(repo.root)
    assert repo.refused().code is ErrorCode.GIT_COMMIT_FAILED


def test_a_hook_is_cut_at_the_runs_end_and_the_restoring_still_has_time_of_its_own(repo: Repo) -> None:
    left = iter([30.0] * 1000)
    repo.git = replace(repo.git, remaining=lambda: next(left))
    repo.hook("pre-commit", "echo x >src/app; touch src/new")
    before = repo.state()
    spawn = repo.sandbox.spawn

    def cut(request: SpawnRequest) -> SpawnResult:
        result = spawn(request)
        if "commit" in request.argv:
            nonlocal left
            left = iter(())  # whoever asks for the run's time from now on fails
            return replace(result, exit=None, timed_out=True)
        return result

    repo.sandbox.spawn = cut  # type: ignore[method-assign]
    error = repo.refused()
    assert error.details["output"] == "it ran into its time limit"
    assert "restored" not in error.details
    assert repo.state() == before
    assert max(request.deadline_seconds for request in repo.sandbox.requests[-5:]) <= 20.0


def test_no_call_of_git_outlives_the_run() -> None:
    sandbox = FakeSandbox({"git": lambda _call: FakeOutcome(seconds=2.0)})
    guest = GuestGit(sandbox, {"PATH": "/usr/bin"}, "/hooks", 30.0, lambda: 1.0)
    assert guest.run("status").timed_out
    assert guest.run("status", deadline_seconds=10.0).timed_out
    assert not replace(guest, remaining=lambda: 5.0).run("status").timed_out
