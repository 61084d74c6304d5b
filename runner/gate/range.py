"""What each outgoing commit changes: every commit that the remote does not have, not the net difference.

A commit with one parent changes what differs from that parent. A root commit replaces the whole tree, so it is
compared with the commit that the run started from: files that it leaves out count as removed.

A merge introduces a path unless its result follows from the parents alone: it has one parent's entry, and every other
parent either has the same entry or left the path as the two parents' merge base had it. So the honest merge of a
remote branch introduces nothing outside the conflicts that it resolved, while a merge that drops what one side
changed, or adds what no side had, shows just that. With several merge bases the rule must hold for each of them, since
the workspace can make criss-cross histories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from runner.gate.outgoing import Quarantine
from runner.gate.refs import OBJECT_NAME, rev_list_input
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange

__all__ = ["OutgoingCommit", "changes_of_range"]

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the name of the tree without entries, the same everywhere
_ABSENT = "0" * 40
_META = re.compile(r":([0-7]{6}) ([0-7]{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) [ADMT]")
_MAX_DIFF_BYTES = 32 << 20  # 200,000 changed paths in one commit
_MAX_PARENTS = 8  # each pair of parents is compared; a merge of more is refused

_Changes = Mapping[str, TreeChange]


@dataclass(frozen=True, slots=True)
class OutgoingCommit:
    """A commit that would leave. `changes` are sorted by path; a merge may list a path once for each parent."""

    commit: str
    parents: tuple[str, ...]
    changes: tuple[TreeChange, ...]


def changes_of_range(quarantine: Quarantine, *, max_commits: int) -> tuple[OutgoingCommit, ...]:
    """Every outgoing commit with what it changes, parents before children; empty when nothing would leave.

    Raises:
        ToolError: PUSH_POLICY_VIOLATION: rule `push.maxCommits`, or `push.objects` for what cannot be listed.
    """
    listing = quarantine.output(
        ["rev-list", "--topo-order", "--parents", f"--max-count={max_commits + 1}", "--stdin"],
        stdin=rev_list_input(quarantine.commit, quarantine.known),
    )
    rows = [tuple(line.split()) for line in listing.decode("ascii").splitlines()]
    if len(rows) > max_commits:
        raise _refused("push.maxCommits", f"more than {max_commits} commits would leave")
    return tuple(OutgoingCommit(row[0], row[1:], _introduced(quarantine, row[0], row[1:])) for row in reversed(rows))


def _introduced(quarantine: Quarantine, commit: str, parents: tuple[str, ...]) -> tuple[TreeChange, ...]:
    if len(parents) > _MAX_PARENTS:
        raise _refused("push.objects", f"commit {commit[:12]} has more than {_MAX_PARENTS} parents")
    sides = [_diff(quarantine, parent, commit) for parent in parents or (quarantine.base,)]
    if len(sides) == 1:
        return tuple(sides[0][path] for path in sorted(sides[0]))
    moved = _moved_since_bases(quarantine, parents)
    paths = sorted(set().union(*sides))
    kept = [path for path in paths if not _follows(path, sides, moved)]
    return tuple(side[path] for path in kept for side in sides if path in side)


def _follows(path: str, sides: Sequence[_Changes], moved: Mapping[tuple[int, int], Sequence[_Changes]]) -> bool:
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


def _moved_since_bases(quarantine: Quarantine, parents: tuple[str, ...]) -> dict[tuple[int, int], Sequence[_Changes]]:
    """For each ordered pair of parents: what the second one changed since each of their merge bases."""
    moved: dict[tuple[int, int], Sequence[_Changes]] = {}
    for taken, other in permutations(range(len(parents)), 2):
        bases = _merge_bases(quarantine, parents[taken], parents[other])
        moved[taken, other] = [_diff(quarantine, base, parents[other]) for base in bases]
    return moved


def _merge_bases(quarantine: Quarantine, one: str, two: str) -> list[str]:
    result = quarantine.git.run(["merge-base", "--all", one, two], repository=quarantine.repository)
    bases = result.stdout.decode("ascii", "replace").split()
    if result.exit not in (0, 1) or not all(OBJECT_NAME.fullmatch(base) for base in bases):
        raise _refused("push.objects", "the merge base of an outgoing merge could not be found")
    return bases or [_EMPTY_TREE]


def _diff(quarantine: Quarantine, old: str, new: str) -> dict[str, TreeChange]:
    listing = quarantine.output(
        ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--end-of-options", old, new],
        max_stdout_bytes=_MAX_DIFF_BYTES,
    )
    fields = listing.split(b"\0")
    if fields.pop() != b"" or len(fields) % 2:
        raise AssertionError("a raw diff is pairs, each part ended by NUL")
    changes = (_change(meta, path) for meta, path in zip(fields[::2], fields[1::2], strict=True))
    return {change.path: change for change in changes}


def _change(meta: bytes, path: bytes) -> TreeChange:
    match = _META.fullmatch(meta.decode("ascii", "replace"))
    if match is None:
        raise AssertionError("git's raw diff has a form that is not documented")
    old_mode, new_mode, old_blob, new_blob = match.groups()
    return TreeChange(
        path=path.decode("utf-8", "surrogateescape"),
        old_mode=int(old_mode, 8) or None,
        new_mode=int(new_mode, 8) or None,
        old_blob=None if old_blob == _ABSENT else old_blob,
        new_blob=None if new_blob == _ABSENT else new_blob,
    )


def _refused(rule: str, message: str) -> ToolError:
    return ToolError(
        ErrorCode.PUSH_POLICY_VIOLATION,
        message + ".",
        rule=rule,
        hint="Nothing was pushed. Push fewer, simpler commits.",
    )
