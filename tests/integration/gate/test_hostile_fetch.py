"""Repositories that attack the one who fetches, where the corpus of test_hostile_corpus.py has no place for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.model.errors import RepositoryUnavailable
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, build_r0, git, tree_digest


def test_a_work_tree_stays_as_it_was(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "hostile" / "work")
    hook = r0.path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'pwn'}\n")
    hook.chmod(0o755)
    (r0.path / "README.md").write_text("touched, so that a refresh of the index would write it\n")
    before = tree_digest(tmp_path / "hostile")
    gate.fetch(r0.path)

    assert not (tmp_path / "pwn").exists()
    assert tree_digest(tmp_path / "hostile") == before


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
