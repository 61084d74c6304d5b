"""The one way of a tool call, through every door.

1. Look the tool up; the run must be ready and the time not used up.
2. Look at the arguments' form; write `call.started` to the audit log: no audit, no action.
3. Parse the arguments strictly.
4. Ask the exploration budget.
5. Act; decisions are written to the log as they fall.
6. Move the budget on and write `call.finished`.

The answer is always `{"ok": true, "result": …}` or `{"ok": false, "error": …}`. A bug of ours answers
`run_ended` and ends the run, since what it left is unknown.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from runner.audit.log import AuditLog, argument_digest
from runner.model.decision import Decision
from runner.model.errors import ErrorCode, RunLimitReached, RunnerError, SandboxLost, ToolError
from runner.policy import budget
from runner.policy.basis import Basis
from runner.policy.document import Policy
from runner.policy.redaction import redact_arguments
from runner.policy.strict_json import MAX_VALUES, form_fault
from runner.tools.base import Effect, Tool, parse_arguments
from runner.tools.registry import TOOLS
from runner.tools.workspace import ToolWorkspace

__all__ = ["CallAnswer", "Pipeline"]

CallAnswer = dict[str, Any]
Act = Callable[[str, object], Any]

Look = Callable[..., bool]
"""Looks for the run's canary in what passes by (`CanaryWatch.look`)."""

Keep = Callable[[int, CallAnswer], None]
"""Takes each answer, with its call's number, before `call.finished` is written (`Outputs.keep`)."""

_WROTE = frozenset({"workspace.write_file", "workspace.edit", "workspace.delete_file", "workspace.git_commit"})
"""The calls after which ground counts as fresh again; commands don't, by the policy's definition."""

_EXIT_FIELD = {"workspace.run_command": "code", "git": "exit"}
"""Where the results of the tools that start programs say how it ended."""


