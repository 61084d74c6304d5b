"""What is signed: a plain commit, whole, by the policy's person, just made; and nothing that only looks like one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runner.gate.commit_object import Expected, object_name, parse_commit, reason_not_to_sign, with_signature
from tests.support.repos import git, git_environment

TREE, ONE, TWO = "a" * 40, "1" * 40, "2" * 40
PERSON = "runner <runner@localhost> 1000 +0000"
SIGNATURE = b"-----BEGIN SSH SIGNATURE-----\nU1NI\nU0lH\n-----END SSH SIGNATURE-----\n"


def raw(
    *,
    parents: tuple[str, ...] = (ONE,),
    author: str = PERSON,
    committer: str = PERSON,
    more: str = "",
    message: str = "a\n",
) -> bytes:
    lines = [f"tree {TREE}", *(f"parent {name}" for name in parents), f"author {author}", f"committer {committer}"]
    return ("\n".join(lines) + f"\n{more}\n{message}").encode()


def reason(data: bytes, *, name: str = "runner", parents: tuple[str, ...] = (ONE,)) -> str | None:
    commit = parse_commit(data)
    assert commit is not None
    return reason_not_to_sign(commit, Expected(parents, name, "runner@localhost", earliest=900, latest=1100))


@pytest.mark.parametrize(
    "data",
    [
        raw(),
        raw(author="runner <runner@localhost> 1100 -0330"),
        raw(message=""),
        raw(message="tree x\nauthor y\n\n\nz"),
    ],
)
def test_the_policys_own_plain_commit_is_signed_whatever_its_message(data: bytes) -> None:
    assert reason(data) is None


def test_a_merge_and_a_first_commit_are_signed_on_just_their_parents() -> None:
    assert reason(raw(parents=(ONE, TWO)), parents=(ONE, TWO)) is None
    assert reason(raw(parents=()), parents=()) is None
    assert reason(raw(parents=(ONE, TWO))) is not None
    assert reason(raw(parents=(TWO, ONE)), parents=(ONE, TWO)) is not None
    assert reason(raw(parents=())) is not None


@pytest.mark.parametrize("role", ["author", "committer"])
@pytest.mark.parametrize(
    "person",
    [
        "Runner <runner@localhost> 1000 +0000",
        "runner <other@localhost> 1000 +0000",
        "runner <runner@localhost> 899 +0000",
        "runner <runner@localhost> 1101 +0000",
    ],
)
def test_another_person_or_another_time_is_not_signed(role: str, person: str) -> None:
    assert reason(raw(**{role: person})) is not None  # type: ignore[arg-type]  # the two texts among its words


def test_the_policys_name_is_compared_as_git_writes_it() -> None:
    assert reason(raw(), name="runner.") is None
    assert reason(raw(), name="run.ner") is not None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"blob",
        raw(more="gpgsig -----BEGIN SSH SIGNATURE-----\n"),
        raw(more="encoding latin1\n"),
        raw(more="mergetag object 1\n"),
        raw(more=f"parent {TWO}\n"),
        raw(author="runner <a> <runner@localhost> 1000 +0000"),
        raw(committer="runner <runner@localhost> -1000 +0000"),
        raw(committer="runner <runner@localhost> 1000"),
        raw().replace(b"tree ", b"Tree "),
        raw(message="a\0b"),
        raw(message="a" * (4 << 20)),
        raw().partition(b"\n\n")[0] + b"\n",
    ],
)
def test_what_is_no_plain_commit_is_not_even_one(data: bytes) -> None:
    assert parse_commit(data) is None


def test_a_commits_name_is_gits(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "caf\u00e9\n\n  body  ")
    data = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"],
        cwd=tmp_path,
        env=git_environment(tmp_path),
        capture_output=True,
        check=True,
    ).stdout

    commit = parse_commit(data)
    assert commit is not None
    assert commit.name == object_name(data) == git(tmp_path, "rev-parse", "HEAD")
    assert commit.author == ("Ada", "ada@example.com", 1700000000)


def test_the_signature_is_the_last_header_and_nothing_else_changes() -> None:
    commit = parse_commit(raw(message="first\n\nlast\n"))
    assert commit is not None
    header, _, message = with_signature(commit, SIGNATURE).partition(b"\n\n")

    assert message == b"first\n\nlast\n"
    assert header.decode().splitlines()[-4:] == [
        "gpgsig -----BEGIN SSH SIGNATURE-----",
        " U1NI",
        " U0lH",
        " -----END SSH SIGNATURE-----",
    ]


@pytest.mark.parametrize("forged", [b"", SIGNATURE[:-1], SIGNATURE + b"x", SIGNATURE.replace(b"U1NI", b"\nauthor x")])
def test_what_is_no_signature_becomes_no_header(forged: bytes) -> None:
    commit = parse_commit(raw())
    assert commit is not None
    with pytest.raises(ValueError, match="signature"):
        with_signature(commit, forged)
