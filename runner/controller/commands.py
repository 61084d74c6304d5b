"""Running an allowed argv, and saying what came of it: output, how it ended, and what it wrote outside the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.controller.baseline import MAX_ENTRIES, Baseline, bring_up_to_date, take_in
from runner.controller.guest_git import GuestGit
from runner.controller.revert import NOTHING_UNDONE, Undone, revert
from runner.controller.tree_view import SandboxTree
from runner.engine.contract import KilledBy, LimitMet, Sandbox, SpawnRequest, SpawnResult
from runner.policy.answers import RecordingTree
from runner.policy.argv import judge_argv
from runner.policy.argv_policy import argv_policy
from runner.policy.argv_values import Tool
from runner.policy.basis import Basis
from runner.policy.document import Limits
from runner.policy.ledger import LedgerDelta
from runner.policy.writes import WriteRules, within_write_globs
from runner.tools.workspace import CommandOutcome

if TYPE_CHECKING:
    from runner.controller.workspace import Guards

__all__ = ["limits_hit", "run"]

_MAX_REPORTED_WRITES = 50
_GIT_FAILED = 128
_NOT_STARTED = 126
_FLOOD = 64
"""A verbose test run goes on when its output is cut; what writes this many times the cap is a flood, and is killed."""


def run(
    sandbox: Sandbox, git: GuestGit, baseline: Baseline, guards: Guards, argv: list[str], tool: str
) -> CommandOutcome:
    """Decide, run, and take the ledger forward.

    Raises:
        ToolError: when the argv is refused; then no process was started.
        RunLimitReached: when the command made more paths than can be kept account of.
        SandboxLost: when it could not do anything, because the repository or its folder is not there any more.
    """
    tree = RecordingTree(SandboxTree(sandbox, baseline.ledger, git))
    door: Tool = "git" if tool == "git" else "run_command"
    verdict = judge_argv(argv, argv_policy(guards.policy, guards.rules, tree), tree, tool=door)
    guards.on_decision(verdict.decision, Basis.of_argv(argv, door, tree.answers()))
    verdict.decision.raise_if_denied()
    limits = guards.policy.limits
    seconds = min(float(limits.command_seconds), guards.remaining())
    result = sandbox.spawn(
        SpawnRequest(
            argv=verdict.argv,
            env=guards.environment,
            deadline_seconds=seconds,
            output_cap_bytes=limits.output_kib * 1024,
            kill_at_bytes=limits.output_kib * 1024 * _FLOOD,
            watch=guards.watcher(),
            scan_entries=MAX_ENTRIES,
        )
    )
    if (argv[0] == "git" and result.exit == _GIT_FAILED) or (not result.started and result.exit == _NOT_STARTED):
        git.require_base(baseline.base_commit)
    ledger, scan = baseline.ledger, result.scan
    delta = bring_up_to_date(sandbox, ledger) if scan is None else take_in(scan, ledger)
    outside = _outside(guards.rules, delta)
    undone = NOTHING_UNDONE
    if outside and baseline.originals is not None:
        undone = revert(sandbox, baseline.ledger, baseline.originals, guards.rules, outside)
        guards.on_revert(undone)
    hit = limits_hit(result, limits, cut_by_the_run=seconds < limits.command_seconds)
    return _outcome(result, min(limits.command_seconds, round(seconds, 3)), outside, undone, hit)


def limits_hit(result: SpawnResult, limits: Limits, *, cut_by_the_run: bool = False) -> tuple[str, ...]:
    """Which limits of the policy a program met, each with its bound, as `limits.KEY (BOUND)`.

    Open files are not among them: the kernel tells of these to the program alone.
    """
    met = {
        "runSeconds": result.timed_out and cut_by_the_run,
        "commandSeconds": result.timed_out and not cut_by_the_run,
        "memoryMiB": result.killed_by is KilledBy.MEMORY,
        "outputKiB": result.truncated,
        "cpus": LimitMet.CPUS in result.limits_met,
        "pids": LimitMet.PIDS in result.limits_met,
        "fileMiB": LimitMet.FILE_SIZE in result.limits_met,
        "workspaceMiB": LimitMet.WORKSPACE_BYTES in result.limits_met,
        "workspaceInodes": LimitMet.WORKSPACE_INODES in result.limits_met,
    }
    bounds = limits.model_dump(by_alias=True)
    return tuple(f"limits.{key} ({bounds[key]})" for key, is_met in met.items() if is_met)


def _outside(rules: WriteRules, delta: LedgerDelta) -> tuple[str, ...]:
    """The paths that the command created, changed or removed outside the write globs."""
    touched = sorted({*delta.created, *delta.changed, *delta.removed})
    return tuple(path for path in touched if not within_write_globs(rules, path))


def _outcome(
    result: SpawnResult, limit_seconds: float, outside: tuple[str, ...], undone: Undone, hit: tuple[str, ...]
) -> CommandOutcome:
    return CommandOutcome(
        code=result.exit,
        stdout=result.stdout.decode("utf-8", "replace"),
        stderr=result.stderr.decode("utf-8", "replace"),
        truncated=result.truncated,
        timed_out=result.timed_out,
        timeout_secs=limit_seconds,
        duration_ms=round(result.duration_ms, 3),
        killed_by=None if result.killed_by is None else str(result.killed_by),
        limits_hit=hit,
        outside_writes=outside[:_MAX_REPORTED_WRITES],
        reverted=undone.reverted[:_MAX_REPORTED_WRITES],
        not_reverted=undone.not_reverted[:_MAX_REPORTED_WRITES],
    )