class Pipeline:
    """Calls of one run, one at a time."""

    def __init__(
        self,
        workspace: ToolWorkspace,
        policy: Policy,
        audit: AuditLog,
        clock: Callable[[], float],
        deadline: float,
        look: Look = lambda *_args, **_keys: False,
        keep: Keep = lambda _seq, _answer: None,
    ) -> None:
        self._look = look
        self._keep = keep
        self._workspace = workspace
        self._limits = policy.budget
        self._run_seconds = policy.limits.run_seconds
        self._audit = audit
        self._clock = clock
        self._deadline = deadline
        self._budget = budget.BudgetState()
        self._lock = threading.Lock()
        self._seq = 0
        self.ended: RunnerError | None = None
        self.counts: dict[str, int] = {"calls": 0, "ok": 0, "refused": 0}
        self.denials: list[dict[str, Any]] = []

    def call(self, name: str, arguments: object) -> CallAnswer:
        """The answer of one call; `seq` and `duration_ms` are the door's to add."""
        with self._lock:
            return self._count(name, arguments, self._run)

    def knows(self, name: str) -> bool:
        """Whether there is a tool of that name at all."""
        return name in TOOLS

    def refuse(self, name: str, error: ToolError) -> CallAnswer:
        """The answer to a call that is refused before it gets to a tool; counted and audited like any other."""

        def refused(_name: str, _arguments: object) -> Any:
            raise error

        with self._lock:
            return self._count(name, None, refused)

    def on_decision(self, decision: Decision, basis: Basis) -> None:
        """Write an allow or a deny to the audit log, as it falls, with what it was made on."""
        self._audit.append(
            "decision",
            {
                "seq": self._seq,
                "allowed": decision.allowed,
                "rule": decision.rule,
                "code": None if decision.code is None else str(decision.code),
                **basis.as_json(),
            },
        )

    def _count(self, name: str, arguments: object, act: Act) -> CallAnswer:
        self._seq += 1
        answer = self._answer(name, arguments, act)
        self.counts["calls"] += 1
        self.counts["ok" if answer["ok"] else "refused"] += 1
        return answer

    def _answer(self, name: str, arguments: object, act: Act) -> CallAnswer:
        try:
            return self._audited(name, arguments, act)
        except RunnerError as error:
            self.ended = self.ended or error
        except Exception as error:
            # The outermost frame: a bug must neither take the controller down nor let the run go on half-done.
            self.ended = RunnerError(f"internal error: {type(error).__name__}: {error}", hint="Please report it.")
            with contextlib.suppress(RunnerError):
                self._audit.append("call.crashed", {"seq": self._seq, "error": type(error).__name__})
        return _ended(self.ended)

    def _audited(self, name: str, arguments: object, act: Act) -> CallAnswer:
        started = self._clock()
        answer: CallAnswer
        try:
            answer = {"ok": True, "result": act(name, arguments)}
            code = None
        except ToolError as error:
            self.denials.append({"seq": self._seq, "tool": name[:100], "code": str(error.code), "rule": error.rule})
            answer = {"ok": False, "error": error.as_json()}
            code = str(error.code)
            self._budget = budget.apply(self._budget, budget.Denied())
        milliseconds = round((self._clock() - started) * 1000, 3)
        self._look("result", answer, seq=self._seq, detail=name[:100])
        self._keep(self._seq, answer)
        facts = {"seq": self._seq, "tool": name[:100], "ok": code is None, "code": code, "ms": milliseconds}
        self._audit.append("call.finished", {**facts, "exit": _exit_of(name, answer)})
        if self._budget.ended(self._limits) and self.ended is None:
            self.ended = RunLimitReached(
                f"{self._budget.denials} calls were refused, which is what budget.denials allows",
                hint="Raise budget.denials, or work within the policy.",
            )
        return answer

    def _run(self, name: str, arguments: object) -> Any:
        if self.ended is not None:
            raise self.ended
        if self._clock() >= self._deadline:
            raise RunLimitReached(
                f"the run used up its {self._run_seconds} s", hint="Raise limits.runSeconds in the policy."
            )
        tool = _look_up(name)
        _require_form(arguments)
        told = {"arguments_sha256": argument_digest(arguments), "arguments": redact_arguments(arguments)}
        self._audit.append("call.started", {"seq": self._seq, "tool": tool.name, **told})
        self._look("arguments", arguments, seq=self._seq, detail=tool.name)
        parsed = parse_arguments(tool, arguments)
        ground = None if tool.ground is None else tool.ground(parsed)
        if ground is not None:
            asked = budget.decide(self._budget, self._limits, ground)
            if not asked.allowed:
                self.on_decision(asked, Basis.of_budget(ground))
            asked.raise_if_denied()
        result = tool.act(self._workspace, parsed)
        if ground is not None:
            self._budget = budget.apply(self._budget, budget.Explored(ground))
        elif tool.effect is Effect.WRITE and tool.name in _WROTE:
            self._budget = budget.apply(self._budget, budget.Wrote())
        return result


def _exit_of(name: str, answer: CallAnswer) -> int | None:
    """How the program of a call ended; None for a call that started none, or one that was killed."""
    field = _EXIT_FIELD.get(name)
    code = answer["result"].get(field) if field is not None and answer["ok"] else None
    return code if isinstance(code, int) else None


def _look_up(name: str) -> Tool:
    tool = TOOLS.get(name)
    if tool is None:
        raise ToolError(
            ErrorCode.UNKNOWN_TOOL, f"There is no tool {name[:100]!r}.", hint=f"The tools are: {', '.join(TOOLS)}."
        )
    return tool


def _require_form(arguments: object) -> None:
    """Before the audit log or anything else walks them: what a door hands over may be of any depth and size."""
    fault = form_fault(arguments, MAX_VALUES)
    if fault is not None:
        hint = "The arguments of a tool are one object of texts, numbers and lists of texts."
        raise ToolError(ErrorCode.INVALID_ARGUMENTS, f"The arguments cannot be read: {fault}.", hint=hint)


def _ended(error: RunnerError) -> CallAnswer:
    code = ErrorCode.RUN_LIMIT_EXCEEDED if isinstance(error, RunLimitReached) else ErrorCode.RUN_ENDED
    lost = isinstance(error, SandboxLost)
    message = f"The run has ended: {error.message}." + (f" {error.hint}" if error.hint else "")
    return {"ok": False, "error": {"code": str(code), "message": message, "details": {"lost": lost}}}
