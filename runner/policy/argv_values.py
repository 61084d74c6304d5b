"""What the argv judges share: the policy they read, the call they judge, and the refusals they give.

A judge answers a denial, or None for "nothing here is refused". None from every judge is an allowed call: the preset
refuses what the contract names and lets the rest of the allowed programs run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import TreeView

if TYPE_CHECKING:
    from runner.policy.argv_rules import Rule

__all__ = [
    "MAX_DEPTH",
    "MAX_STEPS",
    "ArgvPolicy",
    "ArgvVerdict",
    "Call",
    "Phase",
    "Preset",
    "Progress",
    "Tool",
    "deny_hooks",
    "deny_program",
    "deny_push",
    "deny_scratch",
    "deny_typecheck",
]

Phase = Literal["run", "setup"]
Preset = Literal["default", "strict"]
Tool = Literal["run_command", "git"]

MAX_DEPTH = 12
"""Launchers, aliases and scripts followed below one call. Real chains have three or four steps."""

MAX_STEPS = 500
"""Commands judged for one call in all, so that scripts that start each other many times cannot hold the controller."""


@dataclass(frozen=True, slots=True)
class ArgvPolicy:
    """What the operator's policy says about argv.

    `scratch_allowed` answers whether the run may execute a file that it created at the workspace-relative path; who
    builds it resolves links first, so that a link in a full-write folder does not lend its name to a file elsewhere.
    `created_files` lists what the run created, as workspace-relative real paths; it is asked only where a program
    finds its files by itself (`node --test`). `rules` are the policy's own, in its order. `narrower` are the readings
    of the files that narrow the policy, by number: each has to allow too.
    """

    bins: frozenset[str]
    verify_task: str
    scratch_allowed: Callable[[str], bool]
    created_files: Callable[[], Iterable[str]] = tuple
    preset: Preset = "default"
    rules: tuple[Rule, ...] = ()
    narrower: tuple[tuple[int, ArgvPolicy], ...] = ()


@dataclass(frozen=True, slots=True)
class ArgvVerdict:
    """The decision, and the argv to run when it allows: as given, or in the canonical spelling of `strict`."""

    decision: Decision
    argv: tuple[str, ...]


@dataclass(slots=True)
class Progress:
    """What was judged so far for one call: package scripts by folder and name, and how many commands."""

    scripts: set[tuple[str, str]] = field(default_factory=set)
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One command to judge: under which policy, over which tree, in which folder, how deep below the real argv."""

    policy: ArgvPolicy
    tree: TreeView
    judge: Callable[[Call, Sequence[str]], Decision | None]
    phase: Phase = "run"
    cwd: str = "."
    depth: int = 0
    progress: Progress = field(default_factory=Progress)

    def deeper(self, *, cwd: str | None = None) -> Call:
        """The call one step further along a chain, in `cwd` when given."""
        return replace(self, depth=self.depth + 1, cwd=self.cwd if cwd is None else cwd)

    @property
    def exhausted(self) -> bool:
        """Whether the chain is longer, or wider, than any honest one."""
        return self.depth > MAX_DEPTH or self.progress.steps > MAX_STEPS


def deny_push(rule: str, what: str) -> Decision:
    """The command would push, or would make a later one push."""
    return Decision.deny(
        ErrorCode.GIT_PUSH_VIA_RUN_COMMAND,
        rule,
        f"Refused by {rule}: {what} would push from inside the workspace.",
        "Use workspace.git_push; it pushes the current branch.",
    )


def deny_hooks(rule: str, what: str) -> Decision:
    """The command would skip the repository's hooks, now or later."""
    return Decision.deny(
        ErrorCode.GIT_HOOKS_SKIP_REFUSED,
        rule,
        f"Refused by {rule}: {what} would skip or replace the repository's hooks.",
        "Run the command without it and mend what the hook reports.",
    )


def deny_program(
    rule: str, what: str, hint: str = "Leave it out, or run one of the allowed programs directly."
) -> Decision:
    """The command names a program, a shell line or an output file where only the allowed programs may stand."""
    return Decision.deny(ErrorCode.BIN_NOT_ALLOWLISTED, rule, f"Refused by {rule}: {what}.", hint)


def deny_typecheck(call: Call, rule: str, what: str) -> Decision:
    """The command runs a typechecker or task-graph runner around the repository's verification task."""
    return Decision.deny(
        ErrorCode.DIRECT_TYPECHECK_REFUSED,
        rule,
        f"Refused by {rule}: {what} goes around the repository's verification task.",
        f"Run `mise run {call.policy.verify_task} <issue>` instead.",
    )


def deny_scratch(rule: str, path: str) -> Decision:
    """The command would execute or load `path`, which the run made outside the full-write paths."""
    return Decision.deny(
        ErrorCode.SCRATCH_EXECUTION_REFUSED,
        rule,
        f"Refused by {rule}: this would execute {path!r}, which this run made outside the full-write paths.",
        "Put code that has to run under a full-write path of the policy, or pass a short program to node -e.",
    )
