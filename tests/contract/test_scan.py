"""Scans: everything once, then what changed, and nothing is missed."""

from __future__ import annotations

import dataclasses

from runner.engine.contract import GuestPosture, Scan
from runner.model.tree import EntryKind
from tests.contract.boxes import Box, RealBox


def _changed(box: Box) -> set[str]:
    """Paths of files and links that the scan reports; folders change with what is in them."""
    scan: Scan = box.sandbox.scan(max_entries=1000)
    assert not scan.truncated
    return {entry.path for entry in scan.entries if entry.kind is not EntryKind.DIR} | {
        f"-{path}" for path in scan.removed
    }


def test_the_first_scan_lists_everything_and_the_second_nothing(box: Box) -> None:
    box.put("a/b", b"123", 0o755)
    box.link("l", "a")
    box.fifo("pipe")
    scan = box.sandbox.scan(max_entries=10)
    assert {(entry.path, entry.kind) for entry in scan.entries} == {
        ("a", EntryKind.DIR), ("a/b", EntryKind.FILE), ("l", EntryKind.SYMLINK), ("pipe", EntryKind.OTHER),
    }  # fmt: skip
    file = next(entry for entry in scan.entries if entry.path == "a/b")
    assert (file.size, file.mode, scan.removed, scan.truncated) == (3, 0o755, (), False)
    assert box.sandbox.scan(max_entries=10) == Scan((), (), truncated=False)


def test_a_later_scan_names_what_changed_appeared_and_went(box: Box) -> None:
    for path in ("same", "changed", "gone", "d/gone"):
        box.put(path, b"1")
    _changed(box)
    box.sandbox.write("changed", b"2")
    box.put("new", b"3")
    box.remove("gone")
    box.remove("d")
    assert _changed(box) == {"changed", "new", "-gone", "-d", "-d/gone"}


def test_git_is_left_out_at_every_depth(box: Box) -> None:
    for path in (".git/config", "sub/.git/config", "sub/.GIT/x", "mod/.git", "sub/x.git"):
        box.put(path, b"1")
    assert _changed(box) == {"sub/x.git"}


def test_a_mode_change_is_a_change(box: Box) -> None:
    box.put("f", b"1", 0o644)
    _changed(box)
    box.put("f", b"1", 0o755)
    assert _changed(box) == {"f"}


def test_links_are_not_followed_by_a_scan(box: Box) -> None:
    box.put("d/f", b"1")
    box.link("l", "d")
    box.link("up", "..")
    assert _changed(box) == {"d/f", "l", "up"}


def test_a_tree_over_the_bound_is_said_to_be_cut(box: Box) -> None:
    for number in range(5):
        box.put(f"f{number}", b"1")
    assert not box.sandbox.scan(max_entries=5).truncated
    box.put("f5", b"1")
    cut = box.sandbox.scan(max_entries=5)
    assert cut.truncated and len(cut.entries) <= 5 and cut.removed == ()
    assert len(box.sandbox.scan(max_entries=6).entries) == 6  # after a cut scan everything is said again


def test_strange_names_are_scanned_as_they_are(box: Box) -> None:
    names = {"new\nline", "caf\udce9", "-rf", "a b", "x 1"}
    for name in names:
        box.put(name, b"1")
    assert _changed(box) == names


def test_a_file_put_back_with_its_old_times_is_reported(real: RealBox) -> None:
    real.put("f", b"old")
    _changed(real)
    real.shell("touch -r f keep; printf new >f; touch -r keep f; rm keep")
    assert _changed(real) == {"f"}


def test_files_changed_right_after_a_scan_are_reported(real: RealBox) -> None:
    real.put("f", b"0")
    _changed(real)
    for number in range(1, 30):
        real.shell('printf %s "$1" | dd of=f conv=notrunc status=none', str(number % 10))
        assert _changed(real) == {"f"}
        assert _changed(real) == set()


def test_a_folder_that_nobody_may_read_is_reported_itself(real: RealBox) -> None:
    real.put("d/f", b"1")
    real.mkdir("d", 0o000)
    scan = real.sandbox.scan(max_entries=10)
    assert [entry.path for entry in scan.entries] == ["d"]


def test_a_tree_too_deep_for_a_path_is_said_to_be_cut(real: RealBox) -> None:
    made = real.shell('exec python3 -c \'import os\nfor _ in range(30): os.mkdir("d" * 200); os.chdir("d" * 200)\'')
    assert made.exit == 0
    assert real.sandbox.scan(max_entries=1000).truncated


def test_the_posture_has_every_fact(box: Box) -> None:
    posture = box.sandbox.guest_posture()
    assert isinstance(posture, GuestPosture)
    assert all(getattr(posture, field.name) is not None for field in dataclasses.fields(posture)[:10])
    assert posture.uid > 0 and posture.open_files_max > 0 and posture.workspace_bytes > 0
    assert "lo" in posture.interfaces


def test_no_capability_is_effective(real: RealBox) -> None:
    assert real.sandbox.guest_posture().effective_capabilities == 0
