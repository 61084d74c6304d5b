"""What a policy would say to a call, step by step: the same functions as for a live call, with their findings told.

Steps of a call, in the order in which a run takes them:

1. The arguments, as the tool's schema reads them (the caller has done that; a call that fails there never comes here).
2. The budget, for calls that look at something.
3. The path: cleaned, then where it really leads.
4. The rules of `writes`, `argv`, `changes` and `push`, up to the one that decides.

What a run would find out and an explanation is not told is said in the step, with the assumption that was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runner.model.decision import Decision
from runner.model.errors import ErrorCode, ToolError
from runner.policy import budget
from runner.policy.append_only import decide_append
from runner.policy.budget import BudgetState, Ground
from runner.policy.document import Policy
from runner.policy.explain_argv import explain_argv
from runner.policy.explain_changes import explain_commit, explain_push
from runner.policy.facts_file import DescribedTree
from runner.policy.globs import names_git
from runner.policy.paths import parse_path, parse_write_path, shown
from runner.policy.steps import Explanation, Step
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write, must_append, must_append_in

__all__ = ["Asked", "PushFacts", "explain", "refusal"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks of the policy, as its tool reads the arguments. `path` is as the caller wrote it.

    `after` gives a written file's new text from its text now, where both are told; None where it can't be known.
    """

    tool: str
    path: str | None = None
    op: WriteOp | None = None
    argv: tuple[str, ...] | None = None
    ground: Ground | None = None
    after: Callable[[str], str | None] = lambda _text: None


@dataclass(frozen=True, slots=True)
class PushFacts:
    """What the host would have on record for a push."""

    branch: str = "agent/work"
    default_branch: str = "main"


def explain(policy: Policy, asked: Asked, tree: DescribedTree, push: PushFacts) -> Explanation:
    """The steps of one call at the start of a run, and the decision at their end. Never raises for a call's content."""
    first = Step("arguments", f"fit {asked.tool}")
    try:
        rest = _rest(policy, asked, tree, push)
    except ToolError as error:
        rest = refusal(error)
    return Explanation((first, *rest.steps), rest.decision)


def refusal(error: ToolError) -> Explanation:
    """The explanation of a call that is refused before any rule of the policy is asked."""
    rule = error.rule or "arguments"
    decision = Decision.deny(error.code, rule, error.message, error.hint or "")
    return Explanation((Step("refused", error.message),), decision)


def _rest(policy: Policy, asked: Asked, tree: DescribedTree, push: PushFacts) -> Explanation:
    if asked.argv is not None:
        return explain_argv(policy, asked.argv, asked.tool, tree)
    if asked.op is not None and asked.path is not None:
        return _explain_write(policy, asked, asked.op, asked.path, tree)
    if asked.tool == "workspace.git_commit":
        return explain_commit(policy, tree.told())
    if asked.tool == "workspace.git_push":
        return explain_push(policy, push.branch, push.default_branch, tree.told())
    return _explain_look(policy, asked, tree)


def _explain_look(policy: Policy, asked: Asked, tree: DescribedTree) -> Explanation:
    """A read, listing or search: the budget first, then where the path leads."""
    steps: list[Step] = []
    decision = Decision.allow("read.beneath-root")
    if asked.ground is not None:
        decision = budget.decide(BudgetState(), policy.budget, asked.ground)
        bound = "without bound" if policy.budget.distinct is None else f"of {policy.budget.distinct}"
        steps.append(Step("budget", f"the first {asked.ground.kind} {bound}, in a run that has looked at nothing yet"))
    if asked.path is None or not decision.allowed:
        return Explanation(tuple(steps), decision)
    try:
        cleaned = parse_path(asked.path)
    except ToolError as error:
        told = refusal(error)
        return Explanation((*steps, *told.steps), told.decision)
    place = tree.place(cleaned)
    steps.append(Step("path", shown(cleaned)))
    if place.real_path is None:
        message = f"{shown(asked.path)} leads out of the workspace."
        hint = "Paths are relative to the workspace root."
        decision = Decision.deny(ErrorCode.PATH_OUTSIDE_WORKSPACE, "path.outside", message, hint)
    steps.append(Step("real path", _led(place.real_path, place.via_link)))
    return Explanation(tuple(steps), decision)


