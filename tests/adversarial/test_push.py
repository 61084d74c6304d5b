"""Ways around the judgement of a push, through `runner run` in a real container against a local bare remote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import P0, node, sh
from tests.support.cli import CliRun, Invocation, call, run_runner
from tests.support.live import LiveRun
from tests.support.repos import R0, build_r0, executable, git

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

_PUSH = call("git_push")
_BASH = "const r=require('child_process').spawnSync('bash',['-ec',{}],{{stdio:'inherit'}});process.exit(r.status)"
_TELL_STDIN = executable("#!/bin/sh\ncat >> /tmp/told\n")


def inside(script: str) -> Invocation:
    """A shell script, run by code of the repository as a policy allows it."""
    return sh(*node(_BASH.format(repr(script))))


def changed(script: str) -> Invocation:
    """The script, and a commit of everything by the workspace's own git, with no hook."""
    return inside(f"{script}; git add -A; git -c core.hooksPath=/dev/null commit -q -m change")


def run(r0: R0, tmp_path: Path, *calls: Invocation) -> CliRun:
    ran = run_runner(r0.remote, P0, calls, tmp_path, ref=r0.branch)
    assert len(ran.answers) == len(calls), ran.stderr
    return ran


def refusal(answer: Mapping[str, Any]) -> str:
    assert not answer["ok"], answer
    return str(answer["error"]["code"])


def pushed(answer: Mapping[str, Any]) -> bool:
    assert answer["ok"], answer
    return bool(answer["result"]["pushed"])


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    """R0 whose remote has a branch `release` too, with a create-only file and a longer add-only file."""
    r0 = build_r0(tmp_path / "r0", extra={".githooks/pre-push": _TELL_STDIN})
    git(r0.path, "checkout", "--quiet", "-b", "release", "origin/main")
    (r0.path / "docs/legal.md").write_text("LEGAL\n")
    (r0.path / "docs/CHANGELOG.md").write_text("# Changes\n\n- first\n- second\n")
    (r0.path / "src/app.mjs").write_text("export const a = 3;\n")
    git(r0.path, "add", "--all")
    git(r0.path, "commit", "--quiet", "-m", "release")
    git(r0.path, "push", "--quiet", "origin", "release")
    return r0


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("echo tampered > docs/legal.md", "push_policy_violation"),
        ("rm docs/legal.md", "push_policy_violation"),
        ("git mv docs/legal.md docs/other.md", "push_policy_violation"),
        ("printf '# Changes\\n\\n- first\\n' > docs/CHANGELOG.md", "workspace_append_only"),
    ],
    ids=["rewritten", "removed", "renamed", "shortened"],
)
def test_files_of_another_remote_branch_are_not_the_runs_own(r0: R0, tmp_path: Path, script: str, code: str) -> None:
    """Asset: files that only another branch has. Attack: check that branch out and change them. Expected: refused."""
    before = git(r0.remote, "for-each-ref")
    ran = run(r0, tmp_path, inside("git checkout -q release"), changed(script), _PUSH)

    assert refusal(ran.answers[2]) == code
    assert git(r0.remote, "for-each-ref") == before


def test_files_of_another_remote_branch_cannot_be_changed_through_a_merge(r0: R0, tmp_path: Path) -> None:
    """Asset: files that only another branch has. Attack: change them in, or after, its merge. Expected: refused."""
    merge = "git -c core.hooksPath=/dev/null merge -q --no-edit -X ours origin/release"
    ran = run(
        r0,
        tmp_path,
        inside(f"{merge}; echo tampered > docs/legal.md; git -c core.hooksPath=/dev/null commit -q -a --amend -m m"),
        _PUSH,
        inside(f"git reset -q --hard {r0.base}; {merge}"),
        changed("echo tampered > docs/legal.md"),
        _PUSH,
    )

    assert [refusal(ran.answers[number]) for number in (1, 4)] == ["push_policy_violation"] * 2
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_honest_work_on_another_remote_branch_and_its_honest_merge_leave(r0: R0, tmp_path: Path) -> None:
    merge = "git -c core.hooksPath=/dev/null merge -q --no-edit origin/release"
    ran = run(
        r0,
        tmp_path,
        changed("echo 'export const a = 2;' > src/app.mjs; echo own > docs/own.md; echo '- mine' >> docs/CHANGELOG.md"),
        changed(
            f"{merge} || true; echo 'export const a = 4;' > src/app.mjs; "
            "printf '# Changes\\n\\n- first\\n- second\\n- mine\\n' > docs/CHANGELOG.md"
        ),
        changed("echo again > docs/own.md"),
        _PUSH,
        inside("git checkout -q release"),
        changed("echo '- third' >> docs/CHANGELOG.md; echo 1 > src/new.mjs; echo new > docs/new.md"),
        changed("echo newer > docs/new.md"),
        _PUSH,
    )

    assert [pushed(ran.answers[number]) for number in (3, 7)] == [True, True]
    assert git(r0.remote, "show", "agent/x1:docs/legal.md", "release:docs/legal.md") == "LEGAL\nLEGAL"


