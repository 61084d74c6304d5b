"""One recorded decision judged again, by another policy, with the functions that judge a live call.

What a record does not hold is `Unrecorded`, and so is a record in another form than `basis` describes: no verdict is
given on a guess. A record comes from a file, so its shape is checked here and not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runner.model.decision import Decision
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange
from runner.policy.answers import RecordedTree, Unrecorded
from runner.policy.argv import decide_argv
from runner.policy.argv_policy import argv_policy
from runner.policy.basis import BASIS_VERSION, decision_of, push_decision_of
from runner.policy.changes import BaseTree, ChangeFacts, Violation, judge_changes
from runner.policy.document import Policy
from runner.policy.push import decide_branch, judge_push
from runner.policy.redaction import is_digest
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write, must_append

__all__ = ["Rejudge"]

_KEPT, _LOST = "kept", "lost"
_Json = Mapping[str, Any]


class Rejudge:
    """Judges recorded decisions under one policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._rules = WriteRules.compile(policy)
        self._judges: Mapping[str, Callable[[_Json, _Json], Decision]] = {
            "write": self._write,
            "append": self._append,
            "argv": self._argv,
            "commit": self._commit,
            "branch": self._branch,
            "push": self._push,
        }

    def __call__(self, recorded: Mapping[str, Any]) -> Decision:
        """The decision of this policy on what the line of the audit log tells.

        Raises:
            Unrecorded: when it depends on something that the line does not tell.
        """
        subject, facts = recorded.get("subject"), recorded.get("facts")
        if recorded.get("basis") != BASIS_VERSION or not isinstance(subject, dict) or not isinstance(facts, dict):
            raise Unrecorded("what the decision was made on")
        judge = self._judges.get(str(subject.get("kind")))
        if judge is None:
            raise Unrecorded(f"a decision of the kind {subject.get('kind')!s:.40}")
        return judge(subject, facts)

    def must_keep_lines(self, recorded: Mapping[str, Any]) -> bool:
        """Whether this policy lets only lines be added by the recorded write, so that its content matters too."""
        subject, facts = recorded.get("subject"), recorded.get("facts")
        if not isinstance(subject, dict) or subject.get("kind") != "write" or not isinstance(facts, dict):
            return False
        return subject.get("op") != WriteOp.DELETE and must_append(self._rules, _path_facts(facts))

    def _write(self, subject: _Json, facts: _Json) -> Decision:
        op, path = _text(subject, "op"), _text(subject, "path")
        if op not in set(WriteOp):
            raise Unrecorded("what was to be done to the path")
        return decide_write(self._rules, WriteIntent(WriteOp(op), path), _path_facts(facts))

    def _append(self, subject: _Json, facts: _Json) -> Decision:
        path, lost = _text(subject, "path"), facts.get("lost")
        existed = PathFacts(path, via_link=False, existed_at_start=True)
        if lost is None or not must_append(self._rules, existed):
            return Decision.allow("append.lines-kept")
        message = f"The file is add-only, and its line {lost} would be changed, moved or removed."
        return Decision.deny(ErrorCode.WORKSPACE_APPEND_ONLY, "append.line-lost", message, "Only add lines to it.")

    def _argv(self, subject: _Json, facts: _Json) -> Decision:
        argv, tool = subject.get("argv"), subject.get("tool")
        if is_digest(argv) or not isinstance(argv, list):
            raise Unrecorded("the whole command line")
        tree = RecordedTree(facts)
        policy = argv_policy(self._policy, self._rules, tree)
        try:
            return decide_argv(argv, policy, tree, tool="git" if tool == "git" else "run_command")
        except ToolError as error:
            return Decision.deny(error.code, error.rule or "argv.form", error.message, error.hint or "")

    def _branch(self, subject: _Json, _facts: _Json) -> Decision:
        known = subject.get("default_branch", "") is not None
        default = _text(subject, "default_branch") if known else None
        return decide_branch(self._policy, _text(subject, "branch"), default)

    def _commit(self, _subject: _Json, facts: _Json) -> Decision:
        return decision_of(self._violations(_list(facts, "changes")), "commit.allow")

    def _push(self, _subject: _Json, facts: _Json) -> Decision:
        push, commits = self._policy.push, _list(facts, "commits")
        if len(commits) > push.max_commits:
            return _too_many(push.max_commits)
        violations: list[Violation] = []
        for changes in commits:
            if not isinstance(changes, list):
                raise Unrecorded("what a commit changes")
            violations += self._violations(changes)
            violations += judge_push(push, [_change(change) for change in changes])
        bound = facts.get("at_most_mib")
        if not violations and not (isinstance(bound, int) and bound <= push.max_mib):
            raise Unrecorded("the size of the push, beyond that it was within the bound of its own policy")
        return push_decision_of(violations)

    def _violations(self, changes: list[Any]) -> list[Violation]:
        """Everything that the write policy refuses; each change with its own facts, as they were recorded."""
        return [found for change in changes for found in self._violation(change)]

    def _violation(self, change: Any) -> tuple[Violation, ...]:
        tree_change = _change(change)
        existed, lines, spelled = change.get("base"), change.get("lines"), change.get("spelled", [])
        if not isinstance(existed, bool) or not isinstance(spelled, list):
            raise Unrecorded(f"whether {tree_change.path} was there at the start")
        base = BaseTree.of({str(path): "" for path in ([tree_change.path] if existed else spelled)})

        def blob(_name: str) -> bytes:
            raise Unrecorded(f"the lines of {tree_change.path}") if lines not in (_KEPT, _LOST) else _Lines(lines)

        try:
            return judge_changes(self._rules, (tree_change,), ChangeFacts(base, blob))
        except _Lines as told:
            if told.outcome == _KEPT:
                return ()
            message = f"{tree_change.path} is add-only, and a line of it would be changed, moved or removed."
            return (Violation(tree_change.path, ErrorCode.WORKSPACE_APPEND_ONLY, "append.line-lost", message),)


class _Lines(Exception):
    """The judge came to the comparison of lines, whose outcome is on record."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def _too_many(most: int) -> Decision:
    """As the gate refuses while it counts."""
    message = f"More than {most} commits would leave."
    return Decision.deny(ErrorCode.PUSH_POLICY_VIOLATION, "push.maxCommits", message, "Push fewer commits.")


def _path_facts(facts: _Json) -> PathFacts:
    real_path, via_link, existed = (facts.get(key) for key in ("real_path", "via_link", "existed_at_start"))
    if not isinstance(real_path, str) or not isinstance(via_link, bool) or not isinstance(existed, bool):
        raise Unrecorded("where the path leads and whether it was there at the start")
    return PathFacts(real_path, via_link, existed)


def _change(told: Any) -> TreeChange:
    if not isinstance(told, dict) or not isinstance(told.get("path"), str):
        raise Unrecorded("what a commit changes")
    old, new = told.get("old"), told.get("new")
    if not isinstance(old, int | None) or not isinstance(new, int | None):
        raise Unrecorded("the modes of a change")
    return TreeChange(told["path"], old, new, None if old is None else "old", None if new is None else "new")


def _text(told: _Json, key: str) -> str:
    value = told.get(key)
    if not isinstance(value, str):
        raise Unrecorded(key.replace("_", " "))
    return value


def _list(told: _Json, key: str) -> list[Any]:
    value = told.get(key)
    if not isinstance(value, list):
        raise Unrecorded(f"the {key}; there were too many to keep")
    return value
