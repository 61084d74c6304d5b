"""The calls of a recorded run, judged by another policy: what each would have been answered, one by one, in order.

Every recorded decision is judged again on its recorded facts (`rejudge`); the budget and the count of refusals are
carried along as the other policy would have moved them on. A call that the other policy refuses did nothing, so it
empties no re-reads; one that it allows and the recorded policy refused is taken to have succeeded; one that cannot be
decided moves nothing on. What the tree would have been after such a call is not guessed: later calls are judged on
what they really met.

Not judged: set-up, networks, limits of time and memory, bindings. They decide what a run has, not which call may go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.model.errors import ErrorCode
from runner.policy import budget
from runner.policy.answers import Unrecorded
from runner.policy.budget import BudgetState, Ground
from runner.policy.document import Policy
from runner.policy.rejudge import Rejudge

__all__ = ["ALLOWED", "GroundOf", "RecordedCall", "Rejudged", "recorded_calls", "rejudge_run"]

ALLOWED = "ok"
"""The outcome of a call that went on; every other outcome is an error's code."""

GroundOf = Callable[[str, Mapping[str, Any] | None], Ground | None]
"""The ground that a call of the tool with these arguments covers, None for one that explores nothing.

Raises Unrecorded when the recorded arguments are not the whole ones.
"""

_REFUSED_WITHOUT_DECISION = frozenset({"push_policy_violation", "push_credential_missing"})
"""Refusals that come from the policy before there is anything to decide on: no binding, or too much to be listed."""

_REFUSED_BY_SCHEMA = frozenset({"invalid_arguments", "search_pattern_required"})
"""Refusals of calls that look at something, from before the budget is asked."""

_WROTE = frozenset({"workspace.write_file", "workspace.edit", "workspace.delete_file", "workspace.git_commit"})


@dataclass(slots=True)
class RecordedCall:
    """One call as the audit log tells it. `outcome` is None when the log ends before the call did.

    A call that was refused before it got to its tool has not `started`. `arguments` is None where none were kept.
    """

    seq: int
    tool: str
    started: bool = False
    arguments: Mapping[str, Any] | None = None
    decisions: list[Mapping[str, Any]] = field(default_factory=list)
    outcome: str | None = None

    @property
    def subject(self) -> str:
        """What the call is about, in one line: a path, a command line, a pattern; empty when it names nothing."""
        for name in ("path", "argv", "args", "pattern"):
            value = (self.arguments or {}).get(name)
            if isinstance(value, str):
                return value
            if isinstance(value, list):
                return " ".join(str(word) for word in value)
        return ""

    @property
    def refused_by_policy(self) -> bool:
        """Whether a decision ended the call, and not what it then met."""
        return any(decision.get("allowed") is False for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class Rejudged:
    """One call under the other policy. `would` is None, and `message` says why, where the record does not decide it."""

    call: RecordedCall
    would: str | None
    rule: str = ""
    message: str = ""
    hint: str = ""

    @property
    def differs(self) -> bool:
        """Whether the caller would have got another answer: allowed, or the code of the refusal."""
        return self.would is not None and self.would != self.call.outcome


def recorded_calls(lines: Iterable[Mapping[str, Any]]) -> list[RecordedCall]:
    """The calls of one audit log in order. Lines of other events, and lines in another shape, are passed over."""
    calls: dict[int, RecordedCall] = {}
    for line in lines:
        data = line.get("data")
        if not isinstance(data, Mapping) or not isinstance(seq := data.get("seq"), int):
            continue
        event = line.get("event")
        if event not in ("call.started", "decision", "call.finished"):
            continue
        call = calls.setdefault(seq, RecordedCall(seq, ""))
        if event == "decision":
            call.decisions.append(data)
            continue
        call.tool = str(data.get("tool", ""))
        if event == "call.started":
            call.started = True
            call.arguments = arguments if isinstance(arguments := data.get("arguments"), Mapping) else None
        elif event == "call.finished":
            call.outcome = ALLOWED if data.get("ok") is True else str(data.get("code"))
    return [calls[seq] for seq in sorted(calls)]


def rejudge_run(policy: Policy, calls: Iterable[RecordedCall], ground_of: GroundOf) -> list[Rejudged]:
    """Every call under the policy, in order."""
    run = _Run(policy, ground_of)
    return [run.judge(call) for call in calls]


class _Run:
    """The state that calls of one run share."""

    def __init__(self, policy: Policy, ground_of: GroundOf) -> None:
        self._budget = policy.budget
        self._rejudge = Rejudge(policy)
        self._ground_of = ground_of
        self._state = BudgetState()

    def judge(self, call: RecordedCall) -> Rejudged:
        """The call under the policy; the state has moved on."""
        if self._state.ended(self._budget):
            said = f"The run would have ended after {self._state.denials} refused calls."
            return Rejudged(call, str(ErrorCode.RUN_LIMIT_EXCEEDED), "budget.denials", said)
        if call.outcome is None:
            return Rejudged(call, None, message="the log ends before the call does")
        try:
            met_the_tool = call.started and call.outcome not in _REFUSED_BY_SCHEMA
            ground = self._ground_of(call.tool, call.arguments) if met_the_tool else None
            judged = self._decide(call, ground)
        except Unrecorded as missing:
            return Rejudged(call, None, message=f"not recorded: {missing}")
        self._move_on(call, judged, ground)
        return judged

    def _decide(self, call: RecordedCall, ground: Ground | None) -> Rejudged:
        if ground is not None:
            asked = budget.decide(self._state, self._budget, ground)
            if not asked.allowed:
                return Rejudged(call, str(asked.code), asked.rule, asked.message, asked.hint)
        rule = ""
        for recorded in call.decisions:
            if _kind(recorded) == "budget":
                continue
            decision = self._rejudge(recorded)
            if not decision.allowed:
                return Rejudged(call, str(decision.code), decision.rule, decision.message, decision.hint)
            rule = decision.rule
        self._require_lines(call)
        if call.outcome == ALLOWED or call.refused_by_policy:
            return Rejudged(call, ALLOWED, rule)
        if call.outcome in _REFUSED_WITHOUT_DECISION:
            raise Unrecorded("which part of the policy refused the push")
        return Rejudged(call, call.outcome, rule)  # what it met, whatever the policy

    def _require_lines(self, call: RecordedCall) -> None:
        """Nothing happens unless this policy makes the file add-only and the recorded one did not look at its lines.

        Raises:
            Unrecorded: then.
        """
        if not (call.outcome == ALLOWED or call.refused_by_policy) or any(_kind(d) == "append" for d in call.decisions):
            return
        if any(self._rejudge.must_keep_lines(decision) for decision in call.decisions):
            raise Unrecorded("whether every line of the file survives, which this policy asks for")

    def _move_on(self, call: RecordedCall, judged: Rejudged, ground: Ground | None) -> None:
        if judged.would != ALLOWED:
            self._state = budget.apply(self._state, budget.Denied())
        elif ground is not None:
            self._state = budget.apply(self._state, budget.Explored(ground))
        elif call.tool in _WROTE:
            self._state = budget.apply(self._state, budget.Wrote())


def _kind(recorded: Mapping[str, Any]) -> str:
    subject = recorded.get("subject")
    return str(subject.get("kind")) if isinstance(subject, Mapping) else ""
