from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gate.credentials import CredentialKind, CredentialSource
from runner.gate.fetch import Fetched
from runner.gate.push import PushOutcome, PushStatus, push
from runner.gate.range import changes_of_range
from runner.gate.refs import branch_refusal
from runner.model.errors import ErrorCode, ToolError
from tests.support.gate import Gate
from tests.support.repos import R0, bare_repository, build_r0, git

Clone = Callable[[Fetched], Path]


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "work")


@pytest.fixture
def fetched(gate: Gate, r0: R0) -> Fetched:
    return gate.fetch(r0.remote, "agent/x1")


@pytest.fixture
def clone(fetched: Fetched, clone_of: Clone) -> Path:
    return clone_of(fetched)


def commit(clone: Path, message: str = "more") -> str:
    git(clone, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(clone, "rev-parse", "HEAD")


def refs(repository: Path) -> str:
    return git(repository, "for-each-ref")


def send(gate: Gate, fetched: Fetched, clone: Path, branch: str = "agent/x1") -> PushOutcome:
    with gate.take(fetched, clone) as quarantine:
        return push(gate.git, quarantine, fetched, branch)


def test_exactly_the_commit_reaches_exactly_the_branch(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    new = commit(clone)
    outcome = send(gate, fetched, clone)

    assert outcome.pushed
    assert git(r0.remote, "rev-parse", "agent/x1") == new
    assert git(r0.remote, "rev-parse", "main") == r0.main
    assert list(gate.scratch.iterdir()) == []


def test_a_new_branch_is_made(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    new = commit(clone)

    assert send(gate, fetched, clone, "agent/x2").status is PushStatus.PUSHED
    assert git(r0.remote, "rev-parse", "agent/x2") == new
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_pushing_again_changes_nothing(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    commit(clone)
    send(gate, fetched, clone)
    before = refs(r0.remote)
    outcome = send(gate, fetched, clone)

    assert (outcome.status, outcome.pushed) == (PushStatus.UP_TO_DATE, False)
    assert refs(r0.remote) == before


def test_nothing_new_is_no_failure(gate: Gate, fetched: Fetched, clone: Path) -> None:
    assert send(gate, fetched, clone).status is PushStatus.UP_TO_DATE


def test_after_a_push_only_what_is_newer_is_outgoing(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone)
    send(gate, fetched, clone)
    newer = commit(clone, "newer")
    with gate.take(fetched, clone) as quarantine:
        assert [item.commit for item in changes_of_range(quarantine, max_commits=10)] == [newer]


def test_a_remote_that_moved_ahead_is_not_overwritten(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    ahead = commit(r0.path, "theirs")
    git(r0.path, "push", "--quiet", "origin", "agent/x1")
    commit(clone)
    outcome = send(gate, fetched, clone)

    assert outcome.status is PushStatus.REFUSED
    assert "fetch first" in outcome.reason or "non-fast-forward" in outcome.reason
    assert git(r0.remote, "rev-parse", "agent/x1") == ahead


def test_history_is_not_rewritten(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    git(clone, "reset", "--quiet", "--hard", "HEAD~1")
    commit(clone)

    assert send(gate, fetched, clone).status is PushStatus.REFUSED
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_the_default_branch_is_refused_by_the_hosts_record(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    git(clone, "remote", "set-head", "origin", "agent/x1")
    commit(clone)
    with pytest.raises(ToolError) as refused:
        send(gate, fetched, clone, "main")

    assert refused.value.code is ErrorCode.DEFAULT_BRANCH_REFUSED
    assert git(r0.remote, "rev-parse", "main") == r0.main


@pytest.mark.parametrize("name", ["main", "Main", "master", "trunk"])
def test_no_record_of_the_default_branch_does_not_mean_that_none_is_protected(
    gate: Gate, r0: R0, name: str, clone_of: Clone
) -> None:
    git(r0.remote, "update-ref", "--no-deref", "HEAD", r0.main)
    fetched = gate.fetch(r0.remote, "agent/x1")
    clone = clone_of(fetched)
    commit(clone)
    before = refs(r0.remote)
    with pytest.raises(ToolError) as refused:
        send(gate, fetched, clone, name)

    assert fetched.default_branch is None
    assert refused.value.code is ErrorCode.DEFAULT_BRANCH_REFUSED
    assert refs(r0.remote) == before
    assert send(gate, fetched, clone, "agent/x2").pushed


def test_a_default_branch_that_is_yet_to_be_made_is_refused(gate: Gate, r0: R0, clone_of: Clone) -> None:
    git(r0.remote, "symbolic-ref", "HEAD", "refs/heads/first")
    fetched = gate.fetch(r0.remote, "agent/x1")
    clone = clone_of(fetched)
    commit(clone)
    with pytest.raises(ToolError) as refused:
        send(gate, fetched, clone, "first")

    assert refused.value.code is ErrorCode.DEFAULT_BRANCH_REFUSED
    assert send(gate, fetched, clone, "main2").pushed


BAD_NAMES = [
    "",
    "-x",
    "--mirror",
    "--receive-pack=touch /tmp/pwn",
    "+main",
    "a:refs/heads/main",
    ":main",
    "HEAD",
    "@",
    "refs/heads/main",
    "refs/x",
    "heads/main",
    "tags/v1",
    "remotes/origin/main",
    "refs",
    "a..b",
    "a b",
    "a\nb",
    "a\x7fb",
    "a~1",
    "a^",
    "a?",
    "a*",
    "a[b",
    "a\\b",
    "a@{0}",
    "a//b",
    "/a",
    "a/",
    "a.",
    "a.lock",
    "a.lock/b",
    ".a",
    "a/.b",
    "a" * 40,
    "x" * 201,
    "\udcff",
    "a\u202eb",
    "a\u200bb",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_branch_name_that_could_mean_something_else_is_refused(name: str) -> None:
    assert branch_refusal(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "agent/x1",
        "ünï",
        "a-b_c.d",
        "a@b",
        "a#1",
        "feature/'q'",
        "x" * 200,
        "mainline",
        "a" * 39,
        "HEADS",
        "a+",
        "headship/x",
        "a/heads",
    ],
)
def test_an_ordinary_branch_name_is_accepted(name: str) -> None:
    assert branch_refusal(name) is None


@pytest.mark.parametrize("name", ["--mirror", "main:main", "\udcff"])
def test_a_refused_branch_name_moves_nothing(gate: Gate, r0: R0, fetched: Fetched, clone: Path, name: str) -> None:
    commit(clone)
    before = refs(r0.remote)
    with pytest.raises(ToolError) as refused:
        send(gate, fetched, clone, name)

    assert refused.value.code is ErrorCode.GIT_PUSH_FAILED
    assert refs(r0.remote) == before


def hook(repository: Path, name: str, mark: Path) -> None:
    repository.mkdir(exist_ok=True)
    (repository / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
    (repository / name).chmod(0o755)


@pytest.mark.parametrize("name", ["pre-receive", "update", "post-receive", "post-update", "reference-transaction"])
def test_a_local_remote_with_a_hook_is_refused_and_the_hook_does_not_run(
    gate: Gate, r0: R0, fetched: Fetched, clone: Path, tmp_path: Path, name: str
) -> None:
    hook(r0.remote / "hooks", name, tmp_path / "pwn")
    commit(clone)
    with pytest.raises(ToolError) as refused:
        send(gate, fetched, clone)

    assert (refused.value.code, refused.value.rule) == (ErrorCode.GIT_PUSH_FAILED, "push.localHooks")
    assert name in refused.value.message
    assert not (tmp_path / "pwn").exists()
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_hooks_in_a_configured_folder_count_too(
    gate: Gate, r0: R0, fetched: Fetched, clone: Path, tmp_path: Path
) -> None:
    hook(tmp_path / "elsewhere", "update", tmp_path / "pwn")
    (tmp_path / "extra").write_text(f"[core]\n\thooksPath = {tmp_path}/elsewhere\n")
    git(r0.remote, "config", "include.path", str(tmp_path / "extra"))
    commit(clone)
    with pytest.raises(ToolError) as refused:
        send(gate, fetched, clone)

    assert refused.value.rule == "push.localHooks"
    assert not (tmp_path / "pwn").exists()


def test_a_hooks_folder_in_somebodys_home_counts_as_hooks(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    git(r0.remote, "config", "core.hooksPath", "~/hooks")
    commit(clone)
    with pytest.raises(ToolError) as refused:
        send(gate, fetched, clone)

    assert refused.value.rule == "push.localHooks"


def test_hooks_that_do_not_take_part_in_a_push_do_not_stop_it(
    gate: Gate, r0: R0, fetched: Fetched, clone: Path, tmp_path: Path
) -> None:
    for name in ("pre-commit", "pre-push", "post-checkout", "update.sample"):
        hook(r0.remote / "hooks", name, tmp_path / "pwn")
    commit(clone)

    assert send(gate, fetched, clone).pushed
    assert not (tmp_path / "pwn").exists()


def test_programs_in_a_local_remotes_configuration_do_not_run(
    gate: Gate, r0: R0, fetched: Fetched, clone: Path, tmp_path: Path
) -> None:
    """Asset: the host. Attack: the remote's configuration names programs that git runs on a push. Expected: inert."""
    hook(tmp_path, "program", tmp_path / "pwn")
    for key in ("core.alternateRefsCommand", "core.fsmonitor", "gpg.program", "core.pager"):
        git(r0.remote, "config", key, str(tmp_path / "program"))
    commit(clone)

    assert send(gate, fetched, clone).pushed
    assert not (tmp_path / "pwn").exists()


def test_a_checked_out_branch_is_not_moved_under_its_work_tree(
    gate: Gate, r0: R0, clone_of: Clone, tmp_path: Path
) -> None:
    git(r0.path, "config", "receive.denyCurrentBranch", "updateInstead")
    git(r0.path, "checkout", "--quiet", "main")
    fetched = gate.fetch(r0.path, "agent/x1")
    git(r0.path, "checkout", "--quiet", "agent/x1")
    clone = clone_of(fetched)
    commit(clone)
    outcome = send(gate, fetched, clone)

    assert outcome.status is PushStatus.REFUSED
    assert git(r0.path, "rev-parse", "agent/x1") == r0.base


def test_a_remote_that_is_gone_is_a_refusal_in_gits_words(gate: Gate, r0: R0, fetched: Fetched, clone: Path) -> None:
    commit(clone)
    with gate.take(fetched, clone) as quarantine:
        r0.remote.rename(r0.remote.with_name("moved.git"))
        outcome = push(gate.git, quarantine, fetched, "agent/x1")

    assert outcome.status is PushStatus.REFUSED
    assert outcome.reason


def test_a_push_that_takes_too_long_is_a_refusal(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone)
    with gate.take(fetched, clone) as quarantine:
        outcome = push(gate.git, quarantine, fetched, "agent/x1", deadline_seconds=0)

    assert outcome.status is PushStatus.REFUSED


def test_configuration_of_the_workspace_does_not_lead_the_push_elsewhere(
    gate: Gate, r0: R0, fetched: Fetched, clone: Path, tmp_path: Path
) -> None:
    evil = git(tmp_path, "init", "--quiet", "--bare", "evil.git") or tmp_path / "evil.git"
    git(clone, "config", f"url.file://{evil}.insteadOf", f"file://{r0.remote}")
    git(clone, "config", "remote.origin.url", f"file://{evil}")
    git(clone, "config", "push.default", "upstream")
    git(clone, "config", "branch.agent/x1.merge", "refs/heads/main")
    new = commit(clone)

    assert send(gate, fetched, clone).pushed
    assert refs(tmp_path / "evil.git") == ""
    assert git(r0.remote, "rev-parse", "agent/x1", "main") == f"{new}\n{r0.main}"


def test_a_local_push_reads_no_credential(gate: Gate, fetched: Fetched, clone: Path, tmp_path: Path) -> None:
    commit(clone)
    source = CredentialSource(CredentialKind.FILE, str(tmp_path / "missing"))
    with gate.take(fetched, clone) as quarantine:
        assert push(gate.git, quarantine, fetched, "agent/x1", credential=source).pushed


def test_what_the_judging_room_wrote_beside_the_objects_sends_the_push_nowhere_else(
    gate: Gate, r0: R0, fetched: Fetched, clone: Path, tmp_path: Path
) -> None:
    """Asset: other repositories of the code host. Attack: a quarantine whose configuration names another address."""
    other = bare_repository(tmp_path / "other.git", [])
    new = commit(clone)
    with gate.take(fetched, clone) as quarantine:
        git(quarantine.repository, "config", f"url.{other}.pushInsteadOf", fetched.address.url)
        git(quarantine.repository, "config", f"url.{other}.insteadOf", fetched.address.url)
        assert push(gate.git, quarantine, fetched, "agent/x1").pushed

    assert git(r0.remote, "rev-parse", "agent/x1") == new
    assert refs(other) == ""


def test_a_second_push_of_a_run_lists_only_what_is_new(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit(clone, "one")
    assert send(gate, fetched, clone).pushed
    second = commit(clone, "two")
    with gate.take(fetched, clone) as quarantine:
        assert [item.commit for item in changes_of_range(quarantine, max_commits=5)] == [second]