def _explain_write(policy: Policy, asked: Asked, op: WriteOp, path: str, tree: DescribedTree) -> Explanation:
    cleaned = parse_write_path(path)
    place = tree.place(_above(cleaned) if op is WriteOp.DELETE else cleaned)
    real = place.real_path
    if op is WriteOp.DELETE and real is not None:  # a deletion is about a link itself: only what is above is followed
        name = cleaned.rpartition("/")[2]
        real = name if real == "." else f"{real}/{name}"
    head = (Step("path", shown(cleaned)), Step("real path", _led(real, place.via_link)))
    if real is None:
        message = f"{shown(path)} leads out of the workspace."
        hint = "Paths are relative to the workspace root."
        decision = Decision.deny(ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED, "path.outside", message, hint)
        return Explanation(head, decision)
    rules = WriteRules.compile(policy)
    facts = PathFacts(real, place.via_link, tree.existed_at_start(real))
    there = "was there when the run started" if facts.existed_at_start else "was not there when the run started"
    there += ", since nothing else is told of it" if tree.assumes(real) else ""
    decision = decide_write(rules, WriteIntent(op, cleaned), facts)
    steps = [*head, Step("provenance", there), *_write_steps(rules, cleaned, facts, decision)]
    if decision.allowed and op is not WriteOp.DELETE and must_append(rules, facts):
        lines, decision = _lines(asked, real, tree, decision)
        steps.append(lines)
    return Explanation(tuple(steps), decision)


def _write_steps(rules: WriteRules, path: str, facts: PathFacts, decision: Decision) -> Iterator[Step]:
    """The findings of the seven rules of `writes`, again for each narrowing, up to the one that gave the decision."""
    real = facts.real_path
    for number, layer in rules.layers:
        by = f"narrow.{number}." if number else ""
        for step, decisive in (
            (Step(".git", "named" if names_git(real) or names_git(path) else "not named"), "write.deny.git"),
            (Step("writeDeny", _matched(layer.deny.match(real))), "write.deny.pattern"),
            (Step("links", "the path goes through one" if facts.via_link else "none on the way"), "write.deny.link"),
            (Step("writeAllow", _matched(layer.write.match(real))), ""),
            (Step("rewriteAllow", _matched(layer.rewrite.match(real))), "write.allow.none"),
            (Step("appendOnly", _add_only(layer, facts)), "append.delete"),
        ):
            if number == 0 or step.name not in (".git", "links"):
                yield Step(f"{by}{step.name}", step.found)
            if decision.rule == f"{by}{decisive}":
                return
        if decision.rule == f"{by}write.rewrite.none":
            return


def _lines(asked: Asked, real: str, tree: DescribedTree, allowed: Decision) -> tuple[Step, Decision]:
    text = tree.read_text(real)
    after = None if text is None else asked.after(text)
    if text is None or after is None:
        return Step("lines", "not told; taken to keep every line that the file had, in order"), allowed
    decision = decide_append(text.encode("utf-8", "surrogatepass"), after.encode("utf-8", "surrogatepass"))
    return Step("lines", "all kept" if decision.allowed else decision.message), decision


def _add_only(rules: WriteRules, facts: PathFacts) -> str:
    if not facts.existed_at_start:
        return "does not bind what the run made itself"
    return "binds: lines may only be added" if must_append_in(rules, facts) else "does not bind this file"


def _matched(pattern: str | None) -> str:
    return "no pattern matches" if pattern is None else f"pattern {shown(pattern)} matches"


def _led(real: str | None, via_link: bool) -> str:
    if real is None:
        return "outside the workspace"
    return f"{shown(real)}, through a link" if via_link else shown(real)


def _above(path: str) -> str:
    return path.rpartition("/")[0] or "."
