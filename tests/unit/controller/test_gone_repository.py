"""A repository that is gone from the workspace ends the run; one that git only cannot read now does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.controller.guest_git import GuestGit
from runner.engine.contract import FileFault
from runner.engine.fake import FakeCall, FakeOutcome
from runner.model.errors import SandboxLost
from tests.support.fake_run import RefusingSandbox, code_of, fake_run

BASE = "a" * 40


def _git(exits: Mapping[str, int], *, objects: bool, said: str = "commit 200") -> GuestGit:
    """A git whose commands end with these exits, and with 128 where nothing is said."""

    def program(call: FakeCall) -> FakeOutcome:
        code = next((code for verb, code in exits.items() if verb in call.argv), 128)
        return FakeOutcome(exit=code, stdout=f"{BASE} {said}\n".encode() if code == 0 else b"")

    sandbox = RefusingSandbox()
    sandbox.programs["git"] = program
    sandbox.tree.put_dir(".git/objects" if objects else ".git")
    sandbox.tree.put_file(".git/HEAD", b"")
    return GuestGit(sandbox, {}, "/dev/null", 10.0)


@pytest.mark.parametrize(
    ("exits", "objects", "said"),
    [({}, False, ""), ({"cat-file": 0}, True, "missing"), ({"cat-file": 0}, False, "missing")],
)
def test_without_its_objects_or_its_base_commit_a_repository_is_gone(
    exits: Mapping[str, int], objects: bool, said: str
) -> None:
    with pytest.raises(SandboxLost, match="the repository that the run started from is gone"):
        _git(exits, objects=objects, said=said).require_base(BASE)


def test_settings_that_only_a_diff_cannot_read_are_no_repository_that_is_gone() -> None:
    _git({"rev-parse": 0}, objects=True).require_base(BASE)


@pytest.mark.parametrize(
    ("exits", "objects"),
    [({"cat-file": 0}, True), ({"cat-file": 0}, False), ({}, True), ({"cat-file": 137}, False)],
    ids=["all well", "objects elsewhere", "settings that git cannot read", "a git that was killed"],
)
def test_what_may_still_be_there_is_not_gone(exits: Mapping[str, int], objects: bool) -> None:
    _git(exits, objects=objects).require_base(BASE)


def test_a_path_to_its_objects_that_cannot_be_followed_tells_nothing() -> None:
    git = _git({}, objects=False)
    assert isinstance(git.sandbox, RefusingSandbox)
    git.sandbox.refusing["resolve"] = FileFault.OUTSIDE
    git.require_base(BASE)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("workspace.git_commit", {"message": "x"}), ("git", {"args": "status"})],
)
def test_the_next_call_that_needs_git_ends_the_run(tool: str, arguments: Mapping[str, str], tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.sandbox.programs["git"] = lambda call: FakeOutcome(exit=1 if "config" in call.argv else 128)
        assert code_of(run.raw(tool, dict(arguments))) == "run_ended"
        assert isinstance(run.pipeline.ended, SandboxLost)
        assert code_of(run.raw("workspace.read_file", {"path": "README.md"})) == "run_ended"
