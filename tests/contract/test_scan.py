"""Scans: everything once, then what changed, and nothing is missed."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import shutil
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.engine.contract import GuestPosture, KilledBy, Scan, SpawnRequest
from runner.engine.fake import FakeCall, FakeOutcome
from runner.engine.helper_answers import decode_scan
from runner.model.tree import EntryKind, ScanEntry
from tests.contract.boxes import ENV, Box, FakeBox, RealBox, Script
from tests.support.local_stream import HELPER, local_sandbox


def _changed(box: Box) -> set[str]:
    """Paths of files and links that the scan reports; folders change with what is in them."""
    scan: Scan = box.sandbox.scan(max_entries=2000)
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


def _touch(call: FakeCall) -> FakeOutcome:
    call.tree.put_file("made", b"1")
    return FakeOutcome(stdout=b"done")


TOUCH = Script("printf 1 >made; printf done", _touch)


@pytest.mark.parametrize("size", [1, 1500])
def test_a_program_can_be_followed_by_a_scan_at_once(box: Box, size: int) -> None:
    for number in range(size):
        if size == 1 or isinstance(box, FakeBox):
            box.put(f"d/{number}", b"1")
    if not isinstance(box, FakeBox) and size > 1:
        box.run(Script("mkdir -p d && cd d && touch $(seq 1500)", _touch))
    _changed(box)
    result = box.run(TOUCH, scan_entries=2000)
    assert (result.exit, result.stdout) == (0, b"done")
    assert result.scan is not None
    assert [entry.path for entry in result.scan.entries if entry.kind is EntryKind.FILE] == ["made"]
    assert _changed(box) == set()
    assert box.run(TOUCH).scan is None


def test_a_scan_after_a_program_that_could_not_start_tells_what_changed_before(box: Box) -> None:
    _changed(box)
    box.sandbox.write("mine", b"1")
    absent = SpawnRequest(("nothing-of-that-name",), ENV, 5.0, 100, scan_entries=2000)
    result = box.sandbox.spawn(absent)
    assert (result.exit, result.started) == (127, False)
    assert result.scan is not None and [entry.path for entry in result.scan.entries] == ["mine"]
    result = box.sandbox.spawn(dataclasses.replace(absent, argv=("a\0b",)))
    assert result.started is False and _changed(box) == set()


def test_what_a_scan_told_after_a_caller_that_failed_is_in_the_next_one(real: Box) -> None:
    real.put("before", b"1")
    _changed(real)

    def fail(_stream: str, _data: bytes) -> None:
        raise ValueError("the caller's own")

    for name in ("one", "two"):
        with pytest.raises(ValueError, match="the caller's own"):
            real.run(Script(f"printf 1 >{name}; rm -f before; printf x; sleep 20", _touch), sink=fail, scan_entries=9)
    real.put("three", b"1")
    real.remove("one")
    assert _changed(real) == {"two", "three", "-before", "-one"}


def test_a_program_that_is_killed_is_followed_by_its_scan_too(real: Box) -> None:
    _changed(real)
    result = real.run(Script("printf 1 >made; exec yes", _touch), kill_at_bytes=1, scan_entries=2000)
    assert result.killed_by is KilledBy.OUTPUT
    assert result.scan is not None and [entry.path for entry in result.scan.entries] == ["made"]


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


def test_a_file_put_back_with_its_old_times_is_reported(sized: RealBox) -> None:
    sized.put("f", b"old")
    _changed(sized)
    sized.shell("touch -r f keep; printf new >f; touch -r keep f; rm keep")
    assert _changed(sized) == {"f"}


def test_files_changed_right_after_a_scan_are_reported(sized: RealBox) -> None:
    sized.put("f", b"0")
    _changed(sized)
    for number in range(1, 30):
        sized.shell('printf %s "$1" | dd of=f conv=notrunc status=none', str(number % 10))
        assert _changed(sized) == {"f"}
        assert _changed(sized) == set()


def test_a_folder_that_nobody_may_read_is_reported_itself(real: RealBox) -> None:
    real.put("d/f", b"1")
    real.mkdir("d", 0o000)
    scan = real.sandbox.scan(max_entries=10)
    assert [entry.path for entry in scan.entries] == ["d"]


def test_what_is_too_deep_for_a_path_is_left_out(real: RealBox) -> None:
    made = real.shell('exec python3 -c \'import os\nfor _ in range(30): os.mkdir("d" * 200); os.chdir("d" * 200)\'')
    assert made.exit == 0
    scan = real.sandbox.scan(max_entries=1000)
    assert not scan.truncated
    assert [len(entry.path) for entry in scan.entries] == [200 + 201 * above for above in range(20)]


def test_the_posture_has_every_fact(box: Box) -> None:
    posture = box.sandbox.guest_posture()
    assert isinstance(posture, GuestPosture)
    assert all(getattr(posture, field.name) is not None for field in dataclasses.fields(posture)[:10])
    assert posture.uid > 0 and posture.open_files_max > 0 and posture.workspace_bytes > 0
    assert "lo" in posture.interfaces


def test_no_capability_is_effective(real: RealBox) -> None:
    assert real.sandbox.guest_posture().effective_capabilities == 0


@pytest.fixture(params=["local, small", "local, large", pytest.param("docker, large", marks=pytest.mark.docker)])
def sized(request: pytest.FixtureRequest) -> Iterator[RealBox]:
    """A real sandbox whose tree is so small that it is listed whole each time, or too large for that."""

    def box(sandbox: Any) -> RealBox:
        real = RealBox(sandbox)
        if "large" in request.param:
            assert real.shell("mkdir -p l/m; cd l/m; seq 1200 | xargs touch").exit == 0
            real.sandbox.scan(max_entries=2000)
        return real

    if "docker" in request.param:
        yield box(request.getfixturevalue("docker_sandbox"))
    else:
        with local_sandbox() as sandbox:
            yield box(sandbox)


def test_a_folder_that_moves_takes_everything_below_it_along(box: Box) -> None:
    for path in ("a/b/c", "a/d", "e/f"):
        box.put(path, b"1")
    _changed(box)
    box.remove("a")
    box.put("g/a/b/c", b"1")
    box.put("g/a/d", b"1")
    assert _changed(box) == {"-a", "-a/b", "-a/b/c", "-a/d", "g/a/b/c", "g/a/d"}


def test_what_is_below_a_renamed_folder_is_reported_though_it_is_as_it_was(sized: RealBox) -> None:
    sized.put("a/b/c", b"1")
    sized.put("x", b"1")
    _changed(sized)
    assert sized.shell("mv a z").exit == 0
    assert _changed(sized) == {"-a", "-a/b", "-a/b/c", "z/b/c"}
    assert sized.shell("mv z/b b; rm -r z; ln -s x z").exit == 0
    assert _changed(sized) == {"-z/b", "-z/b/c", "b/c", "z"}


def test_a_change_below_a_folder_that_was_exchanged_for_its_like_is_reported(sized: RealBox) -> None:
    sized.put("d/sub/x/file", b"1")
    sized.put("e/y", b"1")
    _changed(sized)
    assert sized.shell("mv d/sub e/sub; rm -r d; mv e d; printf 2 >d/sub/x/file").exit == 0
    assert _changed(sized) == {"d/sub/x/file", "d/y", "-e", "-e/y"}


def test_a_write_through_a_hard_link_is_reported_under_each_name(sized: RealBox) -> None:
    sized.put("a/one", b"1")
    assert sized.shell("mkdir b .git; ln a/one b/two; ln a/one .git/three").exit == 0
    _changed(sized)
    assert sized.shell("printf 22 >.git/three").exit == 0
    assert _changed(sized) == {"a/one", "b/two"}


def test_a_change_beside_a_closed_folder_is_reported(sized: RealBox) -> None:
    sized.put("d/f", b"1")
    sized.put("e/f", b"1")
    sized.mkdir("d", 0o000)
    _changed(sized)
    sized.put("e/f", b"22")
    assert _changed(sized) == {"e/f"}
    sized.mkdir("d", 0o755)
    assert _changed(sized) == {"d/f"}


def test_a_folder_that_can_be_listed_but_not_entered_ends_no_scan(real: RealBox) -> None:
    real.put("d/f", b"1")
    real.mkdir("d", 0o444)
    assert [entry.path for entry in real.sandbox.scan(max_entries=10).entries] == ["d"]
    real.mkdir("d", 0o755)
    assert _changed(real) == {"d/f"}


def test_a_rename_that_makes_paths_too_long_leaves_them_out(sized: RealBox) -> None:
    one, two = "/".join(["a" * 200] * 15), "/".join(["b" * 200] * 15)
    assert sized.shell('mkdir -p -- "$1" "$2"; touch -- "$1/f"', one, two).exit == 0
    assert not sized.sandbox.scan(max_entries=2000).truncated
    assert sized.shell('top=$PWD; cd -- "$1" && mv -- "$top/$2" .', two, "a" * 200).exit == 0
    scan = sized.sandbox.scan(max_entries=2000)
    assert not scan.truncated
    assert f"{one}/f" not in {entry.path for entry in scan.entries}
    assert max(len(entry.path) for entry in scan.entries) <= 4096


def test_a_tree_that_only_changes_stays_below_its_bound(box: Box) -> None:
    for number in range(4):
        box.put(f"d{number % 2}/f{number}", b"1")
    assert not box.sandbox.scan(max_entries=6).truncated
    box.remove("d0")
    box.put("d1/g0", b"1")
    box.put("d1/g1", b"1")
    assert not box.sandbox.scan(max_entries=6).truncated
    box.put("d1/g2", b"1")
    box.put("d1/g3", b"1")
    assert box.sandbox.scan(max_entries=6).truncated


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The helper's module in this process, with `tmp_path` as its root."""
    monkeypatch.chdir(tmp_path)  # and back again: starting a program leaves the process in another folder
    spec = importlib.util.spec_from_file_location("workspace_helper", HELPER)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.FIND_MIN_ENTRIES = module.DIVIDE_MIN_ENTRIES = 0  # so that small trees are treated as large ones
    root, null = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY), os.open(os.devnull, os.O_RDWR)
    module.STATE = SimpleNamespace(root=root, devnull=null, contained=False, pid=os.getpid(), scanned=None, scans=0)
    yield module
    os.close(root)
    os.close(null)


