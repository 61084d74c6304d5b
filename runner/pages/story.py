"""The story of a run, told from its log: one pass over the lines, and memory that does not grow with them.

A line whose data is not in its published form is no part of the story; it is counted, and shown as it is.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable

from pydantic import BaseModel, ValidationError

from runner.audit import forms
from runner.pages.controls import in_words
from runner.pages.told import CallTold, Connection, ControlTold, Proof, begun, connection_of, decision_of, opened
from runner.pages.units import clock_time
from runner.pages.untrusted import Untrusted, untrusted

__all__ = ["MAX_CALLS_AT_EACH_END", "Story"]

MAX_CALLS_AT_EACH_END = 500
"""Calls that are shown from the beginning, and from the end."""

_MAX_LISTED = 500
_MAX_ODD = 20
_MAX_ROOMS = 20
_MAX_LINE_BYTES = 16 * 1024 * 1024


class Story:
    """Takes a log's lines as bytes, in order."""

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        self.lines = 0
        self.last_at = ""
        self.first_at = ""
        self.started: forms.RunStarted | None = None
        self.repository: forms.Repository | None = None
        self.image: str | None = None
        self.proofs: list[Proof] = []
        self.steps: list[forms.SetupFinished] = []
        self.step_now: Untrusted | None = None
        self.cache: forms.SetupCache | None = None
        self.pushes: list[forms.PushDone] = []
        self.canary: list[forms.CanarySeen] = []
        self.canary_count = 0
        self.changes: forms.Changes | None = None
        self.ended: forms.Ending | None = None
        self.counts = {"calls": 0, "ok": 0, "refused": 0, "crashed": 0}
        self.connections: list[Connection] = []
        self.connection_counts = {"all": 0, "refused": 0}
        self.refusals: list[CallTold] = []
        self.odd: list[tuple[int, Untrusted]] = []
        self.odd_count = 0
        self._first: list[CallTold] = []
        self._last: deque[CallTold] = deque(maxlen=MAX_CALLS_AT_EACH_END)
        self._open: dict[int, CallTold] = {}
        self._ways: dict[tuple[str, int], Connection] = {}
        self._number = 0
        for line in lines:
            self.take(line)

    @property
    def running(self) -> CallTold | None:
        """The call that is at work, None between calls and after the end."""
        return next(reversed(self._open.values()), None) if self._open and self.ended is None else None

    @property
    def calls(self) -> tuple[tuple[CallTold, ...], int, tuple[CallTold, ...]]:
        """The first calls that ended, how many are left out after them, and the last."""
        left_out = sum(self.counts[name] for name in ("ok", "refused", "crashed")) - len(self._first) - len(self._last)
        unfinished = tuple(self._open.values()) if self.ended is not None else ()
        return tuple(self._first), left_out, (*self._last, *unfinished)

    @property
    def open_connections(self) -> tuple[Connection, ...]:
        """Those whose end was not told: open while the run lasts, and cut when it is over."""
        return tuple(self._ways.values())[:_MAX_LISTED]

    def take(self, raw: bytes) -> None:
        """One more line."""
        if not raw.endswith(b"\n") and len(raw) < _MAX_LINE_BYTES:
            return  # being written
        self._number += 1
        self.lines = self._number
        try:
            line = json.loads(raw)
            event, at = str(line["event"]), str(line["at"])
            told = forms.EVENTS[event].model_validate(line["data"])
        except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
            self._take_odd(raw)
            return
        self.first_at, self.last_at = self.first_at or at, at
        self._take(told, at)

    def _take_odd(self, raw: bytes) -> None:
        self.odd_count += 1
        if len(self.odd) < _MAX_ODD:
            self.odd.append((self._number, untrusted(raw.decode("utf-8", "backslashreplace").rstrip("\n"), 400)))

    def _take(self, told: BaseModel, at: str) -> None:
        match told:
            case forms.CallStarted():
                self._open[told.seq] = opened(told, at)
            case forms.DecisionMade():
                if told.seq in self._open:
                    self._open[told.seq].decisions.append(decision_of(told))
            case forms.CallFinished():
                self._finish(told, at)
            case forms.CallCrashed():
                self._crash(told, at)
            case forms.CommandReverted():
                self._take_reverted(told)
            case forms.EgressOpen():
                self._begin_connection(told)
            case forms.Egress():
                self._take_connection(told)
            case forms.CanarySeen():
                self.canary_count += 1
                self.canary = [*self.canary, told][:_MAX_LISTED]
            case forms.PushDone():
                self.pushes = [*self.pushes, told][-_MAX_LISTED:]
            case _:
                self._take_once(told)

    def _take_once(self, told: BaseModel) -> None:
        match told:
            case forms.RunStarted():
                self.started = told
            case forms.Repository():
                self.repository = told
            case forms.WorkspaceStart():
                self.image = told.image
            case forms.Posture():
                self._take_proof("workspace", told.checks)
            case forms.GatePosture():
                self._take_proof(told.role, told.checks)
            case forms.SetupStep():
                self.step_now = untrusted(" ".join(told.argv))
            case forms.SetupFinished():
                self.step_now = None
                self.steps = [*self.steps, told][:_MAX_LISTED]
            case forms.SetupCache():
                self.cache = told
            case forms.Changes():
                self.changes = told
            case forms.Ending():
                self.ended = told
            case _:  # what is about to happen, and small print: the log has it
                pass

    def _take_proof(self, role: str, checks: list[forms.Check]) -> None:
        made = Proof(
            role,
            tuple(map(_control, checks)),
        )
        for index, known in enumerate(self.proofs):
            if (known.role, known.checks) == (made.role, made.checks):
                self.proofs[index] = Proof(role, known.checks, known.times + 1)
                return
        # Rooms are told apart by what was mounted, so each push may bring another.
        if len(self.proofs) < _MAX_ROOMS or made.missed:
            self.proofs.append(made)

    def _begin_connection(self, told: forms.EgressOpen) -> None:
        self.connection_counts["all"] += 1
        way = (told.phase, told.connection)
        before = self._ways.pop(way, None)  # of an earlier proxy of the phase, which told no end of it
        if before is not None:
            self._list(before)
        self._ways[way] = begun(told, self._call_of(told.phase), self._number)

    def _take_connection(self, told: forms.Egress) -> None:
        if self._ways.pop((told.phase, told.connection), None) is None:
            self.connection_counts["all"] += 1
        self.connection_counts["refused"] += not told.allowed
        self._list(connection_of(told, self._call_of(told.phase), self._number))

    def _list(self, connection: Connection) -> None:
        if len(self.connections) < _MAX_LISTED:
            self.connections.append(connection)

    def _call_of(self, phase: str) -> int | None:
        now = self.running
        return now.seq if phase == "run" and now is not None else None

    def _take_reverted(self, told: forms.CommandReverted) -> None:
        now = self.running
        if now is not None:
            now.reverted.extend(untrusted(path) for path in told.reverted.paths[:_MAX_LISTED])
            now.not_reverted.extend(untrusted(path) for path in told.not_reverted.paths[:_MAX_LISTED])

    def _finish(self, told: forms.CallFinished, at: str) -> None:
        call = self._open.pop(told.seq, None) or CallTold(told.seq, untrusted(told.tool), clock_time(at), untrusted(""))
        call.outcome = "ok" if told.ok else "refused"
        call.code = None if told.code is None else untrusted(told.code)
        call.exit, call.ms, call.line = told.exit, told.ms, self._number
        self._add(call)

    def _crash(self, told: forms.CallCrashed, at: str) -> None:
        call = self._open.pop(told.seq, None) or CallTold(told.seq, untrusted(""), clock_time(at), untrusted(""))
        call.outcome, call.code, call.line = "crashed", untrusted(told.error), self._number
        self._add(call)

    def _add(self, call: CallTold) -> None:
        self.counts["calls"] += 1
        self.counts[call.outcome] += 1
        if call.outcome == "refused" and len(self.refusals) < _MAX_LISTED:
            self.refusals.append(call)
        if len(self._first) < MAX_CALLS_AT_EACH_END:
            self._first.append(call)
        else:
            self._last.append(call)


def _control(check: forms.Check) -> ControlTold:
    control, expected, seen = map(untrusted, in_words(check))
    return ControlTold(check.active, control, expected, seen, check.seen == check.expected)
