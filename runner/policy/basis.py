"""What a decision was made on, in the form that the audit log keeps, so that another policy can judge it again.

`subject` says what was judged, by `kind`:

| kind | subject | facts |
|---|---|---|
| `write` | op, path as the caller wrote it | real_path, via_link, existed_at_start |
| `append` | path | lost: the first line that would be lost, null when all are kept; the content itself is not there |
| `argv` | tool, argv | the tree's answers, see `answers` |
| `budget` | ground | - |
| `commit` | - | changes |
| `branch` | branch, default_branch | - |
| `push` | - | commits, each a list of changes; at_most_mib |

A change is `{path, old, new, base}`: git's modes or null, and whether the remote had the path; for add-only files
also `lines` (kept or lost), for new ones `spelled` (the base's other spellings). The form has a version, `basis`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import TreeChange
from runner.policy.budget import Ground
from runner.policy.changes import BaseTree, JudgedChanges, Violation, leading
from runner.policy.redaction import MAX_KEPT_BYTES, digest_of
from runner.policy.writes import PathFacts, WriteIntent, WriteRules, must_append

__all__ = ["BASIS_VERSION", "MAX_CHANGES", "Basis", "OnDecision", "decision_of", "push_decision_of"]

BASIS_VERSION = 1

MAX_CHANGES = 2000
"""Changed paths that one decision's record lists, about 200 KiB; a commit with more is judged and not listed whole."""

_CHANGES_HINT = "Undo those changes, then commit again."


@dataclass(frozen=True, slots=True)
class Basis:
    """Subject and facts of one decision; both are JSON."""

    subject: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The keys that a decision's line in the audit log gets."""
        return {"basis": BASIS_VERSION, "subject": dict(self.subject), "facts": dict(self.facts)}

    @classmethod
    def of_write(cls, intent: WriteIntent, facts: PathFacts) -> Basis:
        """A write, edit or deletion of one path."""
        told = {
            "real_path": facts.real_path,
            "via_link": facts.via_link,
            "existed_at_start": facts.existed_at_start,
        }
        return cls({"kind": "write", "op": str(intent.op), "path": intent.path}, told)

    @classmethod
    def of_append(cls, real_path: str, lost: int | None) -> Basis:
        """Whether the lines of an add-only file survive; `lost` is the first that does not."""
        return cls({"kind": "append", "path": real_path}, {"lost": lost})

    @classmethod
    def of_argv(cls, argv: Sequence[str], tool: str, answers: Mapping[str, Any]) -> Basis:
        """A command line; one that is too long to keep is left out by digest."""
        words = list(argv)
        kept = words if sum(len(word) + 4 for word in words) <= MAX_KEPT_BYTES else digest_of(words)
        return cls({"kind": "argv", "tool": tool, "argv": kept}, answers)

    @classmethod
    def of_budget(cls, ground: Ground) -> Basis:
        """A look at something."""
        shown = {"kind": ground.kind, "subject": ground.subject[:MAX_KEPT_BYTES], "detail": ground.detail[:1024]}
        return cls({"kind": "budget", "ground": shown})

    @classmethod
    def of_commit(
        cls, rules: WriteRules, changes: Sequence[TreeChange], base: BaseTree, found: Sequence[Violation]
    ) -> Basis:
        """What a commit would change, or has changed."""
        return cls({"kind": "commit"}, _listed("changes", [_changes(rules, changes, base, found)]))

    @classmethod
    def of_branch(cls, branch: str, default_branch: str | None) -> Basis:
        """The branch that is to be pushed; None is a default branch that is not known."""
        return cls({"kind": "branch", "branch": branch[:1024], "default_branch": default_branch})

    @classmethod
    def of_push(
        cls,
        rules: WriteRules,
        commits: Sequence[Sequence[JudgedChanges]],
        at_most_mib: int,
    ) -> Basis:
        """Every commit that would leave: a part for each parent. The pack's size is known to be within its bound."""
        listed = [
            [told for part in commit for told in _changes(rules, part.changes, part.base, part.found)]
            for commit in commits
        ]
        return cls({"kind": "push"}, {**_listed("commits", listed), "at_most_mib": at_most_mib})


OnDecision = Callable[[Decision, Basis], None]
"""Called for every decision, allow and deny alike, before it takes effect."""


def decision_of(violations: Sequence[Violation], allowed_by: str) -> Decision:
    """The one decision over a list of violations: allowed when it is empty, else the leading one's refusal."""
    if not violations:
        return Decision.allow(allowed_by)
    first = leading(violations)
    return Decision.deny(first.code, first.rule, first.message, _CHANGES_HINT)


def push_decision_of(violations: Sequence[Violation]) -> Decision:
    """The same for a push, whose refusal has one code for everything, unless lost lines are all that is wrong."""
    decision = decision_of(violations, "push.allow")
    if decision.allowed or all(found.code is ErrorCode.WORKSPACE_APPEND_ONLY for found in violations):
        return decision
    return Decision.deny(ErrorCode.PUSH_POLICY_VIOLATION, decision.rule, decision.message, decision.hint)


def _listed(name: str, commits: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """The changes under `name`, one list or a list of lists; nothing but `cut` when there are too many to keep."""
    if sum(len(changes) for changes in commits) > MAX_CHANGES:
        return {"cut": True}
    return {name: commits[0] if name == "changes" else commits}


def _changes(
    rules: WriteRules, changes: Sequence[TreeChange], base: BaseTree, found: Sequence[Violation]
) -> list[dict[str, Any]]:
    if len(changes) > MAX_CHANGES:
        return [{}] * (MAX_CHANGES + 1)  # not kept, so not looked at either
    rule_of = {violation.path: violation.rule for violation in reversed(found)}
    return [_change(rules, change, base, rule_of.get(change.path)) for change in changes]


def _change(rules: WriteRules, change: TreeChange, base: BaseTree, violated: str | None) -> dict[str, Any]:
    existed = base.has(change.path)
    told: dict[str, Any] = {"path": change.path, "old": change.old_mode, "new": change.new_mode, "base": existed}
    facts = PathFacts(change.path, via_link=False, existed_at_start=existed)
    if existed and change.new_mode is not None and must_append(rules, facts):
        if violated in (None, "append.line-lost"):
            told["lines"] = "kept" if violated is None else "lost"
    elif not existed and (other := base.spelled_otherwise(change.path)):
        told["spelled"] = list(other)
    return told