def test_a_file_that_the_run_made_stays_its_own_after_it_was_pushed(r0: R0, tmp_path: Path) -> None:
    ran = run(r0, tmp_path, changed("echo 1 > docs/own.md"), _PUSH, changed("echo 2 > docs/own.md"), _PUSH)

    assert [pushed(ran.answers[number]) for number in (1, 3)] == [True, True]


@pytest.mark.parametrize("head", ["unborn", "detached"])
def test_a_remote_without_a_usable_default_branch_still_protects_one(r0: R0, tmp_path: Path, head: str) -> None:
    """Asset: the default branch. Attack: none is on record, so push main. Expected: refused; other branches leave."""
    if head == "unborn":
        git(r0.remote, "symbolic-ref", "HEAD", "refs/heads/first")
    else:
        git(r0.remote, "update-ref", "--no-deref", "HEAD", r0.main)
    protected = "first" if head == "unborn" else "main"
    begin = f"git branch -f {protected} origin/main; git checkout -q {protected}"
    ran = run(
        r0,
        tmp_path,
        inside(begin),
        changed("echo 1 > src/new.mjs"),
        _PUSH,
        inside("git checkout -q -b agent/other"),
        _PUSH,
    )

    assert refusal(ran.answers[2]) == "default_branch_refused"
    assert pushed(ran.answers[4])
    assert git(r0.remote, "rev-parse", "main") == r0.main
    assert git(r0.remote, "for-each-ref", "refs/heads/first") == ""


def test_a_branch_can_be_pushed_after_its_refused_commit_was_undone(r0: R0, tmp_path: Path) -> None:
    ran = run(
        r0,
        tmp_path,
        changed("mkdir .github; echo y > .github/w.yml"),
        _PUSH,
        inside("git reset -q --hard HEAD~1"),
        changed("echo 1 > src/new.mjs"),
        _PUSH,
        inside("cut -d' ' -f3,4 /tmp/told"),
    )
    told = f"refs/heads/agent/x1 {r0.base}\n"

    assert refusal(ran.answers[1]) == "push_policy_violation"
    assert ran.answers[1]["error"]["details"]["rule"] == "push.forbid.ci"
    assert {found["rule"] for found in ran.answers[1]["error"]["details"]["violations"]} == {
        "push.forbid.ci",
        "write.deny.pattern",
    }
    assert pushed(ran.answers[4])
    assert ran.answers[5]["result"]["stdout"] == told * 2  # the hook heard what the remote had, both times


def test_a_refused_branch_is_not_in_the_way_of_one_below_its_name(r0: R0, tmp_path: Path) -> None:
    ran = run(
        r0,
        tmp_path,
        inside("git checkout -q -b topic"),
        changed("mkdir .github; echo y > .github/w.yml"),
        _PUSH,
        inside("git checkout -q agent/x1; git branch -q -D topic; git checkout -q -b topic/a"),
        changed("echo 1 > src/new.mjs"),
        _PUSH,
    )

    assert refusal(ran.answers[2]) == "push_policy_violation"
    assert pushed(ran.answers[5])


def test_a_branch_that_others_deleted_during_the_run_is_not_brought_back(r0: R0, tmp_path: Path) -> None:
    """Asset: what was taken off the remote. Attack: push it again from the clone. Expected: judged, so refused."""
    git(r0.path, "checkout", "--quiet", "-b", "leak", "origin/main")
    (r0.path / ".github").mkdir()
    (r0.path / ".github/w.yml").write_text("leak\n")
    git(r0.path, "add", "--all")
    git(r0.path, "commit", "--quiet", "-m", "leak")
    git(r0.path, "push", "--quiet", "origin", "leak")
    with LiveRun(r0.remote, P0, tmp_path) as live:
        assert live.call(call("read_file", path="src/app.mjs"))["ok"]
        git(r0.remote, "branch", "-D", "leak")
        before = git(r0.remote, "for-each-ref")
        assert live.call(inside("git checkout -q -b agent/leak origin/leak"))["ok"]

        assert refusal(live.call(_PUSH)) == "push_policy_violation"
        assert live.end() == 0
    assert git(r0.remote, "for-each-ref") == before


