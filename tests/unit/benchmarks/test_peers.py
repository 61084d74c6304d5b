"""Another product that cannot be had is named with the reason, and ours is measured all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import peer_install
from benchmarks.bare import BareDocker
from benchmarks.failure import PeerMissing
from benchmarks.floor import socket_echo, spawn_and_wait
from benchmarks.peers import Peer, open_peers


class _Peer:
    version = "1.0"

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, argv: list[str]) -> float:
        return float(len(argv))

    def read(self, path: str, size: int) -> float:
        return float(size)


def _open(monkeypatch: pytest.MonkeyPatch, error: Exception | None, closed: list[str]) -> None:
    @contextmanager
    def there(*_: object) -> Iterator[Peer]:
        yield _Peer("testcontainers")
        closed.append("testcontainers")

    @contextmanager
    def perhaps(*_: object) -> Iterator[Peer]:
        if error is not None:
            raise error
        yield _Peer("SWE-ReX")
        closed.append("SWE-ReX")

    monkeypatch.setattr("benchmarks.peers.testcontainers_exec", there)
    monkeypatch.setattr("benchmarks.peers.swerex", perhaps)


@pytest.mark.parametrize("error", [PeerMissing("No network."), OSError("No network.")])
def test_a_peer_that_does_not_start_is_missing_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    closed: list[str] = []
    _open(monkeypatch, error, closed)
    with open_peers(BareDocker.__new__(BareDocker), "image", 60) as peers:
        assert [peer.name for peer in peers.there] == ["testcontainers"]
        assert "No network." in peers.missing["SWE-ReX"].why
        assert [side() for side in peers.sides(lambda peer: peer.run(["a", "b"]))] == [{"testcontainers": 2.0}]
    assert closed == ["testcontainers"]


def test_peers_that_start_are_all_closed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    _open(monkeypatch, None, closed)
    with open_peers(BareDocker.__new__(BareDocker), "image", 60) as peers:
        assert peers.missing == {}
    assert closed == ["testcontainers", "SWE-ReX"]


def test_a_package_that_cannot_be_installed_is_a_missing_peer_and_leaves_no_half_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(PeerMissing):
        peer_install.swerex_server("3.11", 60, tmp_path / "peers")
    assert not list((tmp_path / "peers").glob("image-*"))  # the next bench takes nothing of it for the whole


def test_the_floor_starts_a_program_and_waits_for_it() -> None:
    spawn_and_wait(["/bin/true"])


def test_a_program_of_the_floor_that_fails_is_no_measurement() -> None:
    with pytest.raises(Exception, match="ended with 1"):
        spawn_and_wait(["/bin/false"])


def test_a_socket_answers_as_many_bytes_as_asked_for_and_again() -> None:
    with socket_echo(300_001) as echo:
        assert [len(echo.ask()) for _ in range(2)] == [300_001, 300_001]
