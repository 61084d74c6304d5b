"""Which warm runs are worth keeping: a pure account of what runs have asked for.

The policy says how many. A run that comes needs a workspace of its policy's shape, and a room of the gate, which takes
as long to start and is fixed by the repository. So a repository that was asked for twice of late gets warm runs of its
own, room included; the others are workspaces alone, which fit every repository.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from runner.engine.contract import SandboxLimits
from runner.gate.address import Address

__all__ = ["Demand", "Place", "Shape"]

_RECENT = 16  # runs of one shape; what was asked for before them is forgotten
_SHAPES = 32  # policies with limits of their own, the least recently asked for is forgotten


@dataclass(frozen=True, slots=True)
class Place:
    """What the gate's transfer room is fixed by: the one repository, how it is trusted, and whether it is pushed to."""

    address: Address
    ca_file: Path | None
    pushes: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What is fixed when the containers are made. Runs of equal shape may have each other's.

    The network is no part of it: every container is made with none, and what a policy opens goes over a stream that is
    begun for the phase (ADR 0004).
    """

    image: str
    runtime: str
    limits: SandboxLimits
    place: Place | None = None

    @property
    def anywhere(self) -> Shape:
        """The same workspace, without a room."""
        return replace(self, place=None)


class Demand:
    """What was asked for, and what should be there. `most` bounds all of it together, in runs."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._asked: dict[Shape, _Asked] = {}

    def ask(self, shape: Shape, size: int) -> None:
        """A run of the shape has come; its policy keeps `size`."""
        asked = self._asked.pop(shape.anywhere, None) or _Asked()
        self._asked[shape.anywhere] = asked  # the last one is the most recent
        asked.size = size
        asked.places.append(shape.place)
        while len(self._asked) > _SHAPES:
            del self._asked[next(iter(self._asked))]

    def wanted(self) -> Counter[Shape]:
        """How many warm runs of each shape; what was asked for most recently comes first where not all have room."""
        wanted: Counter[Shape] = Counter()
        for shape in reversed(self._asked):
            asked = self._asked[shape]
            for place in islice(asked.seats(), min(asked.size, self._most - wanted.total())):
                wanted[replace(shape, place=place)] += 1
        return wanted


class _Asked:
    def __init__(self) -> None:
        self.size = 0
        self.places: deque[Place | None] = deque(maxlen=_RECENT)

    def seats(self) -> Iterator[Place | None]:
        """For whom the first, second, third… is: repositories that came back in turns, else nobody's."""
        counts = Counter(self.places)
        back = [place for place in dict.fromkeys(reversed(self.places)) if place is not None and counts[place] > 1]
        while True:
            yield from back or (None,)
