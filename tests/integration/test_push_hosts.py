"""Pushes of every kind, from whole and shallow workspaces, through whole runs to real code hosts; and their refusals.

A run has several pushes, between which the host changes: an operator's rule is put up there, or somebody else pushes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import P0, sh
from tests.support.cli import Invocation, call, run_runner
from tests.support.live import LiveRun
from tests.support.repos import build_r0, git
from tests.support.services import CodeHostHttps, CodeHostSsh

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

PUSH = call("git_push")
NAME = "r0.git"


@dataclass(frozen=True)
class Place:
    """A repository on a code host, and the policy that reaches it with `secret`."""

    host: CodeHostHttps | CodeHostSsh
    policy: dict[str, Any]
    secret: str
    environment: Mapping[str, str]

    @property
    def url(self) -> str:
        return self.host.address(NAME)

    def git(self, *arguments: str) -> str:
        return self.host.git(NAME, *arguments)

    def tip(self, branch: str) -> str:
        return self.git("rev-parse", f"refs/heads/{branch}")

    @contextmanager
    def hook(self, name: str, script: str) -> Iterator[None]:
        """The host has this hook while the block runs."""
        path = f"/srv/repos/{NAME}/hooks/{name}"
        self.host.box.output("mkdir", "-p", f"/srv/repos/{NAME}/hooks")
        self.host.box.write({path: f"#!/bin/sh\n{script}\n".encode()})
        self.host.box.output("chmod", "0755", path)
        yield
        self.host.box.output("rm", path)


def _served(host: CodeHostHttps | CodeHostSsh, tmp_path: Path) -> None:
    """R0 with two more commits on main, and a branch `side` on the one before them."""
    r0 = build_r0(tmp_path / "r0")
    for number in range(2):
        git(r0.path, "checkout", "--quiet", "-B", "main", "origin/main")
        (r0.path / "README.md").write_text(f"{number}\n", encoding="utf-8")
        git(r0.path, "commit", "--quiet", "-am", f"main {number}")
        git(r0.path, "push", "--quiet", "origin", "main", "main:side")
    git(r0.path, "checkout", "--quiet", "-b", "side", "origin/side")
    (r0.path / "other.md").write_text("side\n", encoding="utf-8")
    git(r0.path, "add", "--all")
    git(r0.path, "commit", "--quiet", "-m", "side")
    git(r0.path, "push", "--quiet", "origin", "side")
    host.put(r0.remote, NAME)


def _secret_file(path: Path, content: str) -> str:
    path.write_text(content, encoding="ascii")
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def over_https(code_host_https: CodeHostHttps, tmp_path: Path) -> Place:
    _served(code_host_https, tmp_path)
    credential = {"file": _secret_file(tmp_path / "token", code_host_https.token), "user": code_host_https.user}
    binding = {"git": {"host": code_host_https.host}, "credential": credential}
    policy = {**P0, "bindings": [binding], "ca": str(code_host_https.ca_file)}
    return Place(code_host_https, policy, code_host_https.token, {})


@pytest.fixture
def over_ssh(code_host_ssh: CodeHostSsh, tmp_path: Path) -> Place:
    _served(code_host_ssh, tmp_path)
    key = code_host_ssh.client_key.read_text(encoding="ascii")
    host = f"{code_host_ssh.ip}:{code_host_ssh.port}"
    binding = {"git": {"host": host}, "credential": {"file": _secret_file(tmp_path / "key", key)}}
    environment = {"RUNNER_SSH_KNOWN_HOSTS": str(code_host_ssh.known_hosts)}
    return Place(code_host_ssh, {**P0, "bindings": [binding]}, key.splitlines()[2], environment)


@pytest.fixture(params=["over_https", "over_ssh"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


def work(number: int) -> list[Invocation]:
    """A change of the run's own, committed."""
    return [
        call("write_file", path=f"src/new{number}.txt", content=f"{number}\n"),
        call("git_commit", message=f"work {number}"),
    ]


def ours(*argv: str) -> Invocation:
    return call("git", args=list(argv))


def done(live: LiveRun, *calls: Invocation) -> dict[str, Any]:
    """The result of the last call; all of them succeeded."""
    result: Any = {}
    for each in calls:
        answer = live.call(each)
        assert answer["ok"], answer
        result = answer["result"]
        assert result.get("exit") in (None, 0), answer
    return dict(result)


