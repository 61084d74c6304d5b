from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from runner.gate.delivery import delivery_steps, outbox_steps
from runner.gate.fetch import Fetched
from runner.gate.shipment import Part, shipment
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, build_r0, git, git_environment, link

Clone = Callable[[Fetched], Path]


def test_the_workspace_is_a_clone_on_its_branch(gate: Gate, tmp_path: Path, clone_of: Clone) -> None:
    r0 = build_r0(tmp_path / "work")
    git(r0.remote, "tag", "-a", "-m", "one", "v1", "main")
    workspace = clone_of(gate.fetch(r0.remote, "agent/x1"))

    assert git(workspace, "rev-parse", "HEAD") == r0.base
    assert git(workspace, "symbolic-ref", "HEAD") == "refs/heads/agent/x1"
    assert git(workspace, "status", "--porcelain") == ""
    assert git(workspace, "rev-parse", "origin/main", "origin/HEAD") == f"{r0.main}\n{r0.main}"
    assert git(workspace, "rev-parse", "--abbrev-ref", "@{upstream}") == "origin/agent/x1"
    assert git(workspace, "tag") == "v1"
    assert git(workspace, "config", "user.name") == "runner"
    assert git(workspace, "remote", "get-url", "origin") == f"file://{r0.remote}"
    assert git(workspace, "fsck", "--strict") == ""


def test_links_are_delivered_as_they_are(gate: Gate, tmp_path: Path, clone_of: Clone) -> None:
    links = {"dangling": "/tmp/fresh", "self": "self", "out": "/etc", "up": "../../..", "src/loop": "../src"}
    remote = bare_repository(tmp_path / "r.git", [Commit({path: link(target) for path, target in links.items()})])
    workspace = clone_of(gate.fetch(remote))

    assert {path: str((workspace / path).readlink()) for path in links} == links


def test_a_commit_is_delivered_detached(gate: Gate, tmp_path: Path, clone_of: Clone) -> None:
    r0 = build_r0(tmp_path / "work")
    workspace = clone_of(gate.fetch(r0.remote, r0.main))

    assert git(workspace, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert git(workspace, "rev-parse", "HEAD") == r0.main
    assert git(workspace, "status", "--porcelain") == ""
    assert git(workspace, "for-each-ref", "refs/heads") == ""


def test_a_push_in_the_workspace_reaches_the_outbox_and_runs_the_pre_push_hook(
    gate: Gate, tmp_path: Path, clone_of: Clone
) -> None:
    r0 = build_r0(tmp_path / "work")
    workspace = clone_of(gate.fetch(r0.remote, "agent/x1"))
    hook = workspace / ".git" / "hooks" / "pre-push"
    hook.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/pushed-to\n')
    hook.chmod(0o755)
    git(workspace, "commit", "--quiet", "--allow-empty", "-m", "more")
    git(workspace, "push", "--quiet", "origin", "agent/x1")

    assert (tmp_path / "pushed-to").read_text() == "origin\n"
    assert git(tmp_path / "outbox.git", "rev-parse", "agent/x1") == git(workspace, "rev-parse", "HEAD")
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_an_outbox_made_anew_has_forgotten_what_was_refused_and_tampered_with(tmp_path: Path) -> None:
    work, outbox = build_r0(tmp_path / "work"), tmp_path / "outbox.git"
    objects = str(work.path / ".git" / "objects")
    for refs in ({"refs/heads/agent": work.base}, {"refs/heads/agent/x1": work.main}, {}):
        for step in outbox_steps(refs, outbox=str(outbox), workspace_objects=objects):
            subprocess.run(step.argv, input=b"".join(step.input()), env=git_environment(tmp_path), check=True)
        expected = "\n".join(f"{oid} commit\t{name}" for name, oid in refs.items())

        assert git(outbox, "for-each-ref") == expected
        assert not (outbox / "info" / "grafts").exists()
        git(outbox, "update-ref", "refs/heads/agent/x1/refused" if not refs else "refs/heads/other", work.base)
        (outbox / "info").mkdir(exist_ok=True)
        (outbox / "info" / "grafts").write_text(f"{work.base}\n")


def test_no_hook_runs_while_the_clone_is_made(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")
    fetched = gate.fetch(r0.remote, "agent/x1")
    workspace, environment = tmp_path / "armed", git_environment(tmp_path)
    workspace.mkdir()
    hooks = ("post-checkout", "reference-transaction", "post-index-change")
    with shipment(gate.git, fetched) as shipped:
        for step in delivery_steps(fetched, shipped.name, outbox=str(tmp_path / "o.git"), name="n", email="e"):
            stdin = b"".join(step.input(shipped))
            subprocess.run(step.argv, cwd=workspace, env=environment, input=stdin, capture_output=True, check=False)
            for name in hooks:
                (workspace / ".git" / "hooks" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/pwn\n")
                (workspace / ".git" / "hooks" / name).chmod(0o755)

    assert (workspace / "README.md").exists()
    assert not (tmp_path / "pwn").exists()


def test_names_with_quotes_and_backslashes_stay_in_their_place(gate: Gate, tmp_path: Path, clone_of: Clone) -> None:
    branch = 'a"]b;#c'
    remote = bare_repository(tmp_path / 'r"\\x.git', [Commit({"a": "1"}), Commit({"b": "1"}, branch=branch)])
    workspace = clone_of(gate.fetch(remote, branch))

    assert git(workspace, "config", f"branch.{branch}.merge") == f"refs/heads/{branch}"
    assert git(workspace, "symbolic-ref", "--short", "HEAD") == branch


def test_a_branch_shaped_like_an_option_is_delivered(gate: Gate, tmp_path: Path, clone_of: Clone) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    git(remote, "update-ref", "refs/heads/--mirror", "main")
    git(remote, "update-ref", "refs/heads/HEAD", "main")
    workspace = clone_of(gate.fetch(remote, "--mirror"))

    assert git(workspace, "symbolic-ref", "HEAD") == "refs/heads/--mirror"
    assert git(workspace, "symbolic-ref", "refs/remotes/origin/HEAD") == "refs/remotes/origin/main"


def test_many_refs_are_packed(gate: Gate, tmp_path: Path, clone_of: Clone) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    git(remote, "update-ref", "--stdin", stdin=b"".join(b"create refs/tags/t%d main\n" % n for n in range(300)))
    workspace = clone_of(gate.fetch(remote))

    assert len(git(workspace, "tag").split()) == 300
    assert not list((workspace / ".git" / "refs" / "tags").iterdir())


def test_the_plan_holds_no_credential_and_no_other_place_to_push(gate: Gate, tmp_path: Path) -> None:
    fetched = gate.fetch(build_r0(tmp_path / "work").remote)
    steps = delivery_steps(fetched, "0" * 40, outbox="/home/agent/outbox.git", name="n", email="e")
    contents = {entry.path: entry.content for step in steps for entry in step.entries}
    config = contents[".git/config"]

    assert isinstance(config, bytes) and b'pushurl = "/home/agent/outbox.git"' in config
    assert [content for content in contents.values() if isinstance(content, Part)] == [Part.PACK, Part.INDEX]