def _scanned(helper: Any) -> Any:
    """The scanner, after its scan."""
    batch = SimpleNamespace(records=[], total=0)
    batch.add = batch.records.append
    scanner = helper.Scanner(1000, batch)
    scanner.run()
    return scanner


def _records(scanner: Any) -> tuple[list[ScanEntry], list[str]]:
    """What the scan says, as the host reads it."""
    entries: list[ScanEntry] = []
    removed: list[str] = []
    decode_scan(b"".join(scanner.batch.records), entries, removed)
    return entries, removed


def _let_time_pass(helper: Any, root: Path) -> None:
    """Nothing counts as changed shortly before the last scan, and what changes from here on has a later ctime."""
    since = 1 + max((path.lstat().st_ctime_ns for path in root.rglob("*")), default=0)
    probe = root.with_name(root.name + ".probe")
    probe.touch()
    while probe.stat().st_ctime_ns <= since:
        probe.touch()
    helper.STATE.scanned.racy_from = since


def test_a_scan_after_a_change_does_not_list_folders_without_a_new_ctime(helper: Any, tmp_path: Path) -> None:
    for name in ("a/b", "c/d/e"):
        (tmp_path / name).mkdir(parents=True)
    assert _scanned(helper).listed == {"", "a/", "a/b/", "c/", "c/d/", "c/d/e/"}
    helper.STATE.scanned.racy_from = time.time_ns() + 10**12  # as if the scan had been long after all of this
    (tmp_path / "c/d/f").touch()
    assert _scanned(helper).listed == {""}