def refused(live: LiveRun, *calls: Invocation) -> str:
    """The words of the push that ends the calls, which was refused."""
    done(live, *calls)
    answer = live.call(PUSH)
    assert not answer["ok"], answer
    assert answer["error"]["code"] == "git_push_failed", answer
    return str(answer["error"]["details"]["output"])


@contextmanager
def running(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **keys: Any) -> Iterator[LiveRun]:
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    with LiveRun(place.url, place.policy, tmp_path, ref="agent/x1", **keys) as live:
        yield live
        assert live.end() == 0


@pytest.mark.parametrize(
    ("place", "depth"),
    [("over_https", None), ("over_https", 1), ("over_ssh", 1)],
    ids=["https", "https from a shallow workspace", "ssh from a shallow workspace"],
    indirect=["place"],
)
def test_new_updated_empty_and_merging_pushes_arrive_and_nothing_new_is_no_push(
    place: Place, depth: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, base = place.tip("main"), place.tip("agent/x1")
    merge = ours("merge", "--no-ff", "--no-edit", "agent/x1")
    with running(place, tmp_path, monkeypatch, depth=depth) as live:
        tips = []
        for calls in (
            [ours("switch", "-c", "agent/first"), *work(1)],
            work(2),
            [ours("commit", "--allow-empty", "-m", "empty")],
            [ours("switch", "agent/x1"), *work(3)],
            [ours("switch", "-c", "agent/side", "origin/side"), *work(4)],
            [ours("switch", "agent/first"), merge],
        ):
            pushed = done(live, *calls, PUSH)
            assert pushed["pushed"] is True
            assert place.tip(pushed["branch"]) == pushed["commit"]
            tips.append(pushed["commit"])
        assert done(live, PUSH)["pushed"] is False

    first, second, empty, other, _, merged = tips
    assert place.git("rev-list", "--first-parent", merged, f"^{base}").split() == [merged, empty, second, first]
    assert place.git("rev-parse", f"{merged}^2", f"{first}^", f"{other}^").split() == [other, base, base]
    assert place.git("rev-parse", f"{empty}^{{tree}}") == place.git("rev-parse", f"{second}^{{tree}}")
    assert place.tip("main") == main
    assert place.git("rev-parse", "--is-shallow-repository") == "false"
    assert place.git("rev-list", "--count", merged) == str(int(place.git("rev-list", "--count", base)) + 5)
    place.git("fsck", "--strict")


def test_a_remote_branch_is_merged_and_pushed_from_a_workspace_that_is_deep_enough(
    over_https: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge = ours("merge", "--no-ff", "--no-edit", "origin/side")
    with running(over_https, tmp_path, monkeypatch, depth=1) as live:
        said = live.call(merge)
        assert "unrelated histories" in said["result"]["stderr"]
    with running(over_https, tmp_path, monkeypatch, depth=4) as live:
        merged = done(live, *work(1), merge, PUSH)["commit"]

    assert over_https.git("rev-parse", f"{merged}^2") == over_https.tip("side")
    assert over_https.tip("agent/x1") == merged


def test_what_the_host_refuses_is_told_in_its_words_without_the_secret(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = place.tip("agent/x1")
    protected = f"case $1 in */agent/x1) echo 'GH006: protected branch, {place.secret}' >&2; exit 1;; esac"
    with running(place, tmp_path, monkeypatch) as live:
        with place.hook("pre-receive", f"cat >/dev/null; echo 'ticket missing, {place.secret}'; exit 1"):
            declined = refused(live, *work(1))
        with place.hook("update", protected):
            kept = refused(live)
            elsewhere = done(live, ours("switch", "-c", "agent/free"), PUSH)
        assert place.tip("agent/x1") == base
        done(live, ours("switch", "agent/x1"), PUSH)

    assert elsewhere["pushed"] is True
    assert "pre-receive hook declined" in declined and "remote: ticket missing, ***" in declined
    assert "hook declined" in kept and "remote: GH006: protected branch, ***" in kept
    assert place.tip("agent/x1") == elsewhere["commit"]
    everything = [path.read_bytes() for path in _left(live) if path.is_file()]
    assert not any(place.secret.encode() in content for content in everything)


def test_history_is_not_rewritten_and_what_others_pushed_is_not_overwritten(
    over_https: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = over_https.tip("agent/x1")
    with running(over_https, tmp_path, monkeypatch) as live:
        first = done(live, *work(1), PUSH)["commit"]
        rewritten = refused(live, ours("reset", "--hard", base), *work(2))
        assert over_https.tip("agent/x1") == first
        over_https.git("update-ref", "refs/heads/agent/x1", over_https.tip("main"))
        diverged = refused(live)
        theirs = _commit_at(over_https, base)
        over_https.git("update-ref", "refs/heads/agent/x1", theirs)
        unknown = refused(live)

    assert "non-fast-forward" in rewritten and "non-fast-forward" in diverged
    assert theirs in unknown
    assert over_https.tip("agent/x1") == theirs


def test_a_branch_that_moves_between_the_look_and_the_push_is_left_where_it_is(
    over_https: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host itself moves it, just before it would take the push in."""
    theirs = _commit_at(over_https, over_https.tip("agent/x1"))
    move = f"cat >/dev/null; unset GIT_QUARANTINE_PATH; git update-ref refs/heads/agent/x1 {theirs}"
    with running(over_https, tmp_path, monkeypatch) as live:
        with over_https.hook("pre-receive", move):
            said = refused(live, *work(1))
    assert "remote rejected" in said or "failed" in said or "lock" in said
    assert over_https.tip("agent/x1") == theirs


def test_a_token_that_may_read_and_not_push_is_refused_in_gits_words(
    over_https: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_https.git("config", "http.receivepack", "false")
    with running(over_https, tmp_path, monkeypatch) as live:
        said = refused(live, *work(1))
        over_https.git("config", "http.receivepack", "true")
        assert done(live, PUSH)["pushed"] is True
    assert "403" in said
    assert over_https.secret not in said


@pytest.mark.slow
def test_a_host_that_never_answers_ends_with_the_run_and_not_after_it(over_https: Place, tmp_path: Path) -> None:
    base = over_https.tip("agent/x1")
    policy = {**over_https.policy, "limits": {**P0["limits"], "runSeconds": 20}}
    with over_https.hook("pre-receive", "cat >/dev/null; exec sleep 120"):
        ran = run_runner(over_https.url, policy, [*work(1), PUSH], tmp_path, ref="agent/x1")
    assert [answer["ok"] for answer in ran.answers] == [True, True, False]
    assert ran.answers[2]["error"]["code"] == "git_push_failed"
    assert "longer than its limit" in ran.answers[2]["error"]["message"]
    assert ran.report["teardown"] == {"verified": True, "leftovers": []}
    assert over_https.tip("agent/x1") == base


@pytest.mark.slow
@pytest.mark.timeout(600)  # about a minute of two processors' time, which a busy machine makes several of
def test_two_hundred_megabytes_leave_where_the_policy_lets_them(over_https: Place, tmp_path: Path) -> None:
    limits = {"commandSeconds": 120, "memoryMiB": 768, "workspaceMiB": 1024, "fileMiB": 256}
    policy = {**over_https.policy, "limits": limits, "push": {"maxMiB": 220}}
    # The bytes are random, so that they stay as many; to compress them would only be tried in vain.
    quick = "require('fs').appendFileSync(process.env.HOME+'/.gitconfig','[core]\\n compression=0\\n');"
    write = "require('fs').writeFileSync(`src/${i}.bin`,require('crypto').randomBytes(25<<20))"
    made = [
        sh("node", "-e", f"{quick}for(let i=0;i<8;i++){{{write}}}"),
        ours("add", "-A"),
        ours("commit", "-m", "large"),
    ]
    ran = run_runner(over_https.url, policy, [*made, PUSH], tmp_path, ref="agent/x1", patience_seconds=540)

    assert [answer["ok"] for answer in ran.answers] == [True] * 4, ran.answers
    assert over_https.tip("agent/x1") == ran.answers[3]["result"]["commit"]
    assert over_https.git("cat-file", "-s", "agent/x1:src/7.bin") == str(25 << 20)


def _commit_at(place: Place, parent: str) -> str:
    """A commit of somebody else's on `parent`, on no branch yet."""
    person = ("-c", "user.name=Eve", "-c", "user.email=eve@example.com")
    return place.git(*person, "commit-tree", "-p", parent, "-m", "theirs", f"{parent}^{{tree}}")


def _left(live: LiveRun) -> Iterator[Path]:
    """Everything that the run left on this host."""
    yield from live.out.rglob("*")
    yield from (Path(os.environ["RUNNER_STATE_DIR"]) / "runs").rglob("*")
