"""One run as a page shows it: a record folder and a trusted key in, a value out.

Nothing here knows HTML. What comes from the record is `Untrusted`; plain texts are words and numbers of ours, and no
form of the record is handed on as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from runner.audit.keys import PublicKey
from runner.audit.record_forms import ReportFile
from runner.audit.verify import Word
from runner.pages.answers import CallShown, SaidShown, said_at_its_end, shown
from runner.pages.diff import Diff, read_diff
from runner.pages.heading import Heading, heading_of
from runner.pages.record import NEVER_BEGUN, RecordFolder
from runner.pages.story import Story
from runner.pages.told import Connection, Proof
from runner.pages.units import milliseconds
from runner.pages.untrusted import Untrusted, untrusted

__all__ = ["LIMITS", "EndTold", "Phase", "RunPage", "Seal", "StepTold", "run_page"]

LIMITS: Mapping[str, str] = {
    "runSeconds": "time of the run, s",
    "commandSeconds": "time of one command, s",
    "memoryMiB": "memory of programs, MiB",
    "cpus": "processors",
    "pids": "processes and threads",
    "openFiles": "open files of a process",
    "workspaceMiB": "workspace, MiB",
    "workspaceInodes": "files and folders",
    "fileMiB": "largest file, MiB",
    "outputKiB": "output of a stream, KiB",
}
"""What each limit of the policy bounds, in the order that a page shows them."""

_PHASES = ("gate", "fetch", "start", "posture", "clone", "setup", "baseline", "calls", "changes", "teardown")

Told = tuple[str, Untrusted]


@dataclass(frozen=True, slots=True)
class EndTold:
    """What ended a run early."""

    code: Untrusted
    message: Untrusted
    hint: Untrusted


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run's time; `share` is that of the longest, from 0 to 100."""

    name: Untrusted
    lasted: str
    share: float


@dataclass(frozen=True, slots=True)
class StepTold:
    """A command of the set-up."""

    command: Untrusted
    exit: int | None
    lasted: str
    streams: tuple[SaidShown, ...] = ()


@dataclass(frozen=True, slots=True)
class Seal:
    """Whether the record is as it was sealed. `word`: verified, broken, unsealed, or pending while the run goes on."""

    word: str
    message: Untrusted
    problem: Untrusted | None
    lines: int
    key: Untrusted | None


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything that a run's page shows."""

    heading: Heading
    facts: tuple[Told, ...]
    ended: EndTold | None
    leftovers: tuple[Untrusted, ...]
    seal: Seal
    lines: int
    counts: Mapping[str, int]
    at_work: CallShown | None
    setting_up: Untrusted | None
    first_calls: tuple[CallShown, ...]
    calls_left_out: int
    last_calls: tuple[CallShown, ...]
    refusals: tuple[CallShown, ...]
    connections: tuple[Connection, ...]
    open_connections: tuple[Connection, ...]
    connection_counts: Mapping[str, int]
    diff: Diff
    pushes: tuple[tuple[Untrusted, Untrusted, Untrusted], ...]
    canary: int
    canary_places: tuple[Untrusted, ...]
    proofs: tuple[Proof, ...]
    steps: tuple[StepTold, ...]
    limits: tuple[tuple[str, str], ...]
    phases: tuple[Phase, ...]
    odd: tuple[tuple[int, Untrusted], ...]
    odd_count: int
    files: tuple[str, ...]
    outputs_full: bool

    @property
    def controls(self) -> int:
        """How many controls the posture proof looked at."""
        return sum(len(proof.checks) for proof in self.proofs)

    @property
    def nothing(self) -> tuple[str, ...]:
        """Kinds of things of which an ended run's record has none. Of a run that goes on there may be some yet."""
        there = {
            "calls": bool(self.first_calls or self.last_calls),
            "refusals": bool(self.refusals),
            "connections": self.connection_counts["all"] > 0,
            "pushes": bool(self.pushes),
            "changes": bool(self.diff.files or self.diff.unread_bytes),
            "posture proofs": bool(self.proofs),
            "set-up commands": bool(self.steps),
        }
        return () if self.heading.live else tuple(name for name, some in there.items() if not some)

    @property
    def missed(self) -> int:
        """How many of them were not active."""
        return sum(proof.missed for proof in self.proofs)


