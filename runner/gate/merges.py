"""What a merge itself changes, beside what its parents brought. Pure: trees and histories are asked of the caller.

A merge introduces a path unless its result follows from the parents alone: it has one parent's entry, and every other
parent either has the same entry or left the path as the two parents' merge base had it. So the honest merge of a
remote branch introduces nothing outside the conflicts that it resolved, while a merge that drops what one side
changed, or adds what no side had, shows just that. With several merge bases the rule must hold for each of them, since
the workspace can make criss-cross histories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

from runner.model.tree import TreeChange

__all__ = ["Changes", "introduced_by_merge"]

Changes = Mapping[str, TreeChange]
"""By path."""


def introduced_by_merge(
    parents: Sequence[str],
    sides: Sequence[Changes],
    diff: Callable[[str, str], Changes],
    merge_bases: Callable[[str, str], Sequence[str]],
) -> tuple[TreeChange, ...]:
    """The changes that the merge introduces, sorted by path; a path may be there once for each parent.

    Args:
        parents: the merge's, in order.
        sides: for each parent, what differs between it and the merge.
        diff: what differs between two commits or trees.
        merge_bases: all merge bases of two commits, the empty tree where there is none.
    """
    moved: dict[tuple[int, int], Sequence[Changes]] = {}
    for taken, other in permutations(range(len(parents)), 2):
        bases = merge_bases(parents[taken], parents[other])
        moved[taken, other] = [diff(base, parents[other]) for base in bases]
    kept = [path for path in sorted(set().union(*sides)) if not _follows(path, sides, moved)]
    return tuple(side[path] for path in kept for side in sides if path in side)


def _follows(path: str, sides: Sequence[Changes], moved: Mapping[tuple[int, int], Sequence[Changes]]) -> bool:
    """Whether the merge has at `path` what one parent has, no other parent having changed it to something else."""
    numbers = range(len(sides))
    return any(
        path not in sides[taken]
        and all(
            path not in sides[other] or all(path not in since for since in moved[taken, other])
            for other in numbers
            if other != taken
        )
        for taken in numbers
    )
