"""The products that ours stands beside: those that can be had here, and why the others cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from benchmarks.bare import BareDocker
from benchmarks.failure import PeerMissing
from benchmarks.interleave import Reading, Side
from benchmarks.samples import NotMeasured
from benchmarks.swerex import SweRex, swerex
from benchmarks.testcontainers_exec import TestcontainersExec, testcontainers_exec

__all__ = ["Peer", "Peers", "open_peers"]


class Peer(Protocol):
    """Another way to run a program in a container, ready. Answers are milliseconds."""

    name: str
    version: str

    def run(self, argv: list[str]) -> float:
        """The program ran and ended with 0."""
        ...

    def read(self, path: str, size: int) -> float:
        """A file of that size was read."""
        ...


@dataclass(frozen=True, slots=True)
class Peers:
    """`missing` has a reason for each that is not among `there`."""

    there: tuple[Peer, ...]
    missing: dict[str, NotMeasured]

    def sides(self, act: Callable[[Peer], float]) -> list[Side]:
        """A side for each that is there, under its name."""
        return [_side(peer, act) for peer in self.there]


@contextmanager
def open_peers(bare: BareDocker, image: str, install_seconds: float) -> Iterator[Peers]:
    """Those that can be had are started, in containers of this image, until the block ends."""
    ways: dict[str, Callable[[], AbstractContextManager[Peer]]] = {
        SweRex.name: lambda: swerex(bare, image, install_seconds),
        TestcontainersExec.name: lambda: testcontainers_exec(image),
    }
    with ExitStack() as stack:
        there: list[Peer] = []
        missing: dict[str, NotMeasured] = {}
        for name, way in ways.items():
            try:
                there.append(stack.enter_context(way()))
            except PeerMissing as error:
                missing[name] = NotMeasured(str(error))
            except Exception as error:  # whatever another product raises: ours is measured all the same
                missing[name] = NotMeasured(f"{name} did not start: {type(error).__name__}: {error}")
        yield Peers(tuple(there), missing)


def _side(peer: Peer, act: Callable[[Peer], float]) -> Side:
    def side() -> Reading:
        return {peer.name: act(peer)}

    return side
