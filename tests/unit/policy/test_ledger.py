from __future__ import annotations

from runner.model.tree import EntryKind, ScanEntry
from runner.policy.ledger import Ledger, LedgerDelta


def file(path: str, stamp: str = "1") -> ScanEntry:
    return ScanEntry(path, EntryKind.FILE, 1, 0o644, stamp)


def folder(path: str, stamp: str = "1", mode: int = 0o755) -> ScanEntry:
    return ScanEntry(path, EntryKind.DIR, 0, mode, stamp)


def start() -> Ledger:
    return Ledger([folder("src"), file("src/a"), file("b")])


def test_what_the_first_scan_found_was_there_at_the_start() -> None:
    ledger = start()
    assert ledger.existed_at_start("src/a")
    assert not ledger.created_by_run("src/a")
    assert not ledger.changed_by_run("src/a")
    assert not ledger.existed_at_start("new")


def test_s07_a_file_that_a_command_made_is_the_runs_own() -> None:
    ledger = start()
    assert ledger.apply([file("c")], []) == LedgerDelta(("c",), (), ())
    assert ledger.created_by_run("c")
    assert not ledger.existed_at_start("c")
    assert not ledger.changed_by_run("c")


def test_a_file_that_changed_is_not_created() -> None:
    ledger = start()
    assert ledger.apply([file("b", "2")], []) == LedgerDelta((), ("b",), ())
    assert ledger.changed_by_run("b")
    assert not ledger.created_by_run("b")


def test_a_deleted_file_was_there_at_the_start_all_the_same() -> None:
    ledger = start()
    assert ledger.apply([], ["b"]) == LedgerDelta((), (), ("b",))
    assert ledger.existed_at_start("b")
    assert ledger.changed_by_run("b")


def test_a_file_deleted_and_made_anew_counts_as_changed() -> None:
    ledger = start()
    ledger.apply([], ["b"])
    assert ledger.apply([file("b", "9")], []) == LedgerDelta(("b",), (), ())
    assert ledger.existed_at_start("b")
    assert ledger.changed_by_run("b")
    assert not ledger.created_by_run("b")


def test_a_file_replaced_within_one_call_is_changed() -> None:
    assert start().apply([file("b", "2")], ["b"]) == LedgerDelta((), ("b",), ())


def test_everything_beneath_a_folder_that_the_run_made_is_the_runs_own() -> None:
    ledger = start()
    ledger.apply([folder("new"), folder("new/deep")], [])
    assert ledger.created_by_run("new/deep/unseen")
    assert ledger.created_by_run("new/deep/more/and/more/unseen")
    assert ledger.created_by_run("new/unseen")
    assert not ledger.created_by_run("src/unseen")
    assert not ledger.created_by_run("src/new/deep/unseen")


def test_a_folder_deep_in_one_of_the_repositorys_counts_for_what_lies_beneath_it() -> None:
    ledger = start()
    ledger.apply([folder("src/made")], [])
    assert ledger.created_by_run("src/made/unseen")
    assert ledger.created_by_run("src/made/x/y/unseen")
    assert not ledger.created_by_run("src/x/made/unseen")


def test_a_folder_of_one_letter_counts_for_what_lies_beneath_it() -> None:
    ledger = start()
    ledger.apply([folder("n")], [])
    assert ledger.created_by_run("n/unseen")
    assert ledger.created_by_run("n/deep/unseen")
    assert not ledger.created_by_run("/unseen")


def test_a_folder_is_not_changed_by_what_is_made_in_it() -> None:
    ledger = start()
    assert ledger.apply([folder("src", "2"), file("src/n")], []) == LedgerDelta(("src/n",), (), ())
    assert not ledger.changed_by_run("src")
    assert ledger.apply([folder("src", "3", 0o700)], []).changed == ("src",)


def test_a_file_that_became_a_folder_changed() -> None:
    ledger = start()
    ledger.apply([folder("b")], [])
    assert ledger.changed_by_run("b")


def test_a_file_made_and_deleted_again_leaves_no_trace() -> None:
    ledger = start()
    ledger.apply([file("c")], [])
    ledger.apply([], ["c"])
    assert not ledger.created_by_run("c")
    assert ledger.created() == ()


def test_removals_of_unknown_paths_and_equal_entries_change_nothing() -> None:
    assert start().apply([file("b")], ["never-there"]) == LedgerDelta((), (), ())


def test_the_whole_difference_to_the_start_can_be_listed() -> None:
    ledger = start()
    ledger.apply([file("z"), file("b", "2")], ["src/a"])
    assert ledger.created() == ("z",)
    assert ledger.changed() == ("b", "src/a")


def test_what_was_put_back_counts_as_it_was_and_what_the_run_made_stays_its_own() -> None:
    ledger = start()
    ledger.apply([file("b", "2"), file("c")], ["src/a"])
    for path in ("b", "c", "src/a"):
        ledger.put_back(path)
    assert not ledger.changed_by_run("b")
    assert ledger.created_by_run("c")
    assert ledger.changed_by_run("src/a")


def test_the_kind_of_what_is_there_now_is_known() -> None:
    ledger = start()
    ledger.apply([folder("b")], ["src/a"])
    assert (ledger.kind("src"), ledger.kind("b"), ledger.kind("src/a")) == (EntryKind.DIR, EntryKind.DIR, None)
    ledger.apply([file("src/a", "1:2:3")], [])
    assert ledger.kind("src/a") is EntryKind.FILE
