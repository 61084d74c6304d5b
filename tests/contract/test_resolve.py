"""Where a path leads: links are followed beneath the root and nowhere else."""

from __future__ import annotations

from functools import partial

import pytest

from runner.engine.contract import FileFault, FileRefused
from runner.model.tree import EntryKind
from tests.contract.boxes import Box, fault_of


def test_the_root_resolves_to_itself(box: Box) -> None:
    root = box.sandbox.resolve(".")
    assert (root.path, root.exists, root.kind, root.via_link) == (".", True, EntryKind.DIR, False)


def test_a_file_resolves_with_size_and_mode(box: Box) -> None:
    box.put("a/b.sh", b"12345", 0o750)
    seen = box.sandbox.resolve("a/b.sh")
    assert (seen.path, seen.kind, seen.size, seen.mode, seen.links) == ("a/b.sh", EntryKind.FILE, 5, 0o750, 1)


def test_a_missing_path_is_its_real_parent_and_the_missing_names(box: Box) -> None:
    box.mkdir("real")
    box.link("alias", "real")
    seen = box.sandbox.resolve("alias/new/file")
    assert (seen.path, seen.exists, seen.kind, seen.via_link) == ("real/new/file", False, None, True)


def test_a_link_is_followed_beneath_the_root(box: Box) -> None:
    box.put("deep/er/target", b"x")
    box.link("deep/link", "../deep/er/../er/target")
    seen = box.sandbox.resolve("deep/link")
    assert (seen.path, seen.kind, seen.via_link) == ("deep/er/target", EntryKind.FILE, True)


def test_a_dangling_link_resolves_to_where_it_points(box: Box) -> None:
    box.link("dangling", "nowhere")
    seen = box.sandbox.resolve("dangling")
    assert (seen.path, seen.exists, seen.via_link) == ("nowhere", False, True)


@pytest.mark.parametrize("target", ["/etc/passwd", "/", "../outside", "a/../../outside"])
def test_a_link_that_leaves_the_root_is_outside(box: Box, target: str) -> None:
    box.mkdir("a")
    box.link("leak", target)
    assert fault_of(lambda: box.sandbox.resolve("leak")) is FileFault.OUTSIDE
    assert fault_of(lambda: box.sandbox.resolve("leak/below")) is FileFault.OUTSIDE


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc/passwd", "missing/../../x"])
def test_a_path_that_leaves_the_root_is_outside(box: Box, path: str) -> None:
    box.mkdir("a")
    assert fault_of(lambda: box.sandbox.resolve(path)) is FileFault.OUTSIDE


def test_dots_that_stay_inside_are_resolved(box: Box) -> None:
    box.put("a/f", b"")
    assert box.sandbox.resolve("./a/../a/./f").path == "a/f"


def test_dots_after_a_link_go_up_from_its_target(box: Box) -> None:
    box.put("x/f", b"")
    box.mkdir("x/y")
    box.link("l", "x/y")
    assert box.sandbox.resolve("l/../f").path == "x/f"


def test_a_loop_of_links_is_a_loop(box: Box) -> None:
    box.link("one", "two")
    box.link("two", "one")
    assert fault_of(lambda: box.sandbox.resolve("one")) is FileFault.LOOP


def test_forty_links_in_a_row_are_followed_and_one_more_is_a_loop(box: Box) -> None:
    box.put("l0", b"x")
    for number in range(1, 42):
        box.link(f"l{number}", f"l{number - 1}")
    assert box.sandbox.resolve("l40").path == "l0"
    assert fault_of(lambda: box.sandbox.resolve("l41")) is FileFault.LOOP


@pytest.mark.parametrize("path", ["f/x", "f/", "f/.", "f/.."])
def test_a_file_is_no_folder(box: Box, path: str) -> None:
    box.put("f", b"")
    assert fault_of(lambda: box.sandbox.resolve(path)) is FileFault.NOT_A_DIRECTORY


@pytest.mark.parametrize("path", ["a/" * 5000 + "a", "x" * 256, "a/" + "é" * 128, "a/" * 300 + "a", "y" * 100_000])
def test_a_path_that_no_kernel_would_take_is_too_long(box: Box, path: str) -> None:
    assert fault_of(lambda: box.sandbox.resolve(path)) is FileFault.NAME_TOO_LONG
    assert fault_of(lambda: box.sandbox.read(path, max_bytes=1)) is FileFault.NAME_TOO_LONG
    assert fault_of(lambda: box.sandbox.write(path, b"")) is FileFault.NAME_TOO_LONG


def test_a_name_of_255_bytes_is_fine(box: Box) -> None:
    box.sandbox.write("x" * 255, b"1")
    assert box.sandbox.resolve("x" * 255).exists


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_cannot_be_a_file_name_is_denied(box: Box, path: str) -> None:
    assert fault_of(lambda: box.sandbox.resolve(path)) is FileFault.DENIED
    assert fault_of(lambda: box.sandbox.write(path, b"")) is FileFault.DENIED


def test_a_fifo_resolves_as_other(box: Box) -> None:
    box.fifo("pipe")
    assert box.sandbox.resolve("pipe").kind is EntryKind.OTHER


def test_names_with_newlines_and_bytes_that_are_not_utf8_resolve(box: Box) -> None:
    for name in ("new\nline", "caf\udce9", "-rf", " ", "ünï"):
        box.sandbox.write(name, b"1")
        assert box.sandbox.resolve(name).path == name


def test_a_look_is_what_resolving_and_reading_the_real_path_give(box: Box) -> None:
    box.put("a/f", b"content", 0o640)
    box.link("way", "a")
    box.link("dangling", "a/nothing")
    for path in ("a/f", "way/f", "a", "way", "dangling", "missing", "a/missing/deep"):
        seen = box.sandbox.look(path, max_bytes=100)
        assert seen.where == box.sandbox.resolve(path)
        if isinstance(seen.content, FileRefused):
            read = partial(box.sandbox.read, seen.where.path, max_bytes=100)
            assert seen.content.fault is fault_of(read)
        else:
            assert seen.content == box.sandbox.read(seen.where.path, max_bytes=100)
    assert box.sandbox.look("way/f", max_bytes=100).where.via_link


def test_a_look_at_too_large_a_file_says_its_size(box: Box) -> None:
    box.put("f", b"12345")
    refused = box.sandbox.look("f", max_bytes=4).content
    assert isinstance(refused, FileRefused) and (refused.fault, refused.size) == (FileFault.TOO_LARGE, 5)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside"])
def test_a_look_that_leaves_the_root_sees_nothing_and_the_next_one_works(box: Box, target: str) -> None:
    box.put("f", b"x")
    box.link("leak", target)
    assert fault_of(lambda: box.sandbox.look("leak", max_bytes=10)) is FileFault.OUTSIDE
    assert box.sandbox.read("f", max_bytes=10).data == b"x"