@pytest.mark.parametrize("listed", ["all", "changed"])
def test_a_change_in_the_same_tick_of_the_clock_as_the_scan_is_reported(
    listed: str, helper: Any, tmp_path: Path
) -> None:
    helper.FIND_MIN_ENTRIES = 10 if listed == "all" else 0
    helper.pack = lambda form, *facts: struct.pack(form, *facts[:3], 0, 0)  # a clock that stands still
    for number in range(1, 20):
        (tmp_path / "f").write_bytes(b"%d" % (number % 10))
        assert [entry.path for entry in _records(_scanned(helper))[0]] == ["f"]
        assert _records(_scanned(helper)) == ([], [])


def test_a_file_too_large_to_be_read_again_makes_no_other_look_changed(helper: Any, tmp_path: Path) -> None:
    helper.RACY_NS = 1 << 60  # whatever is there has changed shortly before each scan
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "z").write_bytes(b"1")
    _scanned(helper)
    with (tmp_path / "big").open("wb") as big:
        big.truncate(100 << 20)
    assert [entry.path for entry in _records(_scanned(helper))[0]] == ["big"]
    # What was not read may be another each time; the rest is as it was.
    assert [entry.path for entry in _records(_scanned(helper))[0]] == ["big"]


def test_what_is_read_again_is_bounded_over_all_files(helper: Any, tmp_path: Path) -> None:
    helper.RACY_NS = 1 << 60
    helper.RACY_HASH_MAX_BYTES = 10
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"1234")
    assert _scanned(helper).hash_left == 2


