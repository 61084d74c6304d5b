"""What a clone lacks is found in the host's mirror: pointers by their content, submodules by their mode."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from runner.controller import left_out
from runner.controller.base_tree import BaseListing, list_base, read_objects
from runner.controller.left_out import LeftOut, find_left_out
from runner.gate.address import resolve_address
from runner.gate.fetch import Fetched, fetch
from runner.gate.host_git import HostGit
from tests.support.repos import Commit, File, bare_repository, git, link

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n"
LFS = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


class Site:
    """A mirror of a repository with these files."""

    def __init__(self, folder: Path, files: dict[str, File | bytes | str | None]) -> None:
        repository = bare_repository(folder / "r.git", [Commit(files)])
        self.gate = HostGit(folder / "gate")
        address = resolve_address(str(repository), cwd=PurePosixPath(folder), bindings=[])
        self.fetched: Fetched = fetch(self.gate, address, None, folder / "mirrors")
        self.base: BaseListing = list_base(self.gate, self.fetched)

    def found(self) -> LeftOut:
        return find_left_out(self.gate, self.fetched, self.base)


def test_pointers_are_told_from_files_that_look_like_them(tmp_path: Path) -> None:
    site = Site(
        tmp_path,
        {
            ".gitattributes": LFS,
            "a.bin": POINTER,
            "deep/\nb\udce9.bin": POINTER,
            "short.bin": POINTER[:60],
            "text.bin": "x" * 130,
            "long.bin": POINTER + "x" * 2000,
            "link.bin": link(POINTER.replace("\n", "x")),
        },
    )
    assert site.found().pointers == ("a.bin", "deep/\nb\udce9.bin")


def test_without_the_attribute_a_pointer_is_a_text_file(tmp_path: Path) -> None:
    assert Site(tmp_path, {"a.bin": POINTER, ".gitattributes": "*.bin text\n"}).found() == LeftOut()


def test_the_attribute_counts_in_any_folder(tmp_path: Path) -> None:
    assert Site(tmp_path, {"assets/.gitattributes": LFS, "assets/a.bin": POINTER}).found().pointers == ("assets/a.bin",)


def test_no_number_of_small_files_takes_more_than_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_out, "_MAX_CANDIDATES", 2)
    found = Site(tmp_path, {".gitattributes": LFS, **{f"{n}.bin": POINTER for n in range(5)}}).found()
    assert (len(found.pointers), found.more_pointers) == (2, True)
    assert list(found.notes()) == ["at least 2 files are LFS pointers; their content is not fetched"]


def test_submodules_are_found_by_their_mode(tmp_path: Path) -> None:
    found = Site(tmp_path, {f"lib{n}": File(b"1" * 40, "160000") for n in range(4)}).found()
    assert found.submodules == ("lib0", "lib1", "lib2", "lib3")
    assert list(found.notes()) == ["4 submodules are not fetched: lib0, lib1, lib2, …"]
    assert found.facts()["submodules"] == {"count": 4, "paths": ["lib0", "lib1", "lib2", "lib3"]}


def test_a_plain_repository_leaves_nothing_out_and_says_nothing(tmp_path: Path) -> None:
    found = Site(tmp_path, {"a": "x"}).found()
    assert (found, list(found.notes())) == (LeftOut(), [])


def test_objects_are_read_in_order_and_within_their_bound(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": "one\n\nline\n", "b": "", "c": "x" * 5000})
    names = [site.base.objects[path] for path in ("b", "a", "c", "a")]
    mirror = site.fetched.mirror
    assert read_objects(site.gate, mirror, names, 6000) == [b"", b"one\n\nline\n", b"x" * 5000, b"one\n\nline\n"]
    assert read_objects(site.gate, mirror, names, 100) is None
    assert read_objects(site.gate, mirror, ["0" * 40], 100) is None
    assert read_objects(site.gate, mirror, [], 0) == []


def test_links_and_submodules_are_known_for_what_they_are(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a": "x", "l": link("a"), "s": File(b"1" * 40, "160000")})
    assert (site.base.links, site.base.gitlinks) == (frozenset({"l"}), ("s",))
    listed = git(tmp_path / "r.git", "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert sorted(site.base.objects) == listed
