"""What calls were answered, as pages show it: the beginning and end of what a program said, or the refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.audit.output_forms import Said, Stream
from runner.audit.record_forms import Step
from runner.pages.told import CallTold
from runner.pages.untrusted import Untrusted, untrusted

__all__ = ["CallShown", "SaidShown", "said_at_its_end", "shown"]

_NAMES = {"stdout": "standard output", "stderr": "standard error"}


@dataclass(frozen=True, slots=True)
class SaidShown:
    """A stream of a program: its beginning, how many characters are left out, and its end."""

    name: str
    head: Untrusted
    cut: int
    tail: Untrusted


@dataclass(frozen=True, slots=True)
class CallShown:
    """A call with what its program said, or why it was refused. `kept`: the record has something on its answer."""

    told: CallTold
    kept: bool = False
    streams: tuple[SaidShown, ...] = ()
    notes: tuple[Untrusted, ...] = ()
    message: Untrusted | None = None
    hint: Untrusted | None = None
    rule: Untrusted | None = None


def shown(call: CallTold, said: Mapping[int, Said]) -> CallShown:
    """The call with what is kept of its answer."""
    denied_by = next((decision.rule for decision in call.decisions if not decision.allowed), None)
    kept = said.get(call.seq)
    if kept is None or kept.kind == "full":
        return CallShown(call, rule=denied_by)
    return CallShown(
        told=call,
        kept=True,
        streams=tuple(_streams(kept)),
        notes=tuple(_notes(kept)),
        message=untrusted(kept.message, 5000) if kept.message else None,
        hint=untrusted(kept.hint, 5000) if kept.hint else None,
        rule=denied_by if kept.rule is None else untrusted(kept.rule),
    )


def said_at_its_end(step: Step) -> tuple[SaidShown, ...]:
    """What a command of the set-up said last; the report has no more of it."""
    both = ((_NAMES["stdout"], step.stdout), (_NAMES["stderr"], step.stderr))
    return tuple(
        SaidShown(f"{name}, its end", untrusted(""), 0, untrusted(text, 20_000)) for name, text in both if text
    )


def _streams(said: Said) -> list[SaidShown]:
    both = ((_NAMES["stdout"], said.stdout), (_NAMES["stderr"], said.stderr))
    return [_stream(name, one) for name, one in both if one is not None and (one.head or one.tail)]


def _stream(name: str, one: Stream) -> SaidShown:
    return SaidShown(name, untrusted(one.head, 20_000), one.cut_characters, untrusted(one.tail, 20_000))


def _notes(said: Said) -> list[Untrusted]:
    found = [f"limit met: {limit}" for limit in said.limits_hit]
    found += ["its time ran out"] if said.timed_out else []
    found += [f"killed: {said.killed_by}"] if said.killed_by else []
    found += ["its output was longer than the policy lets an answer be"] if said.truncated else []
    return [untrusted(note) for note in found]
