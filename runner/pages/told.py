"""What a run's log says, in the shapes that pages show: calls, decisions, connections, proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from runner.audit import forms
from runner.pages.units import clock_time
from runner.pages.untrusted import Untrusted, untrusted, without

__all__ = [
    "CallTold",
    "Connection",
    "ControlTold",
    "DecisionTold",
    "Proof",
    "SubjectTold",
    "begun",
    "connection_of",
    "decision_of",
    "opened",
]


@dataclass(frozen=True, slots=True)
class SubjectTold:
    """One argument of a call. `left_out`: the log holds its digest and its size instead."""

    name: Untrusted
    value: Untrusted
    left_out: bool


@dataclass(frozen=True, slots=True)
class DecisionTold:
    """An allow or a deny, and by which rule."""

    allowed: bool
    rule: Untrusted
    code: Untrusted | None
    subject: Untrusted


@dataclass(slots=True)
class CallTold:
    """A call. `outcome`: running, ok, refused or crashed; `line` is that of its end, 0 while it runs."""

    seq: int
    tool: Untrusted
    at: str
    subject: Untrusted
    arguments: tuple[SubjectTold, ...] = ()
    outcome: str = "running"
    code: Untrusted | None = None
    exit: int | None = None
    ms: float | None = None
    line: int = 0
    decisions: list[DecisionTold] = field(default_factory=list)
    reverted: list[Untrusted] = field(default_factory=list)
    not_reverted: list[Untrusted] = field(default_factory=list)

    @property
    def decisions_counted(self) -> tuple[tuple[DecisionTold, int], ...]:
        """Each decision once, in the order of its first time, with how many times it was made."""
        return tuple(Counter(self.decisions).items())

    @property
    def name(self) -> Untrusted:
        """The tool in a row of calls, where each would begin alike."""
        return without(self.tool, "workspace.")

    @property
    def look(self) -> str:
        """The outcome in one word of ours, with the exit of the program that it started."""
        return "nonzero" if self.outcome == "ok" and self.exit not in (None, 0) else self.outcome


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection; `call` was at work when it was told. `ended_by` is None for one whose end the log does not tell."""

    phase: str
    host: Untrusted
    port: int
    allowed: bool
    rule: Untrusted
    ended_by: Untrusted | None
    up: int
    down: int
    ms: float
    call: int | None
    line: int


@dataclass(frozen=True, slots=True)
class ControlTold:
    """A control of the proof; `same`: the record says of what was seen exactly what it says of what was asked for."""

    active: bool
    control: Untrusted
    expected: Untrusted
    seen: Untrusted
    same: bool


@dataclass(frozen=True, slots=True)
class Proof:
    """The posture proof of the workspace or of a room of the gate; `times`: how many rooms were proved alike."""

    role: str
    checks: tuple[ControlTold, ...]
    times: int = 1

    @property
    def missed(self) -> int:
        """How many controls were not active."""
        return sum(not check.active for check in self.checks)


def opened(told: forms.CallStarted, at: str) -> CallTold:
    """A call that got to its tool."""
    arguments = tuple(_argument(name, value) for name, value in told.arguments.items())
    return CallTold(told.seq, untrusted(told.tool), clock_time(at), _subject(told.arguments), arguments)


def _argument(name: str, value: object) -> SubjectTold:
    if isinstance(value, dict) and set(value) == {"sha256", "bytes"}:
        return SubjectTold(untrusted(name), untrusted(f"{value['bytes']} bytes, sha256 {value['sha256']}"), True)
    return SubjectTold(untrusted(name), untrusted(value), False)


def _subject(arguments: Mapping[str, object]) -> Untrusted:
    """What the call is about, in one line."""
    told = [arguments[name] for name in ("path", "argv", "args", "pattern") if name in arguments]
    words = [" ".join(map(str, value)) if isinstance(value, list) else value for value in told]
    return untrusted(" ".join(word for word in words if isinstance(word, str)), 300)


def decision_of(told: forms.DecisionMade) -> DecisionTold:
    """What the policy said, and of what."""
    subject = told.subject.model_dump()
    named = [subject[name] for name in ("path", "branch", "argv") if name in subject]
    words = [" ".join(map(str, value)) if isinstance(value, list) else str(value) for value in named]
    code = None if told.code is None else untrusted(told.code)
    return DecisionTold(told.allowed, untrusted(told.rule), code, untrusted(" ".join([told.subject.kind, *words]), 300))


def begun(told: forms.EgressOpen, call: int | None, line: int) -> Connection:
    """A connection that is about to be made: open, or cut with its run."""
    host, rule = untrusted(told.host), untrusted(told.rule)
    return Connection(told.phase, host, told.port, True, rule, None, 0, 0, 0.0, call, line)


def connection_of(told: forms.Egress, call: int | None, line: int) -> Connection:
    """A connection, the call that was at work, and the line that told of it."""
    return Connection(
        phase=told.phase,
        host=untrusted(told.host),
        port=told.port,
        allowed=told.allowed,
        rule=untrusted(told.rule),
        ended_by=untrusted(told.ended_by),
        up=told.bytes_up,
        down=told.bytes_down,
        ms=told.milliseconds,
        call=call,
        line=line,
    )
