"""Reading, listing, writing and deleting: what is refused leaves the tree as it was."""

from __future__ import annotations

import hashlib

import pytest

from runner.engine.contract import ABSENT, FileFault, FileRefused
from runner.model.tree import EntryKind
from tests.contract.boxes import Box, RealBox, fault_of

BIG = bytes(range(256)) * (3 * 4096 + 1)  # over three frames


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _names(box: Box, path: str = ".") -> list[str]:
    return [entry.name for entry in box.sandbox.list(path, max_entries=100).entries]


# --- read


@pytest.mark.parametrize("data", [b"", b"hello\n", b"\0\xff", BIG], ids=["empty", "text", "binary", "big"])
def test_a_file_is_read_whole_with_its_digest(box: Box, data: bytes) -> None:
    box.sandbox.write("f", data)
    seen = box.sandbox.read("f", max_bytes=len(BIG))
    assert (seen.data, seen.size, seen.mode, seen.sha256) == (data, len(data), 0o644, _sha256(data))


def test_reading_what_is_not_there_is_missing(box: Box) -> None:
    box.put("f", b"")
    for path in ("x", "x/y", "f/y"):
        assert fault_of(lambda path=path: box.sandbox.read(path, max_bytes=9)) is FileFault.MISSING  # type: ignore[misc]


def test_reading_refuses_to_meet_a_link(box: Box) -> None:
    box.put("d/f", b"x")
    box.link("leaf", "d/f")
    box.link("folder", "d")
    assert fault_of(lambda: box.sandbox.read("leaf", max_bytes=9)) is FileFault.LINK
    assert fault_of(lambda: box.sandbox.read("folder/f", max_bytes=9)) is FileFault.LINK


def test_reading_a_folder_is_refused(box: Box) -> None:
    box.mkdir("d")
    assert fault_of(lambda: box.sandbox.read("d", max_bytes=9)) is FileFault.IS_DIRECTORY
    assert fault_of(lambda: box.sandbox.read(".", max_bytes=9)) is FileFault.IS_DIRECTORY


def test_reading_a_fifo_does_not_wait(box: Box) -> None:
    box.fifo("pipe")
    assert fault_of(lambda: box.sandbox.read("pipe", max_bytes=9)) is FileFault.NOT_REGULAR


