"""The files of a fresh repository, and the archive of them: what git and tar make of it, and what a short part does."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.gate.clone_files import Entry, archive, bare_repository, core, repository
from runner.gate.shipment import Part, Shipment
from runner.model.errors import RepositoryUnavailable
from tests.support.repos import build_r0, git, git_environment


@contextmanager
def shipped(tmp_path: Path, pack: bytes) -> Iterator[Shipment]:
    for name, data in (("pack", pack), ("idx", b"i")):
        (tmp_path / name).write_bytes(data)
    with (tmp_path / "pack").open("rb") as opened, (tmp_path / "idx").open("rb") as index:
        yield Shipment("0" * 40, opened, index)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 3 << 20])
def test_an_archive_has_the_parts_of_a_shipment_byte_for_byte(size: int, tmp_path: Path) -> None:
    pack = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    entries = [Entry("d"), Entry("d/pack", Part.PACK), Entry("d/idx", Part.INDEX), Entry("d/own", b"own")]
    with shipped(tmp_path, pack) as parts:
        data = b"".join(archive(entries, parts))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        read = {member.name: tar.extractfile(member) for member in tar.getmembers() if member.isfile()}
        contents = {name: file.read() for name, file in read.items() if file is not None}
    assert contents == {"d/pack": pack, "d/idx": b"i", "d/own": b"own"}
    assert len(data) % 512 == 0


def test_a_part_that_shrinks_meanwhile_ends_the_archive_and_one_that_grows_does_not_put_it_out_of_step(
    tmp_path: Path,
) -> None:
    """Asset: the workspace's files. Attack: a taken-over room rewrites a shipment that is being sent."""
    entries = [Entry("pack", Part.PACK), Entry("own", b"own")]
    with shipped(tmp_path, b"x" * (2 << 20)) as parts:
        pieces = archive(entries, parts)
        first = next(pieces)
        (tmp_path / "pack").write_bytes(b"y" * (3 << 20))
        with tarfile.open(fileobj=io.BytesIO(first + b"".join(pieces))) as tar:
            assert [(member.name, member.size) for member in tar.getmembers()] == [("pack", 2 << 20), ("own", 3)]
        pieces = archive(entries, parts)
        next(pieces)
        (tmp_path / "pack").write_bytes(b"y")
        with pytest.raises(RepositoryUnavailable):
            list(pieces)


def test_git_takes_the_files_for_a_repository_with_these_refs(tmp_path: Path) -> None:
    work = build_r0(tmp_path / "work")
    refs = {"refs/heads/z/y": work.base, "refs/heads/a": work.main, "refs/tags/é": work.base}
    made = tmp_path / "made.git"
    data = b"".join(archive(bare_repository(str(made), str(work.path / ".git" / "objects"), refs, ())))
    unpack = ["tar", "--extract", "--absolute-names", "--file=-"]
    subprocess.run(unpack, input=data, env=git_environment(tmp_path), check=True)
    listed = git(made, "for-each-ref", "--format=%(refname) %(objectname)").split("\n")
    assert listed == [f"{name} {oid}" for name, oid in sorted(refs.items())]
    assert git(made, "fsck", "--strict", "--connectivity-only") == ""
    assert git(made, "rev-parse", "--is-bare-repository") == "true"
    git(made, "update-ref", "refs/heads/new", work.base)


def test_a_repository_that_ends_early_says_where(tmp_path: Path) -> None:
    made = repository(".git", head="ref: refs/heads/main", config=core(bare=False), refs={}, shallow=["1" * 40])
    contents = {entry.path: entry.content for entry in made}
    assert contents[".git/shallow"] == b"1" * 40 + b"\n"
    assert ".git/packed-refs" not in contents
