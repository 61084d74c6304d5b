"""The write policy over commits: what is about to be committed, and what is about to leave.

The same rules as for a single write, over git trees instead of calls: a removal is a deletion, a rename is a removal
and an addition, a change of mode alone is a change, and a link is a change at its own path. What the run was given is
the base tree: it says which files were there at the start, and which lines an add-only file had. A range of commits
is judged commit by commit against that base, so that a forbidden step cannot hide behind a later one.

A commit that leaves may stand on another branch of the remote than the one that the run started from. A path is then
the run's own only if neither the base tree nor the trees that this line of history took from the remote have it, and an
add-only file keeps the lines of each of these versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import TreeChange
from runner.policy.append_only import decide_append
from runner.policy.globs import folded
from runner.policy.paths import shown
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write, must_append

__all__ = ["BaseTree", "ChangeFacts", "JudgedChanges", "Violation", "judge_changes", "leading"]

GITLINK = 0o160000
SYMLINK = 0o120000
_REGULAR = (0o100644, 0o100755)
_MODES = (*_REGULAR, SYMLINK, GITLINK)


@dataclass(frozen=True, slots=True)
class Violation:
    """One path of a commit that the policy refuses, by which rule."""

    path: str
    code: ErrorCode
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class BaseTree:
    """The tree of the base commit: path to blob. Built once for a run.

    `beside` are other trees of the remote's, or what they have otherwise than this one: what is in any was there.
    """

    blobs: Mapping[str, str]
    _spellings: Mapping[str, tuple[str, ...]] = field(repr=False)
    beside: tuple[BaseTree, ...] = ()

    @classmethod
    def of(cls, blobs: Mapping[str, str]) -> BaseTree:
        """The tree with these blobs by path."""
        spellings: dict[str, tuple[str, ...]] = {}
        for path in blobs:
            key = folded(path)
            spellings[key] = (*spellings.get(key, ()), path)
        return cls(blobs, spellings)

    def joined(self, others: Sequence[BaseTree]) -> BaseTree:
        """This tree with `others` beside it."""
        return BaseTree(self.blobs, self._spellings, (*self.beside, *others))

    def has(self, path: str) -> bool:
        """Whether the path was there: then it is not the run's own."""
        return path in self.blobs or any(tree.has(path) for tree in self.beside)

    def versions(self, path: str) -> tuple[str, ...]:
        """The different blobs that the path has, this tree's own first; empty when it was not there."""
        own = (self.blobs[path],) if path in self.blobs else ()
        return tuple(dict.fromkeys((*own, *(blob for tree in self.beside for blob in tree.versions(path)))))

    def spelled_otherwise(self, path: str) -> tuple[str, ...]:
        """The paths there that are the same file as `path` where case and Unicode form do not count."""
        own = (other for other in self._spellings.get(folded(path), ()) if other != path)
        return tuple(dict.fromkeys((*own, *(other for tree in self.beside for other in tree.spelled_otherwise(path)))))


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """What judging needs beside the changes. `blob` gives a blob's bytes by name, for add-only files alone."""

    base: BaseTree
    blob: Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class JudgedChanges:
    """Changes with what was found in them, and the trees that they were judged against."""

    changes: tuple[TreeChange, ...]
    found: tuple[Violation, ...]
    base: BaseTree


def leading(violations: Sequence[Violation]) -> Violation:
    """The one that an error names by its rule, of at least one.

    What the push section forbids goes first: a path that may not leave at all is not mended by a wider write policy.
    """
    return next((found for found in violations if found.rule.startswith("push.forbid.")), violations[0])


def judge_changes(rules: WriteRules, changes: Sequence[TreeChange], facts: ChangeFacts) -> tuple[Violation, ...]:
    """Everything that the write policy refuses in the changes of one commit, in their order; empty when it allows all.

    Codes are `workspace_commit_not_allowed`, and `workspace_append_only` where a line would be lost. What
    `facts.blob` raises passes through.
    """
    violations: list[Violation] = []
    for change in changes:
        decision = _judge(rules, change, facts)
        if not decision.allowed:
            code = decision.code
            if code is not ErrorCode.WORKSPACE_APPEND_ONLY:
                code = ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED
            violations.append(Violation(change.path, code, decision.rule, decision.message))
    return tuple(violations)


def _judge(rules: WriteRules, change: TreeChange, facts: ChangeFacts) -> Decision:
    """The first refusal for one path, or the last permission."""
    malformed = _malformed(change)
    if malformed is not None:
        return _deny("change.malformed", f"{shown(change.path)} {malformed}.")
    path_facts = PathFacts(change.path, via_link=False, existed_at_start=facts.base.has(change.path))
    op = WriteOp.DELETE if change.new_mode is None else WriteOp.WRITE
    decision = decide_write(rules, WriteIntent(op, change.path), path_facts)
    if not decision.allowed:
        return decision
    if op is WriteOp.WRITE and must_append(rules, path_facts):
        decision = _judge_add_only(change, facts)
    elif change.new_mode == GITLINK:
        decision = _judge_gitlink(rules, change)
    if decision.allowed and op is WriteOp.WRITE and not path_facts.existed_at_start:
        return _judge_spelling(rules, change, facts, decision)
    return decision


def _malformed(change: TreeChange) -> str | None:
    if any(part in ("", ".", "..") for part in change.path.split("/")) or "\0" in change.path:
        return "is not a path that a tree can have"
    if change.new_mode is not None and change.new_mode not in _MODES:
        return f"has the mode {change.new_mode:o}, which git does not write"
    return None


def _judge_add_only(change: TreeChange, facts: ChangeFacts) -> Decision:
    """An add-only file stays a regular file of the same mode and keeps its lines."""
    hint = "Only add lines to it."
    if change.new_mode not in _REGULAR or change.new_blob is None:
        return Decision.deny(
            ErrorCode.WORKSPACE_APPEND_ONLY,
            "append.kind",
            f"{shown(change.path)} is add-only and would no longer be a regular file.",
            hint,
        )
    if change.old_mode is not None and change.old_mode != change.new_mode:
        return Decision.deny(
            ErrorCode.WORKSPACE_APPEND_ONLY, "append.mode", f"{shown(change.path)} is add-only; its mode stays.", hint
        )
    new = facts.blob(change.new_blob)
    decisions = (decide_append(facts.blob(version), new) for version in facts.base.versions(change.path))
    return next((decision for decision in decisions if not decision.allowed), Decision.allow("append.lines-kept"))


def _judge_gitlink(rules: WriteRules, change: TreeChange) -> Decision:
    """A gitlink stands for a whole folder, so what lies beneath it must be writable too."""
    inside = PathFacts(f"{change.path}/inside", via_link=False, existed_at_start=False)
    return decide_write(rules, WriteIntent(WriteOp.WRITE, change.path), inside)


def _judge_spelling(rules: WriteRules, change: TreeChange, facts: ChangeFacts, allowed: Decision) -> Decision:
    """A new path that some file systems take for a file of the base replaces that file there."""
    for other in facts.base.spelled_otherwise(change.path):
        replaced = PathFacts(other, via_link=False, existed_at_start=True)
        if not decide_write(rules, WriteIntent(WriteOp.DELETE, other), replaced).allowed:
            return _deny(
                "change.spelling",
                f"{shown(change.path)} differs from {shown(other)} only in case or Unicode form, and would replace it "
                "on some file systems.",
            )
    return allowed


def _deny(rule: str, message: str) -> Decision:
    return Decision.deny(ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED, rule, message, "Leave the path out of the commit.")
