"""The explanation of a commit and of a push: the facts about paths are read as what would be committed or leave.

`existed` and `changed` are a file that is changed, `created` a new one, `missing` a removal, `link` a new link. No
content is told, so add-only files are taken to keep their lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.model.decision import Decision
from runner.model.tree import TreeChange
from runner.policy.basis import decision_of, push_decision_of
from runner.policy.changes import SYMLINK, BaseTree, ChangeFacts, Violation, judge_changes
from runner.policy.document import Policy
from runner.policy.facts_file import Fact, FactState
from runner.policy.paths import shown
from runner.policy.push import decide_branch, judge_push
from runner.policy.steps import Explanation, Step
from runner.policy.writes import WriteRules

__all__ = ["explain_commit", "explain_push"]

_FILE = 0o100644
_MODES = {
    FactState.EXISTED: (_FILE, _FILE),
    FactState.CHANGED: (_FILE, _FILE),
    FactState.CREATED: (None, _FILE),
    FactState.LINK: (None, SYMLINK),
    FactState.MISSING: (_FILE, None),
}


def explain_commit(policy: Policy, facts: Mapping[str, Fact]) -> Explanation:
    """Whether a commit of these changes would be made, as far as the write policy goes."""
    changes = _changes(facts)
    if not changes:
        none = "no path is told; name what would be committed as facts"
        return Explanation((Step("changes", none),), Decision.allow("commit.allow"))
    found = _violations(policy, changes)
    return Explanation(tuple(_told(changes, found)), decision_of(found, "commit.allow"))


def explain_push(policy: Policy, branch: str, default_branch: str, facts: Mapping[str, Fact]) -> Explanation:
    """Whether one commit of these changes could leave on the branch, credentials and remote left aside."""
    decision = decide_branch(policy, branch, default_branch)
    steps = [Step("branch", f"{shown(branch)}; the remote's default branch is {shown(default_branch)}")]
    if not decision.allowed:
        return Explanation(tuple(steps), decision)
    changes = _changes(facts)
    found = [*_violations(policy, changes), *judge_push(policy.push, changes)]
    steps += _told(changes, found)
    return Explanation(tuple(steps), push_decision_of(found))


def _changes(facts: Mapping[str, Fact]) -> list[TreeChange]:
    changes = []
    for path in sorted(facts):
        old, new = _MODES[facts[path].state]
        changes.append(TreeChange(path, old, new, None if old is None else "old", None if new is None else "new"))
    return changes


def _violations(policy: Policy, changes: Sequence[TreeChange]) -> tuple[Violation, ...]:
    base = BaseTree.of({change.path: "old" for change in changes if change.old_mode is not None})
    # The same bytes on both sides: what is not told is taken to keep its lines.
    return judge_changes(WriteRules.compile(policy), changes, ChangeFacts(base, lambda _blob: b""))


def _told(changes: Sequence[TreeChange], found: Sequence[Violation]) -> list[Step]:
    refused = {violation.path: violation for violation in reversed(found)}
    return [
        Step(
            "change",
            f"{shown(change.path)}: {refused[change.path].rule}"
            if change.path in refused
            else f"{shown(change.path)}: may be",
        )
        for change in changes
    ]
