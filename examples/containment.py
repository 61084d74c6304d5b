"""Judges of what cannot be refused by reading a command, only contained: the network, limits, secrets, leftovers. Pure.

The attacks report on themselves, each with one JSON object; the host's own observations come on top in
`examples.verdict.judge`.
"""

from __future__ import annotations

from examples.verdict import Judge, Scene, Verdict, contained, escaped, facts_of, said, works

__all__ = [
    "bounded_disk",
    "bounded_memory",
    "bounded_output",
    "bounded_processes",
    "bounded_time",
    "no_network",
    "no_push_from_inside",
    "nothing_left_behind",
    "nothing_secret",
    "payload_stayed_inside",
]

_UNREACHABLE = frozenset({"ENETUNREACH", "EAI_AGAIN", "ENOTFOUND"})
"""No route, and no resolver. A refused connection (ECONNREFUSED) would mean that something was reached."""

_MIB = 1024 * 1024


def no_network(scene: Scene) -> Verdict:
    """Every address is unreachable and no name resolves."""
    facts = facts_of(scene.answers[0])
    outcomes = facts.get("outcomes") if facts else None
    if not isinstance(outcomes, dict) or not outcomes:
        return escaped(said(scene.answers))
    reached = {target: outcome for target, outcome in outcomes.items() if outcome not in _UNREACHABLE}
    if reached:
        return escaped(f"reached or not ruled out: {reached}")
    errors = ", ".join(sorted(set(outcomes.values())))
    return contained("no network interface", f"{len(outcomes)} tried: {errors}; the host saw none")


def no_push_from_inside(scene: Scene) -> Verdict:
    """Git failed inside each time; that the remote did not move is judged for every attempt."""
    for answer in scene.answers:
        facts = facts_of(answer)
        if not facts or not isinstance(facts.get("status"), int) or facts["status"] == 0:
            return escaped(said([answer]))
    return contained("no remote within reach", "git failed inside; the remote's refs are as they were")


def payload_stayed_inside(scene: Scene) -> Verdict:
    """The repository's programs did run, inside; the host's trap is judged for every attempt."""
    facts = facts_of(scene.answers[-1])
    if facts is None or facts.get("ran") is not True:
        return escaped("the trap was not sprung at all, so nothing was proved")
    return contained("gate: no config, no hooks", "hooks and filters ran in the container, none on the host")


def bounded_memory(limit_mib: int) -> Judge:
    """The program was stopped for its memory, and the next call works (or the run ended, naming the limit)."""

    def own(scene: Scene) -> Verdict:
        first, after = scene.answers[0], scene.answers[-1]
        if not first.ok and first.code == "run_limit_exceeded" and "memory" in str(first.error.get("message", "")):
            return Verdict(True, "contained", f"memory limit {limit_mib} MiB", "the run ended at its limit")
        if not first.ok or first.result.get("killed_by") != "memory" or not works(after):
            return escaped(said(scene.answers))
        return contained(f"memory limit {limit_mib} MiB", "killed by memory; the next call works")

    return own


def bounded_time(limit_seconds: int) -> Judge:
    """The program was ended at its deadline, and the next call works."""

    def own(scene: Scene) -> Verdict:
        first = scene.answers[0]
        if not first.ok or first.result.get("killed_by") != "deadline" or not works(scene.answers[-1]):
            return escaped(said(scene.answers))
        return contained(f"time limit {limit_seconds} s", "killed at its deadline; the next call works")

    return own


def bounded_processes(limit: int) -> Judge:
    """The system refused a process below the limit, and the next call works."""

    def own(scene: Scene) -> Verdict:
        facts = facts_of(scene.answers[0])
        started = facts.get("started") if facts else None
        if facts is None or not isinstance(started, int) or not 0 < started < limit or facts.get("error") != "EAGAIN":
            return escaped(said(scene.answers[:1]))
        if not works(scene.answers[-1]):
            return escaped(f"the next call does not work: {said(scene.answers[-1:])}")
        return contained(f"pids limit {limit}", f"EAGAIN after {started}; the next call works")

    return own


def bounded_disk(limit_mib: int) -> Judge:
    """Writing stopped at the workspace's size, and the next call works."""

    def own(scene: Scene) -> Verdict:
        facts = facts_of(scene.answers[0])
        written = facts.get("bytes") if facts else None
        if facts is None or not isinstance(written, int) or not 0 < written <= limit_mib * _MIB:
            return escaped(said(scene.answers[:1]))
        if facts.get("error") != "ENOSPC" or not works(scene.answers[-1]):
            return escaped(said(scene.answers))
        return contained(f"workspace size {limit_mib} MiB", f"ENOSPC after {written // _MIB} MiB; the next call works")

    return own


def bounded_output(limit_kib: int) -> Judge:
    """The flood was cut at the cap and its program ended, and the next call works."""

    def own(scene: Scene) -> Verdict:
        first = scene.answers[0]
        if not first.ok or not first.result.get("truncated") or first.result.get("killed_by") != "output":
            return escaped(said(scene.answers[:1]))
        size = len(first.result["stdout"]) + len(first.result["stderr"])
        if size > limit_kib * 1024 or not works(scene.answers[-1]):
            return escaped(f"{size} bytes came through")
        return contained(f"output cap {limit_kib} KiB", f"cut at {size // 1024} KiB; the next call works")

    return own


def nothing_left_behind(scene: Scene) -> Verdict:
    """A process was left, and the next call does not see it any more."""
    left, look = facts_of(scene.answers[0]), facts_of(scene.answers[-1])
    if not left or not isinstance(left.get("pid"), int):
        return escaped("no process was left, so nothing was proved")
    if not look or not look.get("seen") or look.get("sleeping") != []:
        return escaped(said(scene.answers[-1:]))
    return contained("sweep after each command", f"process {left['pid']} is gone at the next call")


def nothing_secret(scene: Scene) -> Verdict:
    """There is no engine socket, and environments hold nothing of the host's; the canary is judged everywhere."""
    facts = facts_of(scene.answers[0])
    if not facts or "HOME" not in facts.get("own", ()) or not facts.get("environments"):
        return escaped(said(scene.answers))
    if facts.get("sockets") != []:
        return escaped(f"engine sockets: {facts['sockets']}")
    if any(scene.canary in line for lines in facts["environments"].values() for line in lines):
        return escaped("a secret of the runner's environment is inside")
    return contained("environment built from nothing", "no socket, no canary in any readable environment")
