from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.gate.fetch import Fetched
from runner.gate.outgoing import receive
from runner.gate.range import changes_of_range
from runner.model.errors import ErrorCode, ToolError
from tests.support.gate import Gate
from tests.support.repos import build_r0, git, git_environment, raw_commit, raw_object, raw_tree

Clone = Callable[[Fetched], Path]


@pytest.fixture
def fetched(gate: Gate, tmp_path: Path) -> Fetched:
    return gate.fetch(build_r0(tmp_path / "work").remote, "agent/x1")


@pytest.fixture
def clone(fetched: Fetched, clone_of: Clone) -> Path:
    return clone_of(fetched)


def change(clone: Path, path: str, content: str) -> str:
    (clone / path).parent.mkdir(parents=True, exist_ok=True)
    (clone / path).write_text(content)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "change")
    return git(clone, "rev-parse", "HEAD")


def packed(clone: Path, objects: list[str]) -> bytes:
    """A pack of just these objects, whatever they need."""
    done = subprocess.run(
        ["git", "pack-objects", "--stdout", "-q"],
        cwd=clone,
        env=git_environment(clone),
        input="".join(f"{oid}\n" for oid in objects).encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout


def rule(refused: pytest.ExceptionInfo[ToolError]) -> str | None:
    assert refused.value.code is ErrorCode.PUSH_POLICY_VIOLATION
    return refused.value.rule


def test_what_the_workspace_committed_is_received(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit = change(clone, "src/app.mjs", "new\n")
    with gate.take(fetched, clone) as quarantine:
        tree = quarantine.tree(commit)

        assert quarantine.commit == commit
        assert quarantine.blob(tree["src/app.mjs"].blob, max_bytes=100) == b"new\n"
        assert tree["src/link-out"].mode == 0o120000
        assert quarantine.base_tree()["src/app.mjs"] != tree["src/app.mjs"]


def test_a_closed_quarantine_leaves_nothing(gate: Gate, fetched: Fetched, clone: Path) -> None:
    change(clone, "a", "1")
    with gate.take(fetched, clone):
        assert len(list(gate.scratch.iterdir())) == 1

    assert list(gate.scratch.iterdir()) == []


def test_nothing_new_is_received_too(gate: Gate, fetched: Fetched, clone: Path) -> None:
    with gate.take(fetched, clone) as quarantine:
        assert quarantine.commit == fetched.base


def test_a_pack_over_the_bound_is_not_read_to_its_end(gate: Gate, fetched: Fetched) -> None:
    read: list[int] = []

    def flood() -> Iterator[bytes]:
        for number in range(1000):
            read.append(number)
            yield b"PACK" + b"x" * 65532

    with pytest.raises(ToolError) as refused:
        receive(gate.git, fetched, flood(), fetched.base, now=fetched.refs, max_bytes=1 << 20, scratch=gate.scratch)

    assert rule(refused) in ("push.maxBytes", "push.objects")
    assert len(read) < 30
    assert list(gate.scratch.iterdir()) == []


@pytest.mark.parametrize("pack", [b"", b"PACK", b"garbage" * 100], ids=["empty", "cut", "garbage"])
def test_what_is_not_a_pack_is_refused(gate: Gate, fetched: Fetched, pack: bytes) -> None:
    with pytest.raises(ToolError) as refused:
        receive(gate.git, fetched, [pack], fetched.base, now=fetched.refs, max_bytes=1 << 20, scratch=gate.scratch)

    assert rule(refused) == "push.objects"
    assert list(gate.scratch.iterdir()) == []


@pytest.mark.parametrize("commit", ["HEAD", "--all", "", "a" * 39, "A" * 40, "refs/heads/main", "a" * 40 + "\n"])
def test_what_is_not_an_object_name_is_refused(gate: Gate, fetched: Fetched, commit: str) -> None:
    with pytest.raises(ToolError) as refused:
        receive(gate.git, fetched, [], commit, now=fetched.refs, max_bytes=1 << 20, scratch=gate.scratch)

    assert rule(refused) == "push.objects"


def test_a_commit_that_was_not_handed_over_is_refused(gate: Gate, fetched: Fetched, clone: Path) -> None:
    pack = packed(clone, [])
    commit = change(clone, "a", "1")

    with pytest.raises(ToolError) as refused:
        receive(gate.git, fetched, [pack], commit, now=fetched.refs, max_bytes=1 << 20, scratch=gate.scratch)

    assert rule(refused) == "push.objects"


def test_an_object_that_is_no_commit_is_refused(gate: Gate, fetched: Fetched, clone: Path) -> None:
    change(clone, "a", "1")
    tree = git(clone, "rev-parse", "HEAD^{tree}")

    with pytest.raises(ToolError) as refused:
        receive(
            gate.git, fetched, [packed(clone, [tree])], tree, now=fetched.refs, max_bytes=1 << 20, scratch=gate.scratch
        )

    assert rule(refused) == "push.objects"


@pytest.mark.parametrize("left_out", ["HEAD:a", "HEAD^{tree}"])
def test_a_commit_with_a_part_missing_is_refused(gate: Gate, fetched: Fetched, clone: Path, left_out: str) -> None:
    change(clone, "a", "unique content")
    parts = [git(clone, "rev-parse", name) for name in ("HEAD", "HEAD^{tree}", "HEAD:a")]
    parts.remove(git(clone, "rev-parse", left_out))

    with pytest.raises(ToolError) as refused:
        receive(
            gate.git,
            fetched,
            [packed(clone, parts)],
            git(clone, "rev-parse", "HEAD"),
            now=fetched.refs,
            max_bytes=1 << 20,
            scratch=gate.scratch,
        )

    assert rule(refused) == "push.objects"


@pytest.mark.parametrize("name", [".git", ".GIT", "..", "a/b", "git~1"])
def test_a_malformed_tree_does_not_leave(gate: Gate, fetched: Fetched, clone: Path, name: str) -> None:
    blob = raw_object(clone, "blob", b"x")
    commit = raw_commit(clone, raw_tree(clone, [("100644", name, blob)]), [fetched.base])

    with pytest.raises(ToolError) as refused:
        gate.take(fetched, clone, commit)

    assert rule(refused) == "push.objects"


def test_a_file_too_large_to_judge_is_refused(gate: Gate, fetched: Fetched, clone: Path) -> None:
    change(clone, "a", "x" * 1000)
    with gate.take(fetched, clone) as quarantine:
        oid = git(clone, "rev-parse", "HEAD:a")

        assert len(quarantine.blob(oid, max_bytes=1000)) == 1000
        with pytest.raises(ToolError) as refused:
            quarantine.blob(oid, max_bytes=999)

    assert rule(refused) == "push.blob"


@pytest.mark.parametrize("oid", ["1" * 40, "--all", "HEAD"])
def test_a_blob_that_is_not_there_is_refused(gate: Gate, fetched: Fetched, clone: Path, oid: str) -> None:
    with gate.take(fetched, clone) as quarantine, pytest.raises(ToolError) as refused:
        quarantine.blob(oid, max_bytes=10)

    assert rule(refused) in ("push.blob", "push.objects")


def test_a_mirror_that_is_gone_refuses_the_push_and_leaves_nothing(gate: Gate, fetched: Fetched) -> None:
    fetched.mirror.rename(fetched.mirror.with_suffix(".away"))
    with pytest.raises(ToolError) as refused:
        receive(gate.git, fetched, [], fetched.base, now=fetched.refs, max_bytes=100, scratch=gate.scratch)

    assert rule(refused) == "push.objects"
    assert list(gate.scratch.iterdir()) == []


def test_the_mirror_is_not_written_by_what_is_received(gate: Gate, fetched: Fetched, clone: Path) -> None:
    commit = change(clone, "a", "1")
    with gate.take(fetched, clone):
        pass

    assert not gate.git.run(["cat-file", "-e", commit], repository=fetched.mirror).ok


def test_tags_of_files_and_folders_at_the_remote_do_not_stand_in_the_way(
    gate: Gate, tmp_path: Path, clone_of: Clone
) -> None:
    remote = build_r0(tmp_path / "work").remote
    git(remote, "tag", "blob", "main:README.md")
    git(remote, "tag", "-a", "-m", "tree", "tree", "main^{tree}")
    fetched = gate.fetch(remote, "agent/x1")
    clone = clone_of(fetched)
    commit = change(clone, "a", "1")
    with gate.take(fetched, clone) as quarantine:
        assert [item.commit for item in changes_of_range(quarantine, max_commits=9)] == [commit]
