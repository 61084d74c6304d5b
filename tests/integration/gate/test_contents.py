"""What outgoing objects hold is all looked through, or refused before it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gate.fetch import Fetched
from runner.model.errors import ErrorCode, ToolError
from tests.support.gate import Gate
from tests.support.repos import build_r0, git

Clone = Callable[[Fetched], Path]
MIB = 1024 * 1024


@pytest.fixture
def fetched(gate: Gate, tmp_path: Path) -> Fetched:
    return gate.fetch(build_r0(tmp_path / "work").remote, "agent/x1")


@pytest.fixture
def clone(fetched: Fetched, clone_of: Clone) -> Path:
    return clone_of(fetched)


def commit(clone: Path, message: str) -> None:
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--allow-empty", "-m", message)


def test_every_new_file_name_and_message_is_there_and_nothing_that_the_remote_has(
    gate: Gate, fetched: Fetched, clone: Path
) -> None:
    (clone / "src/one.txt").write_text("content-one\n")
    commit(clone, "message-one")
    (clone / "src/one.txt").unlink()
    (clone / "src/two with blank.bin").write_bytes(b"\0content-two\n\n")
    commit(clone, "message-two")
    with gate.take(fetched, clone) as quarantine:
        contents = list(quarantine.contents(max_object_bytes=MIB))
    found = dict(contents)
    assert found["src/one.txt"] == b"content-one\n"  # though the second commit takes it out again
    assert found["src/two with blank.bin"] == b"\0content-two\n\n"
    whole = b"".join(content for _, content in contents)
    for said in (b"message-one", b"message-two", b"one.txt", b"two with blank.bin"):
        assert said in whole
    assert "README.md" not in found


def test_many_objects_are_taken_in_groups_without_a_gap(gate: Gate, fetched: Fetched, clone: Path) -> None:
    for number in range(5):
        (clone / f"src/{number}.txt").write_bytes(bytes([65 + number]) * (9 * MIB) + b"%d" % number)
    commit(clone, "large")
    with gate.take(fetched, clone) as quarantine:
        found = {name: content for name, content in quarantine.contents(max_object_bytes=10 * MIB) if ".txt" in name}
    assert {name: content[-1:] for name, content in found.items()} == {
        f"src/{number}.txt": b"%d" % number for number in range(5)
    }
    assert {len(content) for content in found.values()} == {9 * MIB + 1}


def test_nothing_new_holds_nothing(gate: Gate, fetched: Fetched, clone: Path) -> None:
    with gate.take(fetched, clone) as quarantine:
        assert list(quarantine.contents(max_object_bytes=MIB)) == []


def test_an_object_that_unfolds_to_more_than_a_workspace_can_hold_is_refused(
    gate: Gate, fetched: Fetched, clone: Path
) -> None:
    (clone / "src/large.txt").write_bytes(b"x" * (MIB + 1))
    commit(clone, "large")
    with gate.take(fetched, clone) as quarantine, pytest.raises(ToolError) as refused:
        list(quarantine.contents(max_object_bytes=MIB))
    assert (refused.value.code, refused.value.rule) == (ErrorCode.PUSH_POLICY_VIOLATION, "push.objects")