def test_reading_a_socket_does_not_wait(real: RealBox) -> None:
    made = real.shell("python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"")
    assert made.exit == 0
    assert fault_of(lambda: real.sandbox.read("s", max_bytes=9)) is FileFault.NOT_REGULAR


def test_a_sparse_file_of_five_gigabytes_is_too_large_at_once(box: Box) -> None:
    size = 5 << 30
    if isinstance(box, RealBox) and box.shell(f"truncate -s {size} huge").exit != 0:
        size = 100 << 20  # the sandbox's own file limit is lower
    box.sparse("huge", size)
    with pytest.raises(FileRefused) as refused:
        box.sandbox.read("huge", max_bytes=10 << 20)
    assert (refused.value.fault, refused.value.size) == (FileFault.TOO_LARGE, size)


def test_a_file_of_just_the_limit_is_read_and_one_byte_more_is_too_large(box: Box) -> None:
    box.sandbox.write("f", b"x" * 100)
    assert box.sandbox.read("f", max_bytes=100).size == 100
    with pytest.raises(FileRefused) as refused:
        box.sandbox.read("f", max_bytes=99)
    assert (refused.value.fault, refused.value.size) == (FileFault.TOO_LARGE, 100)


def test_a_file_without_read_permission_is_denied(box: Box) -> None:
    box.put("f", b"x", 0o000)
    assert fault_of(lambda: box.sandbox.read("f", max_bytes=9)) is FileFault.DENIED


def test_a_file_in_a_closed_folder_is_denied(box: Box) -> None:
    box.put("d/f", b"x")
    box.mkdir("d", 0o000)
    assert fault_of(lambda: box.sandbox.read("d/f", max_bytes=9)) is FileFault.DENIED


def test_a_path_that_is_not_canonical_is_outside(box: Box) -> None:
    box.put("d/f", b"x")
    for path in ("d/../d/f", "d//f", "./d/f", "d/f/", "/etc/passwd", "../x"):
        assert fault_of(lambda path=path: box.sandbox.read(path, max_bytes=9)) is FileFault.OUTSIDE  # type: ignore[misc]


# --- list


def test_a_listing_is_sorted_by_bytes_and_leaves_git_out(box: Box) -> None:
    for name in ("b", "Z", "é", "a.b", "a"):
        box.put(name, b"12")
    box.put(".git/config", b"")
    box.put("sub/.git", b"gitdir: elsewhere")
    box.put("sub/x", b"")
    assert _names(box) == ["Z", "a", "a.b", "b", "sub", "é"]
    assert _names(box, "sub") == ["x"]


def test_a_listing_says_kind_and_size_without_following_links(box: Box) -> None:
    box.put("file", b"12345")
    box.mkdir("folder")
    box.link("link", "file")
    box.fifo("pipe")
    entries = {entry.name: entry for entry in box.sandbox.list(".", max_entries=9).entries}
    assert {name: entry.kind for name, entry in entries.items()} == {
        "file": EntryKind.FILE, "folder": EntryKind.DIR, "link": EntryKind.SYMLINK, "pipe": EntryKind.OTHER,
    }  # fmt: skip
    assert (entries["file"].size, entries["link"].size) == (5, 4)


def test_a_listing_is_cut_where_asked(box: Box) -> None:
    for name in "abc":
        box.put(name, b"")
    exact = box.sandbox.list(".", max_entries=3)
    cut = box.sandbox.list(".", max_entries=2)
    assert (len(exact.entries), exact.truncated) == (3, False)
    assert ([entry.name for entry in cut.entries], cut.truncated) == (["a", "b"], True)


def test_strange_names_are_listed_as_they_are(box: Box) -> None:
    names = ["-rf", "new\nline", "caf\udce9"]
    for name in names:
        box.put(name, b"")
    assert _names(box) == sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape"))


def test_only_a_real_folder_is_listed(box: Box) -> None:
    box.put("f", b"")
    box.mkdir("d")
    box.link("l", "d")
    box.mkdir("closed", 0o000)
    cases = {"x": FileFault.MISSING, "f": FileFault.NOT_A_DIRECTORY, "f/x": FileFault.NOT_A_DIRECTORY}
    cases |= {"l": FileFault.LINK, "closed": FileFault.DENIED}
    for path, fault in cases.items():
        assert fault_of(lambda path=path: box.sandbox.list(path, max_entries=9)) is fault  # type: ignore[misc]


# --- write


def test_a_write_makes_the_folders_above(box: Box) -> None:
    box.sandbox.write("a/b/c.txt", b"x")
    assert box.sandbox.read("a/b/c.txt", max_bytes=9).data == b"x"
    assert box.sandbox.resolve("a/b").mode == 0o755


def test_a_write_keeps_the_mode_and_a_new_file_is_0644(box: Box) -> None:
    box.put("run.sh", b"old", 0o755)
    box.sandbox.write("run.sh", b"new")
    box.sandbox.write("fresh", b"")
    assert box.sandbox.read("run.sh", max_bytes=9).mode == 0o755
    assert box.sandbox.resolve("fresh").mode == 0o644


def test_a_write_drops_the_setuid_bit(real: RealBox) -> None:
    real.put("tool", b"old", 0o4755)
    real.sandbox.write("tool", b"new")
    assert real.sandbox.resolve("tool").mode == 0o755


def test_a_write_replaces_and_does_not_reach_through_a_hard_link(real: RealBox) -> None:
    real.put("f", b"old")
    real.shell("ln f other")
    real.sandbox.write("f", b"new")
    assert real.sandbox.read("other", max_bytes=9).data == b"old"


def test_a_write_leaves_nothing_but_the_file(box: Box) -> None:
    box.sandbox.write("f", BIG)
    box.sandbox.write("f", b"1")
    assert _names(box) == ["f"]


def test_a_write_refuses_to_meet_a_link(box: Box) -> None:
    box.put("d/f", b"old")
    box.link("leaf", "d/f")
    box.link("folder", "d")
    for path in ("leaf", "folder/f", "folder/new"):
        assert fault_of(lambda path=path: box.sandbox.write(path, b"new")) is FileFault.LINK  # type: ignore[misc]
    assert box.sandbox.read("d/f", max_bytes=9).data == b"old"
    assert _names(box, "d") == ["f"]


def test_a_folder_swapped_for_a_link_after_the_decision_is_met_as_a_link(box: Box) -> None:
    box.put("src/f", b"old")
    box.put("secret/f", b"keep")
    real = box.sandbox.resolve("src/f").path
    box.remove("src")
    box.link("src", "secret")
    assert fault_of(lambda: box.sandbox.write(real, b"new")) is FileFault.LINK
    assert fault_of(lambda: box.sandbox.delete(real)) is FileFault.LINK
    assert box.sandbox.read("secret/f", max_bytes=9).data == b"keep"


def test_a_write_onto_what_is_no_file_is_refused(box: Box) -> None:
    box.mkdir("d")
    box.fifo("pipe")
    box.put("f", b"old")
    cases = {"d": FileFault.IS_DIRECTORY, ".": FileFault.IS_DIRECTORY, "pipe": FileFault.NOT_REGULAR}
    cases |= {"f/x": FileFault.NOT_A_DIRECTORY, "f/x/y": FileFault.NOT_A_DIRECTORY}
    for path, fault in cases.items():
        assert fault_of(lambda path=path: box.sandbox.write(path, BIG)) is fault  # type: ignore[misc]
    assert _names(box) == ["d", "f", "pipe"]
    assert box.sandbox.read("f", max_bytes=9).data == b"old"


def test_a_read_only_file_is_not_replaced(box: Box) -> None:
    box.put("f", b"old", 0o444)
    assert fault_of(lambda: box.sandbox.write("f", b"new")) is FileFault.DENIED
    assert box.sandbox.read("f", max_bytes=9).data == b"old"


def test_a_write_into_a_read_only_folder_is_denied(box: Box) -> None:
    box.mkdir("d", 0o555)
    assert fault_of(lambda: box.sandbox.write("d/f", b"new")) is FileFault.DENIED
    assert fault_of(lambda: box.sandbox.write("d/e/f", b"new")) is FileFault.DENIED


def test_a_write_happens_when_the_file_is_as_expected(box: Box) -> None:
    box.put("f", b"old")
    box.sandbox.write("f", b"new", expect=_sha256(b"old"))
    box.sandbox.write("g", b"first", expect=ABSENT)
    assert box.sandbox.read("f", max_bytes=9).data == b"new"
    assert box.sandbox.read("g", max_bytes=9).data == b"first"


def test_a_write_is_refused_when_the_file_is_not_as_expected(box: Box) -> None:
    box.put("f", b"other")
    assert fault_of(lambda: box.sandbox.write("f", b"new", expect=_sha256(b"old"))) is FileFault.CHANGED
    assert fault_of(lambda: box.sandbox.write("f", b"new", expect=ABSENT)) is FileFault.CHANGED
    assert fault_of(lambda: box.sandbox.write("g", b"new", expect=_sha256(b"old"))) is FileFault.CHANGED
    assert box.sandbox.read("f", max_bytes=9).data == b"other"
    assert _names(box) == ["f"]


def test_a_refused_write_takes_back_the_folders_it_made(box: Box) -> None:
    box.mkdir("kept")
    for data in (b"new", BIG):
        act = lambda data=data: box.sandbox.write("kept/a/b/f", data, expect=_sha256(b"old"))  # noqa: E731
        assert fault_of(act) is FileFault.CHANGED
    assert _names(box, "kept") == []


def test_the_stream_is_in_step_after_a_refused_write_of_many_pieces(box: Box) -> None:
    box.mkdir("d")
    assert fault_of(lambda: box.sandbox.write("d", BIG)) is FileFault.IS_DIRECTORY
    box.sandbox.write("f", BIG)
    assert box.sandbox.read("f", max_bytes=len(BIG)).data == BIG


@pytest.mark.docker
def test_a_full_workspace_refuses_a_write_and_keeps_what_was(docker_sandbox: object) -> None:
    box = RealBox(docker_sandbox)
    box.put("f", b"old")
    box.shell("for n in 1 2 3; do head -c 100000000 /dev/zero >fill$n; done")
    assert fault_of(lambda: box.sandbox.write("f", b"x" * (10 << 20))) is FileFault.NO_SPACE
    assert box.sandbox.read("f", max_bytes=9).data == b"old"
    assert not [name for name in _names(box) if name.startswith(".runner")]


@pytest.mark.docker
def test_a_file_over_the_file_limit_is_too_large(docker_sandbox: object) -> None:
    box = RealBox(docker_sandbox)
    assert fault_of(lambda: box.sandbox.write("d/f", b"x" * (129 << 20))) is FileFault.TOO_LARGE
    assert _names(box) == []


# --- delete


def test_a_deleted_file_is_gone_and_a_second_delete_is_missing(box: Box) -> None:
    box.put("f", b"x")
    box.sandbox.delete("f", expect=_sha256(b"x"))
    assert not box.sandbox.resolve("f").exists
    for path in ("f", "no/f"):
        assert fault_of(lambda path=path: box.sandbox.delete(path)) is FileFault.MISSING  # type: ignore[misc]


def test_a_deleted_link_leaves_its_target(box: Box) -> None:
    box.put("f", b"x")
    box.link("l", "f")
    box.link("dangling", "nowhere")
    box.sandbox.delete("l")
    box.sandbox.delete("dangling")
    assert _names(box) == ["f"]


def test_a_delete_refuses_folders_links_on_the_way_and_changed_files(box: Box) -> None:
    box.put("d/f", b"x")
    box.link("l", "d")
    assert fault_of(lambda: box.sandbox.delete("d")) is FileFault.IS_DIRECTORY
    assert fault_of(lambda: box.sandbox.delete(".")) is FileFault.IS_DIRECTORY
    assert fault_of(lambda: box.sandbox.delete("l/f")) is FileFault.LINK
    assert fault_of(lambda: box.sandbox.delete("d/f", expect=_sha256(b"y"))) is FileFault.CHANGED
    assert fault_of(lambda: box.sandbox.delete("d/f", expect=ABSENT)) is FileFault.CHANGED
    assert _names(box, "d") == ["f"]


def test_a_fifo_can_be_deleted(box: Box) -> None:
    box.fifo("pipe")
    box.sandbox.delete("pipe")
    assert _names(box) == []


def test_a_file_in_a_read_only_folder_is_not_deleted(box: Box) -> None:
    box.put("d/f", b"x")
    box.mkdir("d", 0o555)
    assert fault_of(lambda: box.sandbox.delete("d/f")) is FileFault.DENIED
