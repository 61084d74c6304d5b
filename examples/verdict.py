"""Whether an attempt got anywhere, told from what the runner answered and from what the host saw. Pure.

A judge holds only on positive evidence. No evidence, an answer of another kind, or a time-out (a dropped packet looks
like that too) counts as an escape, so a demo that cannot tell fails. Refusals are judged here, containment in
`examples.containment`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from examples.session import Answer

__all__ = [
    "Judge",
    "Scene",
    "Verdict",
    "contained",
    "escaped",
    "facts_of",
    "judge",
    "refused",
    "refused_without_trace",
    "said",
    "works",
]


@dataclass(frozen=True, slots=True)
class Scene:
    """An attempt as it went: the answers that count, and what the host saw meanwhile."""

    answers: Sequence[Answer]
    canary: str  # a secret in the runner's own environment
    moved_refs: frozenset[str] = frozenset()  # refs of the remote that are not as they were
    allowed_refs: frozenset[str] = frozenset()  # refs that this attempt was allowed to move
    host_contacts: int = 0
    host_trap_sprung: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it held, by what, and how that is known."""

    held: bool
    outcome: str  # refused, contained, ESCAPED
    by: str
    evidence: str


Judge = Callable[[Scene], Verdict]


def judge(scene: Scene, own: Judge) -> Verdict:
    """`own` judge's verdict, unless the host saw what must never be, whatever the answers say."""
    moved = scene.moved_refs - scene.allowed_refs
    if moved:
        return escaped(f"the remote's refs moved: {', '.join(sorted(moved))}")
    if scene.host_contacts:
        return escaped(f"the host saw {scene.host_contacts} connections")
    if scene.host_trap_sprung:
        return escaped("a payload ran on the host")
    if any(scene.canary in answer.output for answer in scene.answers):
        return escaped("the answers hold a secret of the runner's environment")
    return own(scene)


def refused(*codes: str) -> Judge:
    """Every call is refused with one of these codes."""

    def own(scene: Scene) -> Verdict:
        wrong = [answer for answer in scene.answers if answer.ok or answer.code not in codes]
        if wrong or not scene.answers:
            return escaped(said(wrong))
        rules = dict.fromkeys(answer.rule or "tool contract" for answer in scene.answers)
        codes_seen = dict.fromkeys(answer.code for answer in scene.answers)
        return Verdict(True, "refused", ", ".join(rules), ", ".join(codes_seen))

    return own


def refused_without_trace(*codes: str) -> Judge:
    """All calls but the last are refused; the last looked for traces and found none."""

    def own(scene: Scene) -> Verdict:
        verdict = refused(*codes)(replace(scene, answers=scene.answers[:-1]))
        facts = facts_of(scene.answers[-1])
        if verdict.held and (facts is None or facts.get("ran") is not False or facts.get("others") != []):
            return escaped(f"it was refused and left a trace: {said(scene.answers[-1:])}")
        return verdict

    return own


def facts_of(answer: Answer) -> dict[str, Any] | None:
    """The one JSON object that an attack prints, None when it did not end by printing one."""
    if not answer.ok or not isinstance(answer.result, dict) or answer.result.get("code") != 0:
        return None
    try:
        facts = json.loads(answer.result.get("stdout", ""))
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None


def works(answer: Answer) -> bool:
    """Whether a command ran and ended well."""
    return answer.ok and isinstance(answer.result, dict) and answer.result.get("code") == 0


def contained(by: str, evidence: str) -> Verdict:
    """It was allowed to try, and got nowhere, by `by`."""
    return Verdict(True, "contained", by, evidence)


def escaped(evidence: str) -> Verdict:
    """It got somewhere, or nobody can tell that it did not."""
    return Verdict(False, "ESCAPED", "", evidence)


def said(answers: Sequence[Answer]) -> str:
    """The answers, shortened, for the reader who has to find out what went wrong."""
    return "; ".join(answer.output[:300] for answer in answers) or "no answer"
