"""Kept archives on the host: whole or not there, as they were stored or not used, within their bound."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from runner.controller.cache_store import CacheStore, Draft
from runner.controller.records import StateFolder
from runner.controller.sweep import sweep
from runner.engine.fake import FakeEngine

KEY, OTHER = "a" * 64, "b" * 64


class Shelf:
    """A store of at most 100 bytes, and a run's folder to write in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "caches"
        self.run = folder / "run"
        self.run.mkdir()
        self.store = CacheStore(self.folder, 100)

    def put(self, key: str, data: bytes, used: int = 0) -> None:
        draft = Draft(self.run / "cache.part", 1000)
        draft.write(data)
        self.store.keep(key, draft)
        if used:
            (path,) = self.folder.glob(f"{key}.*")
            os.utime(path, (used, used))

    def content(self, key: str) -> bytes | None:
        kept = self.store.find(key)
        return None if kept is None else b"".join(kept.pieces())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.mark.parametrize("data", [b"", b"x", b"x" * 90])
def test_what_was_stored_comes_back_and_is_for_its_owner_alone(shelf: Shelf, data: bytes) -> None:
    shelf.put(KEY, data)
    assert shelf.content(KEY) == data
    (path,) = shelf.folder.glob("*.tar")
    assert path.name == f"{KEY}.{hashlib.sha256(data).hexdigest()}.tar"
    assert (path.stat().st_mode & 0o777, shelf.folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(shelf.run.iterdir()) == []


def test_another_key_has_nothing(shelf: Shelf) -> None:
    shelf.put(KEY, b"x")
    assert shelf.content(OTHER) is None and CacheStore(shelf.folder / "absent", 100).find(KEY) is None


def test_a_newer_archive_takes_the_place_of_the_older(shelf: Shelf) -> None:
    shelf.put(KEY, b"old")
    shelf.put(KEY, b"new")
    assert shelf.content(KEY) == b"new" and shelf.store.usage() == (1, 3)


@pytest.mark.parametrize("damage", [b"", b"y" * 10, b"x" * 9, b"x" * 11])
def test_what_is_not_as_it_was_stored_is_told_before_its_last_piece(shelf: Shelf, damage: bytes) -> None:
    shelf.put(KEY, b"x" * 10)
    (path,) = shelf.folder.glob("*.tar")
    path.write_bytes(damage)
    kept, taken = shelf.store.find(KEY), b""
    assert kept is not None
    with pytest.raises(ValueError):
        for piece in kept.pieces():
            taken += piece
    assert taken == b""
    shelf.store.drop(kept)
    assert shelf.content(KEY) is None


def test_the_least_recently_used_go_first_when_the_bound_is_passed(shelf: Shelf) -> None:
    shelf.put("c" * 64, b"x" * 40, used=1000)
    shelf.put("d" * 64, b"x" * 40, used=2000)
    assert shelf.content("c" * 64) is not None  # used now
    shelf.put(KEY, b"x" * 40)
    assert [shelf.content(key) is None for key in ("c" * 64, "d" * 64, KEY)] == [False, True, False]
    assert shelf.store.usage() == (2, 80)


def test_an_archive_above_the_bound_is_not_written_to_its_end(shelf: Shelf) -> None:
    draft = Draft(shelf.run / "cache.part", 10)
    draft.write(b"x" * 10)
    with pytest.raises(OverflowError):
        draft.write(b"x")
    draft.discard()
    assert list(shelf.run.iterdir()) == []


def test_a_discarded_draft_is_gone_and_a_kept_one_stays(shelf: Shelf) -> None:
    draft = Draft(shelf.run / "cache.part", 10)
    draft.write(b"x")
    shelf.store.keep(KEY, draft)
    draft.discard()
    assert shelf.content(KEY) == b"x"


def test_a_host_that_keeps_none_finds_none(shelf: Shelf) -> None:
    shelf.put(KEY, b"x")
    assert CacheStore(shelf.folder, 0).find(KEY) is None


def test_trimming_keeps_to_the_bound_and_zero_takes_all(shelf: Shelf) -> None:
    shelf.put(KEY, b"x" * 50)
    assert (shelf.store.trim(), shelf.store.usage()) == (0, (1, 50))
    assert (shelf.store.trim(0), shelf.store.usage()) == (1, (0, 0))
    assert CacheStore(shelf.folder / "absent", 100).trim(0) == 0


def test_a_half_made_archive_of_a_dead_run_is_swept_and_a_living_ones_stays(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    dead, alive = state.begin(), state.begin()
    for record in (dead, alive):
        Draft(record.folder / "cache.part", 10).finish()
    dead.release()
    sweep(FakeEngine(), state, 0.0)
    assert [(record.folder / "cache.part").exists() for record in (dead, alive)] == [False, True]
    alive.release()
