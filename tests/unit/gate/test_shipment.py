from __future__ import annotations

from pathlib import Path

import pytest

from runner.gate.fetch import Fetched
from runner.gate.shipment import Part, shipment
from runner.model.errors import RepositoryUnavailable
from tests.support.gate import Gate
from tests.support.repos import Commit, bare_repository, git


def kinds(gate: Gate, fetched: Fetched, where: Path) -> list[str]:
    """The kinds of the objects in the shipment."""
    target = bare_repository(where, [])
    with shipment(gate.git, fetched) as shipped:
        git(target, "index-pack", "--strict", "--stdin", stdin=b"".join(shipped.chunks(Part.PACK)))
    return sorted(git(target, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split())


def test_it_holds_branches_and_tags_and_nothing_else(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"}, branch="gone")])
    git(remote, "tag", "-a", "-m", "one", "v1", "main")
    first = gate.fetch(remote)
    git(remote, "branch", "-D", "gone")
    second = gate.fetch(remote)

    assert kinds(gate, first, tmp_path / "first.git") == ["blob"] * 2 + ["commit"] * 2 + ["tag"] + ["tree"] * 2
    assert kinds(gate, second, tmp_path / "second.git") == ["blob", "commit", "tag", "tree"]


def test_one_state_is_packed_once_and_an_older_ones_is_dropped(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    said: list[str] = []
    for _ in range(2):
        with shipment(gate.git, gate.fetch(remote), progress=said.append):
            pass
    git(remote, "update-ref", "refs/heads/main", "main~1")
    fetched = gate.fetch(remote)
    with shipment(gate.git, fetched, progress=said.append):
        pass

    assert len(said) == 2
    assert len(list((fetched.mirror.parent / "shipments").iterdir())) == 1


def test_a_reader_is_not_disturbed_by_a_newer_shipment(gate: Gate, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"}), Commit({"a": "2"})])
    with shipment(gate.git, gate.fetch(remote)) as older:
        git(remote, "update-ref", "refs/heads/main", "main~1")
        with shipment(gate.git, gate.fetch(remote)) as newer:
            assert older.name != newer.name
        pack = b"".join(older.chunks(Part.PACK))

        assert pack == b"".join(older.chunks(Part.PACK))
        assert pack.startswith(b"PACK")


def test_a_broken_mirror_is_said_and_leaves_no_half_a_shipment(gate: Gate, tmp_path: Path) -> None:
    fetched = gate.fetch(bare_repository(tmp_path / "r.git", [Commit({"a": "1"})]))
    for pack in (fetched.mirror / "objects" / "pack").iterdir():
        pack.unlink()
    with pytest.raises(RepositoryUnavailable) as refused, shipment(gate.git, fetched):
        pass

    assert refused.value.code == "mirror_broken"
    assert not (fetched.mirror.parent / "shipments").exists()


@pytest.mark.parametrize("swapped", ["shipments", "state", "pack"])
def test_a_link_that_the_gates_container_left_is_not_followed(gate: Gate, tmp_path: Path, swapped: str) -> None:
    fetched = gate.fetch(bare_repository(tmp_path / "r.git", [Commit({"a": "1"})]))
    with shipment(gate.git, fetched):
        pass
    shipments = fetched.mirror.parent / "shipments"
    state = next(shipments.iterdir())
    target = {"shipments": shipments, "state": state, "pack": next(state.glob("*.pack"))}[swapped]
    target.rename(tmp_path / "secret")
    target.symlink_to(tmp_path / "secret")
    with pytest.raises(RepositoryUnavailable) as refused, shipment(gate.git, fetched):
        pass

    assert refused.value.code == "mirror_broken"
