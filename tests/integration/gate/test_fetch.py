from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from runner.gate.fetch import FetchLimits, fetch
from runner.gate.folders import remove_tree
from runner.gate.local import head_branch
from runner.model.errors import RepositoryUnavailable
from tests.support.gate import Gate, address_of
from tests.support.repos import Commit, File, bare_repository, build_r0, git


def refusal(gate: Gate, where: Path | str, ref: str | None = None) -> RepositoryUnavailable:
    with pytest.raises(RepositoryUnavailable) as refused:
        gate.fetch(where, ref)
    assert "\n" not in refused.value.message
    return refused.value


def test_the_default_branch_is_taken_when_no_ref_is_named(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")
    fetched = gate.fetch(r0.remote)

    assert (fetched.branch, fetched.default_branch, fetched.base) == ("main", "main", r0.main)
    assert fetched.refs == {"refs/heads/main": r0.main, "refs/heads/agent/x1": r0.base}


@pytest.mark.parametrize("ref", ["agent/x1", "refs/heads/agent/x1"])
def test_a_branch_is_found_by_its_name(gate: Gate, tmp_path: Path, ref: str) -> None:
    r0 = build_r0(tmp_path / "work")
    fetched = gate.fetch(r0.remote, ref)

    assert (fetched.branch, fetched.base) == ("agent/x1", r0.base)


def test_a_work_tree_can_be_fetched_from_too(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")
    fetched = gate.fetch(r0.path)

    assert (fetched.branch, fetched.base) == ("agent/x1", r0.base)


def test_a_linked_work_tree_can_be_fetched_from(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")
    git(r0.path, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))

    assert gate.fetch(tmp_path / "side").branch == "side"


@pytest.mark.parametrize("options", [[], ["-a", "-m", "one"]])
def test_a_tag_gives_a_commit_and_no_branch(gate: Gate, tmp_path: Path, options: list[str]) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    git(remote, "tag", *options, "v1", "main~1")
    fetched = gate.fetch(remote, "v1")

    assert fetched.branch is None
    assert fetched.base == git(remote, "rev-parse", "main~1")
    assert "refs/tags/v1" in fetched.refs


def test_a_tag_of_a_tag_is_followed_to_its_commit(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    git(remote, "tag", "-a", "-m", "one", "v1", "main")
    git(remote, "tag", "-a", "-m", "two", "v2", "v1")

    assert gate.fetch(remote, "v2").base == git(remote, "rev-parse", "main")


def test_a_tag_of_a_file_is_no_starting_point(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    git(remote, "tag", "blob", "main:a")

    assert refusal(gate, remote, "blob").code == "ref_not_found"


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("names", ["main:a", "main^{tree}", "v1"])
def test_a_branch_that_was_made_to_name_no_commit_comes_into_no_mirror(
    gate: Gate, tmp_path: Path, names: str, mirrored: bool
) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    git(remote, "tag", "-a", "-m", "one", "v1", "main")
    if mirrored:
        assert gate.fetch(remote).branch == "main"
    (remote / "refs" / "heads" / "odd").write_text(git(remote, "rev-parse", names) + "\n")  # git itself would not

    for ref in ("odd", "main"):
        assert refusal(gate, remote, ref).code == "repository_unavailable"


def test_a_branch_wins_over_a_tag_of_the_same_name(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    git(remote, "tag", "main", "main~1")

    assert gate.fetch(remote, "main").branch == "main"
    assert gate.fetch(remote, "refs/tags/main").branch is None


@pytest.mark.parametrize("digits", [40, 12, 7])
def test_a_commit_that_a_branch_holds_is_found_by_its_name(gate: Gate, tmp_path: Path, digits: int) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    old = git(remote, "rev-parse", "main~1")
    fetched = gate.fetch(remote, old[:digits])

    assert (fetched.base, fetched.branch) == (old, None)


def test_a_commit_that_no_ref_holds_any_more_is_not_found(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    tip = gate.fetch(remote).base
    git(remote, "update-ref", "refs/heads/main", "main~1")

    assert refusal(gate, remote, tip).code == "ref_not_found"


@pytest.mark.parametrize(
    "ref",
    [
        "agent/x",
        "nope",
        "",
        "HEAD~1",
        "main^",
        "main:README.md",
        "--upload-pack=touch /tmp/pwn",
        "-x",
        "@{0}",
        "a\nb",
        "f" * 40,
        "refs/heads/none",
        "\udc80",
    ],
)
def test_what_is_not_the_name_of_a_ref_is_not_found(gate: Gate, tmp_path: Path, ref: str) -> None:
    assert refusal(gate, build_r0(tmp_path / "work").remote, ref).code == "ref_not_found"


def test_an_unknown_ref_names_the_nearest_one(gate: Gate, tmp_path: Path) -> None:
    assert "agent/x1" in refusal(gate, build_r0(tmp_path / "work").remote, "agent/x2").hint


def test_a_detached_head_gives_its_commit(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")
    git(r0.path, "checkout", "--quiet", "--detach", "HEAD~1")
    fetched = gate.fetch(r0.path)

    assert (fetched.branch, fetched.default_branch, fetched.base) == (None, None, r0.main)


def test_a_head_that_names_no_branch_asks_for_a_ref(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})], head="gone")

    assert refusal(gate, remote).code == "ref_not_found"
    assert gate.fetch(remote, "main").default_branch == "gone"


@pytest.mark.parametrize("flaw", ["pipe", "garbage", "commit", "tag", "nothing"])
def test_a_head_of_any_form_is_read_without_waiting_or_believing(tmp_path: Path, flaw: str) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    (remote / "HEAD").unlink()
    if flaw == "pipe":
        os.mkfifo(remote / "HEAD")
    elif flaw != "nothing":
        said = {"garbage": b"\xff\0" * 9000, "commit": b"a" * 40, "tag": b"ref: refs/tags/v1\n"}[flaw]
        (remote / "HEAD").write_bytes(said)

    assert head_branch(remote) is None


def test_heads_branch_is_found_in_every_kind_of_local_repository(tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")
    git(r0.path, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    old = bare_repository(tmp_path / "old.git", [Commit({"a": "1"})])
    (old / "HEAD").unlink()
    (old / "HEAD").symlink_to("refs/heads/unborn")

    found = [head_branch(path) for path in (r0.remote, r0.path, tmp_path / "side", old)]
    assert found == ["main", "agent/x1", "side", "unborn"]


def test_a_repository_without_commits_is_refused(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [])

    assert refusal(gate, remote).code == "repository_empty"


def test_what_is_not_a_repository_is_refused(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")

    assert refusal(gate, tmp_path / "folder").code == "repository_not_found"
    assert refusal(gate, tmp_path / "file").code == "repository_not_found"
    assert refusal(gate, tmp_path / "missing").code == "repository_not_found"


def test_a_missing_folder_is_not_completed_to_another_name(gate: Gate, tmp_path: Path) -> None:
    bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])

    assert refusal(gate, tmp_path / "r").code == "repository_not_found"


@pytest.mark.parametrize("name", ["with space", "a:b", "%41", "ünï", "quote'\"$(touch pwn)`x`;x", "-x", "\udc80bytes"])
def test_a_folder_of_any_name_can_be_fetched_from(gate: Gate, tmp_path: Path, name: str) -> None:
    remote = bare_repository(tmp_path / name, [Commit({"a": "1"})])

    assert gate.fetch(remote).branch == "main"
    assert not (tmp_path / "pwn").exists()


def test_a_failed_first_fetch_leaves_nothing_but_a_lock(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refusal(gate, tmp_path / "folder")

    assert gate.kept() == []


def test_a_second_run_sees_what_the_remote_has_now(gate: Gate, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "work")
    first = gate.fetch(r0.remote, "agent/x1")
    git(r0.path, "commit", "--quiet", "--allow-empty", "-m", "more")
    git(r0.path, "push", "--quiet", "origin", "HEAD:agent/x1", "HEAD:refs/heads/new")
    git(r0.remote, "branch", "-D", "main")
    git(r0.remote, "symbolic-ref", "HEAD", "refs/heads/new")
    second = gate.fetch(r0.remote)

    assert second.mirror == first.mirror
    assert set(second.refs) == {"refs/heads/agent/x1", "refs/heads/new"}
    assert second.default_branch == "new"
    assert first.refs["refs/heads/main"] == r0.main


def test_a_branch_that_became_a_folder_of_branches_is_followed(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"}, branch="x")])
    gate.fetch(remote)
    git(remote, "branch", "-m", "x", "y")
    git(remote, "branch", "-m", "y", "x/y")

    assert "refs/heads/x/y" in gate.fetch(remote).refs


def test_a_rewritten_branch_is_followed(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    gate.fetch(remote)
    git(remote, "update-ref", "refs/heads/main", "main~1")

    assert gate.fetch(remote).base == git(remote, "rev-parse", "main")


def test_what_a_killed_fetch_left_does_not_stop_the_next(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    mirror = gate.fetch(remote).mirror
    (mirror / "refs" / "heads" / "main.lock").touch()
    (mirror / "packed-refs.lock").touch()
    (mirror / "objects" / "pack" / "tmp_pack_x").touch()
    mirror.with_suffix(".new").mkdir()
    git(remote, "update-ref", "refs/heads/other", "main")

    assert "refs/heads/other" in gate.fetch(remote).refs
    assert not (mirror / "objects" / "pack" / "tmp_pack_x").exists()


def test_a_run_that_waits_for_another_says_so_and_gives_up_at_its_limit(gate: Gate, tmp_path: Path) -> None:
    address = address_of(bare_repository(tmp_path / "r.git", [Commit({"a": "1"})]))
    gate.mirrors.mkdir()
    said: list[str] = []
    with (gate.mirrors / f"{address.digest}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(RepositoryUnavailable) as refused:
            fetch(gate.git, address, None, gate.mirrors, progress=said.append, limits=FetchLimits(seconds=0))

    assert refused.value.code == "mirror_busy"
    assert len(said) == 1


def test_concurrent_runs_share_one_mirror(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({f"f{n}": os.urandom(1000) for n in range(50)})])
    bases: list[str] = []
    runs = [threading.Thread(target=lambda: bases.append(gate.fetch(remote).base)) for _ in range(4)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()

    assert bases == [git(remote, "rev-parse", "main")] * 4
    assert len(gate.kept()) == 1


def test_a_pack_over_the_limit_is_refused_and_leaves_no_mirror(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"big": os.urandom(3 << 20)})])
    with pytest.raises(RepositoryUnavailable) as refused:
        fetch(gate.git, address_of(remote), None, gate.mirrors, limits=FetchLimits(pack_mib=1))

    assert refused.value.code == "repository_too_large"
    assert gate.kept() == []


def test_flaws_of_old_commits_that_harm_nobody_are_accepted(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    tree = git(remote, "rev-parse", "main^{tree}")
    text = f"tree {tree}\nauthor Ada <a@b> 1 +051800\ncommitter Ada <a@b> 1 +051800\n\nx\n"
    oid = git(remote, "hash-object", "-w", "--literally", "-t", "commit", "--stdin", stdin=text.encode())
    git(remote, "update-ref", "refs/heads/main", oid)

    assert gate.fetch(remote).base == oid


def test_other_refs_than_branches_and_tags_are_not_taken(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"}, branch="x")])
    git(remote, "update-ref", "refs/pull/1/head", "x")
    git(remote, "update-ref", "refs/replace/" + git(remote, "rev-parse", "main"), "x")
    git(remote, "branch", "-D", "x")
    fetched = gate.fetch(remote)

    assert set(fetched.refs) == {"refs/heads/main"}
    assert git(fetched.mirror, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_gitlink_is_not_followed(gate: Gate, tmp_path: Path) -> None:
    modules = '[submodule "s"]\n\tpath = s\n\turl = ext::sh -c touch% /tmp/pwn\n'
    files: dict[str, File | bytes | str | None] = {".gitmodules": modules, "s": File(b"1" * 40, "160000")}
    remote = bare_repository(tmp_path / "r.git", [Commit(files)])

    assert gate.fetch(remote).branch == "main"


def test_a_configuration_that_was_left_in_a_mirror_leads_the_next_fetch_nowhere_else(
    gate: Gate, tmp_path: Path
) -> None:
    """Asset: later runs. Attack: a gate's container that was taken over once. Expected: the address is fetched."""
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    evil = bare_repository(tmp_path / "evil.git", [Commit({"a": "evil"})])
    fetched = gate.fetch(remote)
    git(fetched.mirror, "config", f"url.{evil}.insteadOf", fetched.address.url)
    git(remote, "update-ref", "refs/heads/more", "main")

    assert gate.fetch(remote).refs["refs/heads/more"] == git(remote, "rev-parse", "main")


def test_a_branch_of_a_thousand_parts_does_not_stop_later_runs(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])
    name = "refs/heads/" + "a/" * 990 + "x"
    (remote / "packed-refs").write_text(f"{git(remote, 'rev-parse', 'main')} {name}\n")

    try:
        assert name in gate.fetch(remote).refs
        assert name in gate.fetch(remote).refs
    finally:
        remove_tree(gate.mirrors)  # which pytest's own removal of a test's folder could not
