"""What each outgoing commit changes: every commit that the remote does not have, not the net difference.

A commit with one parent changes what differs from that parent. A root commit replaces the whole tree, so it is
compared with the commit that the run started from: files that it leaves out count as removed.

What a merge introduces is said by `merges`.

Changes come with where they start from. The line of history of a parent ends, going back, at commits that the remote
had when the run started, or that others brought there since: these are the known commits of that side. What their trees
have is not the run's own, on whatever branch it is; what the run pushed earlier stays its own. A merge is looked at
from each parent by that parent's known commits, so an honest one is free to take the remote's version of a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from runner.gate.merges import Changes, introduced_by_merge
from runner.gate.outgoing import Quarantine
from runner.gate.refs import OBJECT_NAME, rev_list_input
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange

__all__ = ["Known", "OutgoingCommit", "Side", "changes_of_range", "trees_of_known"]

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the name of the tree without entries, the same everywhere
_ABSENT = "0" * 40
_META = re.compile(r":([0-7]{6}) ([0-7]{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) [ADMT]")
_MAX_DIFF_BYTES = 32 << 20  # 200,000 changed paths in one commit
_MAX_PARENTS = 8  # each pair of parents is compared; a merge of more is refused
_MAX_KNOWN = 128  # known commits that outgoing ones stand on; each is compared with the base
_MAX_KNOWN_PATHS = 1_000_000  # that these have otherwise than the base, together; about 250 MB

Known = frozenset[str]
"""Commits of the remote's that a line of history starts from. Empty is that of a root commit."""


@dataclass(frozen=True, slots=True)
class Side:
    """What a commit introduces, seen from one parent, sorted by path; and the known commits of that parent's line."""

    changes: tuple[TreeChange, ...]
    known: Known


@dataclass(frozen=True, slots=True)
class OutgoingCommit:
    """A commit that would leave, with a side for each parent; a root commit has one, seen from the base."""

    commit: str
    parents: tuple[str, ...]
    sides: tuple[Side, ...]

    @property
    def changes(self) -> tuple[TreeChange, ...]:
        """The changes of all sides, sorted by path; a merge may list a path once for each parent."""
        return tuple(sorted(chain.from_iterable(side.changes for side in self.sides), key=lambda change: change.path))

    @property
    def known(self) -> Known:
        """The known commits that this one stands on."""
        return Known().union(*(side.known for side in self.sides))


def changes_of_range(
    quarantine: Quarantine, *, max_commits: int, own: Mapping[str, Known] | None = None
) -> tuple[OutgoingCommit, ...]:
    """Every outgoing commit with what it changes, parents before children; empty when nothing would leave.

    Args:
        quarantine: what would leave.
        max_commits: more than these are refused.
        own: the commits that this run brought to the remote before, by name, with the known commits of each.

    Raises:
        ToolError: PUSH_POLICY_VIOLATION: rule `push.maxCommits`, or `push.objects` for what cannot be listed.
    """
    rows = _rows(quarantine, quarantine.known, max_commits)
    if len(rows) > max_commits:
        raise _refused("push.maxCommits", f"more than {max_commits} commits would leave")
    # A commit that the remote had and has lost is leaving, and is still not the run's own.
    made_here = {row[0] for row in _rows(quarantine, {**quarantine.known, **_started(quarantine)}, max_commits)}
    reached = dict(own or {})
    outgoing = []
    for commit, *parents in reversed(rows):
        known = [reached.get(parent, Known({parent})) for parent in parents]
        item = OutgoingCommit(commit, tuple(parents), _sides(quarantine, commit, tuple(parents), known))
        if commit in made_here:
            reached[commit] = item.known
        outgoing.append(item)
    return tuple(outgoing)


def trees_of_known(quarantine: Quarantine, commits: Sequence[OutgoingCommit]) -> dict[str, dict[str, str]]:
    """For each known commit that `commits` stand on: path to blob, where its tree is not as the base's.

    Raises:
        ToolError: PUSH_POLICY_VIOLATION, rule `push.objects`: there are too many of them to look at.
    """
    wanted = sorted(Known().union(*(commit.known for commit in commits)) - {quarantine.base})
    if len(wanted) > _MAX_KNOWN:
        raise _refused("push.objects", f"the outgoing commits stand on more than {_MAX_KNOWN} commits of the remote")
    trees: dict[str, dict[str, str]] = {}
    room = _MAX_KNOWN_PATHS
    for known in wanted:
        changes = _diff(quarantine, quarantine.base, known).values()
        trees[known] = {change.path: change.new_blob for change in changes if change.new_blob is not None}
        room -= len(trees[known])
        if room < 0:
            raise _refused("push.objects", "the branches that the outgoing commits stand on differ in too many paths")
    return trees


def _rows(quarantine: Quarantine, known: Mapping[str, str], max_commits: int) -> list[list[str]]:
    """One list for each commit that `known` does not hold, children first: the commit and its parents."""
    listing = quarantine.output(
        ["rev-list", "--topo-order", "--parents", f"--max-count={max_commits + 1}", "--stdin"],
        stdin=rev_list_input(quarantine.commit, known),
    )
    rows = [line.split() for line in listing.decode("ascii", "replace").splitlines()]
    if not all(row and all(OBJECT_NAME.fullmatch(name) for name in row) for row in rows):
        raise _unreadable()
    return rows


def _started(quarantine: Quarantine) -> dict[str, str]:
    return {f"{name} at the start": oid for name, oid in quarantine.started.items()}


def _sides(quarantine: Quarantine, commit: str, parents: tuple[str, ...], known: Sequence[Known]) -> tuple[Side, ...]:
    if len(parents) > _MAX_PARENTS:
        raise _refused("push.objects", f"commit {commit[:12]} has more than {_MAX_PARENTS} parents")
    if not parents:
        return (_side(_diff(quarantine, quarantine.base, commit), Known()),)
    sides = [_diff(quarantine, parent, commit) for parent in parents]
    if len(sides) > 1:
        found = introduced_by_merge(parents, sides, partial(_diff, quarantine), partial(_merge_bases, quarantine))
        introduced = {change.path for change in found}
        sides = [{path: change for path, change in side.items() if path in introduced} for side in sides]
    return tuple(_side(changes, since) for changes, since in zip(sides, known, strict=True))


def _side(changes: Changes, known: Known) -> Side:
    return Side(tuple(changes[path] for path in sorted(changes)), known)


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
        raise _unreadable()
    changes = (_change(meta, path) for meta, path in zip(fields[::2], fields[1::2], strict=True))
    return {change.path: change for change in changes}


def _change(meta: bytes, path: bytes) -> TreeChange:
    match = _META.fullmatch(meta.decode("ascii", "replace"))
    if match is None:
        raise _unreadable()
    old_mode, new_mode, old_blob, new_blob = match.groups()
    return TreeChange(
        path=path.decode("utf-8", "surrogateescape"),
        old_mode=int(old_mode, 8) or None,
        new_mode=int(new_mode, 8) or None,
        old_blob=None if old_blob == _ABSENT else old_blob,
        new_blob=None if new_blob == _ABSENT else new_blob,
    )


def _unreadable() -> ToolError:
    """The judging room may have been taken over: what it says has git's form, or nothing leaves."""
    return _refused("push.objects", "the outgoing commits could not be listed in git's own form")


def _refused(rule: str, message: str) -> ToolError:
    return ToolError(
        ErrorCode.PUSH_POLICY_VIOLATION,
        message + ".",
        rule=rule,
        hint="Nothing was pushed. Push fewer, simpler commits.",
    )