def test_a_graft_or_a_changed_outbox_hides_no_commit(r0: R0, tmp_path: Path) -> None:
    """Asset: the judgement. Attack: grafts hide a forbidden commit from the workspace's git. Expected: it is judged."""
    ran = run(
        r0,
        tmp_path,
        changed("mkdir .github; echo y > .github/w.yml"),
        changed("rm -r .github"),
        inside(
            "mkdir -p .git/info /home/agent/outbox.git/info; git rev-parse HEAD HEAD~2 | xargs > .git/info/grafts; "
            "cp .git/info/grafts /home/agent/outbox.git/info/; git -C /home/agent/outbox.git config core.bare maybe"
        ),
        _PUSH,
    )

    assert refusal(ran.answers[3]) == "push_policy_violation"
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_a_workspace_without_an_object_that_would_leave_is_told_what_git_said(r0: R0, tmp_path: Path) -> None:
    lose = "b=$(git rev-parse HEAD:src/new.mjs); rm -f .git/objects/$(echo $b | sed 's|^..|&/|')"
    ran = run(r0, tmp_path, changed("echo unique > src/new.mjs"), inside(lose), _PUSH)

    assert refusal(ran.answers[2]) == "git_push_failed"
    assert "git ended with" not in ran.answers[2]["error"]["message"]


_CANARY = "/home/agent/.deploy.env"


@pytest.mark.parametrize(
    "script",
    [
        f"cp {_CANARY} src/notes.txt; git add -A; git -c core.hooksPath=/dev/null commit -q -m change",
        f"base64 -w0 {_CANARY} > src/notes.txt; git add -A; git -c core.hooksPath=/dev/null commit -q -m change",
        f'git -c core.hooksPath=/dev/null commit -q --allow-empty -m "$(cat {_CANARY})"',
        f'echo x > "src/$(grep -o dpl_.* {_CANARY})"; git add -A; git -c core.hooksPath=/dev/null commit -q -m change',
        f"cp {_CANARY} src/n.txt; git add -A; git -c core.hooksPath=/dev/null commit -q -m one; "
        "git rm -q src/n.txt; git -c core.hooksPath=/dev/null commit -q -m two",
    ],
    ids=["a file", "base64", "a message", "a name", "an earlier commit"],
)
def test_a_secret_of_the_home_folder_does_not_leave_with_a_push(r0: R0, tmp_path: Path, script: str) -> None:
    before = git(r0.remote, "for-each-ref")
    ran = run(r0, tmp_path, inside(script), _PUSH)
    assert ran.answers[0]["ok"] and ran.answers[0]["result"]["code"] == 0, ran.answers[0]
    assert refusal(ran.answers[1]) == "push_policy_violation"
    assert ran.answers[1]["error"]["details"]["rule"] == "push.canary"
    assert git(r0.remote, "for-each-ref") == before
    assert "push" in {seen["place"] for seen in ran.report["canary"]["seen"]}


def test_an_honest_push_raises_no_alarm(r0: R0, tmp_path: Path) -> None:
    ran = run(r0, tmp_path, changed("echo 'DEPLOY_TOKEN=dpl_none' > src/notes.txt"), _PUSH)
    assert pushed(ran.answers[1])
    assert ran.report["canary"] == {"path": _CANARY, "count": 0, "seen": []}


def test_a_command_that_shows_the_secret_raises_the_alarm_and_goes_on(r0: R0, tmp_path: Path) -> None:
    ran = run(r0, tmp_path, inside(f"cat {_CANARY}"), call("read_file", path="README.md"))
    assert "DEPLOY_TOKEN=dpl_" in ran.answers[0]["result"]["stdout"] and ran.answers[1]["ok"]
    assert [(seen["seq"], seen["place"]) for seen in ran.report["canary"]["seen"]] == [(1, "result")]