def test_a_folders_new_mode_is_reported_though_nothing_beside_it_changed(helper: Any, tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    _scanned(helper)
    _let_time_pass(helper, tmp_path)
    (tmp_path / "a/b/c").chmod(0o700)
    assert [entry.path for entry in _records(_scanned(helper))[0]] == ["a/b/c"]


def test_what_is_below_a_folder_that_took_the_place_of_its_like_is_reported(helper: Any, tmp_path: Path) -> None:
    for name in ("d", "e"):
        (tmp_path / name / "x/y").mkdir(parents=True)
        (tmp_path / name / "x/y/file").touch()
    _scanned(helper)
    _let_time_pass(helper, tmp_path)
    shutil.rmtree(tmp_path / "d")
    (tmp_path / "e").rename(tmp_path / "d")
    entries, removed = _records(_scanned(helper))
    assert {entry.path for entry in entries} == {"d", "d/x", "d/x/y", "d/x/y/file"}
    assert set(removed) == {"e", "e/x", "e/x/y", "e/x/y/file"}


@pytest.mark.parametrize("flaw", ["the clock was set", "it cannot start", "it complains", "it fails", "it is late"])
def test_everything_is_listed_where_the_search_for_changes_fails(flaw: str, helper: Any, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    _scanned(helper)
    program = tmp_path / "a/find"
    program.write_text({"it complains": "#!/bin/sh\necho no >&2\n", "it fails": "#!/bin/sh\nexit 1\n"}.get(flaw, ""))
    program.chmod(0o755)
    if flaw == "the clock was set":
        helper.STATE.scanned.clock += 10**10
    elif flaw == "it is late":
        helper.FIND_SECONDS = 0.0
    else:
        helper.FIND_PROGRAM = os.fsencode(program if flaw != "it cannot start" else tmp_path / "missing")
    scanner = _scanned(helper)
    assert scanner.everything and scanner.listed == {"", "a/"}
    assert [record.rpartition(b" ")[2] for record in scanner.batch.records] == [b"a\0", b"a/find\0"]
    assert not _scanned(helper).everything or flaw != "the clock was set"


# --- any sequence of changes: what scans add up to is what is there

_NAMES = ("a", "b", "new\nline", "caf\udce9", "-x", ".git", "bulk", "bulk/k0", "bulk/k1/s1", "u", "s0")
_PATHS = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4).map("/".join)
_ACTS = st.sampled_from(
    ("write", "write", "append", "forge", "remove", "mkdir", "rename", "rename", "exchange", "link", "symlink", "mode")
)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.write_bytes(data)


def _forge(path: Path, data: bytes) -> None:
    """Other content of the same length, in place, with the times that the file had."""
    before = path.stat()
    path.write_bytes(data.ljust(before.st_size, b"-")[: before.st_size])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _exchange(path: Path, other: Path) -> None:
    aside = path.with_name("aside")
    path.rename(aside)
    try:
        other.rename(path)
    finally:
        aside.rename(other if not other.exists() else path)


def _do(act: str, path: Path, other: Path, data: bytes) -> None:
    """The change is made, where it can be."""
    with contextlib.suppress(OSError):
        for place in (path, other):
            place.parent.mkdir(parents=True, exist_ok=True)
        match act:
            case "write":
                _write(path, data)
            case "append":
                path.write_bytes(path.read_bytes() + data)
            case "forge":
                _forge(path, data)
            case "remove":
                _remove(path)
            case "mkdir":
                path.unlink(missing_ok=True)
                path.mkdir()
            case "rename":
                path.rename(other)
            case "exchange":
                _exchange(path, other)
            case "link":
                other.hardlink_to(path)
            case "symlink":
                other.symlink_to(path.name)
            case "mode":
                path.chmod(path.stat().st_mode ^ 0o020)


def _stamps(root: Path, prefix: str = "") -> dict[str, str]:
    """What a scan says of each path, found by a walk of the test's own."""
    found: dict[str, str] = {}
    for path in root.iterdir():
        if path.name == ".git":
            continue
        info = path.lstat()
        name = prefix + path.name
        found[name] = struct.pack(
            "!QQIqq", info.st_ino, info.st_size, info.st_mode, info.st_mtime_ns, info.st_ctime_ns
        ).hex()
        if stat.S_ISDIR(info.st_mode):
            found.update(_stamps(path, name + "/"))
    return found


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(rounds=st.lists(st.lists(st.tuples(_ACTS, _PATHS, _PATHS), max_size=6), min_size=1, max_size=5))
def test_scans_after_any_changes_add_up_to_the_tree(
    rounds: list[list[tuple[str, str, str]]], helper: Any, tmp_path: Path
) -> None:
    known: dict[str, ScanEntry] = {}
    contents: dict[str, bytes] = {}
    for earlier in tmp_path.iterdir():
        _remove(earlier)
    for number in range(36):  # large enough that the search for changes is shared out
        folder = tmp_path / f"bulk/k{number // 6}/s{number % 6}"
        folder.mkdir(parents=True)
        for letter in "uvwxyz":
            (folder / letter).touch()
    known.update({entry.path: entry for entry in _records(_scanned(helper))[0]})
    for turn, acts in enumerate(rounds):
        if turn % 2:
            _let_time_pass(helper, tmp_path)
        for number, (act, path, other) in enumerate(acts):
            _do(act, tmp_path / path, tmp_path / other, b"%d" % (number % 3))
        scanner = _scanned(helper)
        assert not scanner.truncated and not scanner.everything
        entries, removed = _records(scanner)
        for gone in removed:
            del known[gone]
        known.update({entry.path: entry for entry in entries})
        assert {path: entry.stamp[:72] for path, entry in known.items()} == _stamps(tmp_path)
        now = {path: (tmp_path / path).read_bytes() for path, e in known.items() if e.kind is EntryKind.FILE}
        told = {entry.path for entry in entries}
        assert {path for path, data in now.items() if path in contents and contents[path] != data} <= told
        contents = now