def run_page(folder: RecordFolder, key: PublicKey | None) -> RunPage:
    """The page of the run in the folder; its receipt is checked with `key`."""
    story, said, report = Story(folder.lines()), folder.said(), folder.report()
    heading = heading_of(folder, story, report)
    first, left_out, last = story.calls
    return RunPage(
        heading=heading,
        facts=tuple(_facts(story, report)),
        ended=_ended(folder, report),
        leftovers=() if story.ended is None else tuple(map(untrusted, story.ended.teardown.leftovers)),
        seal=_seal(folder, key, heading),
        lines=story.lines,
        counts=dict(story.counts),
        at_work=None if story.running is None else shown(story.running, said),
        setting_up=story.step_now if heading.live else None,
        first_calls=tuple(shown(call, said) for call in first),
        calls_left_out=left_out,
        last_calls=tuple(shown(call, said) for call in last),
        refusals=tuple(shown(call, said) for call in story.refusals),
        connections=tuple(story.connections),
        open_connections=story.open_connections,
        connection_counts=dict(story.connection_counts),
        diff=read_diff(*folder.patch()),
        pushes=tuple((untrusted(p.branch), untrusted(p.commit), untrusted(p.status)) for p in story.pushes),
        canary=story.canary_count,
        canary_places=tuple(untrusted(f"{seen.place}: {seen.detail}") for seen in story.canary),
        proofs=tuple(story.proofs),
        steps=tuple(_steps(story, report)),
        limits=_limits(folder, report),
        phases=_phases(report),
        odd=tuple(story.odd),
        odd_count=story.odd_count,
        files=folder.files(),
        outputs_full=any(one.kind == "full" for one in said.values()),
    )


_MOST_SHOWN = 1e15
"""Beyond it, numbers are no limits of ours any more, and may not even fit what formats them."""


def _facts(story: Story, report: ReportFile | None) -> list[Told]:
    """What the run was, beside its heading."""
    started, found = story.started, story.repository
    gate = [] if report is None or report.gate is None else [room.image for room in report.gate.rooms[:1]]
    told = {
        "Base commit": None if found is None else found.base_commit,
        "Branch": None if found is None else found.branch,
        "Default branch": None if found is None else found.default_branch,
        "Policy, SHA-256": None if started is None else started.policy_sha256,
        "Workspace image": story.image,
        "Gate image": gate[0] if gate else None,
        "Tools": None if started is None else ", ".join(started.tools),
        "Runner": None if started is None else started.version,
        "Controller": None if started is None else started.controller,
    }
    return [(name, untrusted(value)) for name, value in told.items() if value]


def _ended(folder: RecordFolder, report: ReportFile | None) -> EndTold | None:
    known = folder.known
    if known is not None and known.code is not None:
        return EndTold(untrusted(known.code), untrusted(known.because, 8000), untrusted(""))
    if report is None or report.ended is None:
        return None
    told = report.ended
    return EndTold(untrusted(told.code), untrusted(told.message, 8000), untrusted(told.hint, 8000))


def _seal(folder: RecordFolder, key: PublicKey | None, heading: Heading) -> Seal:
    if folder.known is not None:
        word = "pending" if heading.live else "unsealed"
        return Seal(word, untrusted(NEVER_BEGUN), None, 0, None if key is None else untrusted(key.key_id))
    verdict = folder.verdict(key)
    pending = verdict.word is Word.UNSEALED and heading.live
    return Seal(
        word="pending" if pending else str(verdict.word),
        message=untrusted(verdict.message),
        problem=None if verdict.problem is None else untrusted(str(verdict.problem)),
        lines=verdict.lines,
        key=None if key is None else untrusted(key.key_id),
    )


def _steps(story: Story, report: ReportFile | None) -> list[StepTold]:
    if report is not None and report.setup is not None:
        return [
            StepTold(untrusted(" ".join(s.argv)), s.exit, milliseconds(s.duration_ms), said_at_its_end(s))
            for s in report.setup.steps
        ]
    return [StepTold(untrusted(" ".join(s.argv)), s.exit, milliseconds(s.duration_ms)) for s in story.steps]


def _limits(folder: RecordFolder, report: ReportFile | None) -> tuple[tuple[str, str], ...]:
    told = report.limits if report is not None and report.limits is not None else folder.intent().get("limits")
    if not isinstance(told, Mapping):
        return ()
    numbers = {name: told[name] for name in LIMITS if _is_shown(told.get(name))}
    return tuple((LIMITS[name], f"{value:,g}" if value < 1e6 else f"{value:,.0f}") for name, value in numbers.items())


def _is_shown(value: object) -> bool:
    """Whether it is a number that a page can write: a record that somebody changed may hold any."""
    return isinstance(value, int | float) and -_MOST_SHOWN < value < _MOST_SHOWN


def _phases(report: ReportFile | None) -> tuple[Phase, ...]:
    known = {} if report is None else report.milliseconds
    order = {name: place for place, name in enumerate(_PHASES)}
    told = sorted(known.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    finite = [(name, ms) for name, ms in told if math.isfinite(ms) and ms >= 0]
    longest = max((ms for _, ms in finite), default=0.0) or 1.0
    return tuple(Phase(untrusted(name), milliseconds(ms), round(ms / longest * 100, 2)) for name, ms in finite)
