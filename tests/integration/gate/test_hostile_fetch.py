"""Repositories that attack the one who fetches. Each is read on the host, so nothing of it may act there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.model.errors import RepositoryUnavailable
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, build_r0, git, raw_commit, raw_object, raw_tree, tree_digest

HOOKS = (
    "pre-receive update post-receive post-update reference-transaction post-checkout pre-push pre-auto-gc "
    "proc-receive push-to-checkout post-index-change fsmonitor-watchman post-upload-pack pre-upload-pack"
).split()


def trap(path: Path, mark: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\ntouch {mark}\nexec "$@"\n')
    path.chmod(0o755)
    return str(path)


def _hooks(repository: Path, mark: Path) -> None:
    for hook in HOOKS:
        trap(repository / "hooks" / hook, mark)


def _hooks_path(repository: Path, mark: Path) -> None:
    for hook in HOOKS:
        trap(repository.parent / "elsewhere" / hook, mark)
    git(repository, "config", "core.hooksPath", str(repository.parent / "elsewhere"))


def _programs(repository: Path, mark: Path) -> None:
    program = trap(repository.parent / "program", mark)
    for key in (
        "core.fsmonitor core.sshCommand core.gitProxy core.askPass core.editor core.pager core.alternateRefsCommand "
        "uploadpack.packObjectsHook diff.external gpg.program credential.helper filter.x.smudge filter.x.clean "
        "remote.origin.uploadpack sequence.editor interactive.diffFilter merge.x.driver"
    ).split():
        git(repository, "config", key, program)


def _include(repository: Path, mark: Path) -> None:
    program = trap(repository.parent / "program", mark)
    extra = repository.parent / "extra"
    extra.write_text(f"[core]\n\tfsmonitor = {program}\n\thooksPath = {repository.parent}\n")
    git(repository, "config", "includeIf.gitdir:/**.path", str(extra))
    git(repository, "config", "include.path", str(extra))


def _work_tree(repository: Path, mark: Path) -> None:
    git(repository, "config", "core.bare", "false")
    git(repository, "config", "core.worktree", "/etc")


def _lazy_fetch(repository: Path, mark: Path) -> None:
    """A partial clone whose missing object would be fetched by a program of its choice."""
    program = trap(repository.parent / "program", mark)
    blob = git(repository, "rev-parse", "main:src/app.mjs")
    git(repository, "unpack-objects", "-q", check=False)
    for pack in (repository / "objects" / "pack").glob("*"):
        data = pack.read_bytes()
        pack.unlink()
        if pack.suffix == ".pack":
            git(repository, "unpack-objects", "-q", stdin=data)
    (repository / "objects" / blob[:2] / blob[2:]).unlink()
    git(repository, "config", "core.repositoryformatversion", "1")
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "remote.origin.url", "file:///")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "remote.origin.uploadpack", program)


def _alternates(repository: Path, mark: Path) -> None:
    other = bare_repository(repository.parent / "other.git", [Commit({"z": "secret"})])
    (repository / "objects" / "info").mkdir(exist_ok=True)
    (repository / "objects" / "info" / "alternates").write_text(f"{other}/objects\n")
    git(repository, "config", "core.alternateRefsCommand", trap(repository.parent / "program", mark))


@pytest.mark.parametrize(
    "arm",
    [_hooks, _hooks_path, _programs, _include, _work_tree, _lazy_fetch, _alternates],
    ids=lambda arm: arm.__name__,
)
def test_a_hostile_local_repository_runs_nothing_and_stays_as_it_was(
    gate: Gate, tmp_path: Path, arm: Callable[[Path, Path], None]
) -> None:
    """Asset: the host. Attack: the local repository's own configuration and hooks. Expected: inert, and unmodified."""
    remote = build_r0(tmp_path / "hostile" / "work").remote
    mark = tmp_path / "pwn"
    arm(remote, mark)
    mark.unlink(missing_ok=True)
    before = tree_digest(tmp_path / "hostile")
    try:
        gate.fetch(remote)
        gate.fetch(remote, "agent/x1")
    except RepositoryUnavailable:
        assert arm is _lazy_fetch  # it cannot be served whole

    assert not mark.exists()
    assert tree_digest(tmp_path / "hostile") == before


def test_a_work_tree_stays_as_it_was(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "hostile" / "work")
    trap(r0.path / ".git" / "hooks" / "post-index-change", tmp_path / "pwn")
    (r0.path / "README.md").write_text("touched, so that a refresh of the index would write it\n")
    before = tree_digest(tmp_path / "hostile")
    gate.fetch(r0.path)

    assert tree_digest(tmp_path / "hostile") == before


@pytest.mark.parametrize("name", [".git", ".GIT", ".git ", "git~1", ".g\u200cit", "..", ".", "a/b"])
def test_a_tree_with_a_forbidden_name_is_refused(gate: Gate, tmp_path: Path, name: str) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    blob = raw_object(remote, "blob", b"x")
    raw_commit(remote, raw_tree(remote, [("100644", name, blob)]), branch="bad")

    with pytest.raises(RepositoryUnavailable) as refused:
        gate.fetch(remote)

    assert refused.value.code == "repository_objects_refused"
    assert gate.kept() == []


@pytest.mark.parametrize(
    "entries",
    [
        [("100644", "a"), ("100644", "a")],
        [("100644", "b"), ("100644", "a")],
        [("120000", ".gitmodules")],
    ],
    ids=["twice", "unsorted", "modules-link"],
)
def test_a_malformed_tree_is_refused(gate: Gate, tmp_path: Path, entries: list[tuple[str, str]]) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    blob = raw_object(remote, "blob", b"x")
    raw_commit(remote, raw_tree(remote, [(mode, name, blob) for mode, name in entries]), branch="bad")

    with pytest.raises(RepositoryUnavailable) as refused:
        gate.fetch(remote)

    assert refused.value.code == "repository_objects_refused"


def test_submodule_settings_shaped_like_options_are_refused(gate: Gate, tmp_path: Path) -> None:
    modules = '[submodule "s"]\n\tpath = s\n\turl = --upload-pack=touch /tmp/pwn\n'
    remote = bare_repository(tmp_path / "r.git", [Commit({".gitmodules": modules})])

    with pytest.raises(RepositoryUnavailable) as refused:
        gate.fetch(remote)

    assert refused.value.code == "repository_objects_refused"


def test_a_repository_with_an_object_missing_is_refused(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    raw_commit(remote, "1" * 40, branch="bad")

    with pytest.raises(RepositoryUnavailable):
        gate.fetch(remote)

    assert gate.kept() == []


def test_a_shallow_repository_is_refused(gate: Gate, tmp_path: Path) -> None:
    full = bare_repository(tmp_path / "full.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    git(tmp_path, "clone", "--quiet", "--bare", "--depth=1", f"file://{full}", str(tmp_path / "shallow.git"))

    with pytest.raises(RepositoryUnavailable) as refused:
        gate.fetch(tmp_path / "shallow.git")

    assert refused.value.code == "repository_shallow"


def test_terminal_escapes_in_a_refs_name_reach_no_message(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"}, branch="ab\u202ecd")])

    with pytest.raises(RepositoryUnavailable) as refused:
        gate.fetch(remote, "abcd")

    assert (refused.value.message + refused.value.hint).isprintable()
