"""The clone inside, and its set-up under the set-up network. A repository can add commands, never permissions.

Everything here runs in the container. Set-up commands pass the same argv policy as calls do, with one difference: they
may point git at the repository's own hooks folder, which is what "the repository's hooks" then means for the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from runner.controller.environment import OFFLINE, command_environment
from runner.controller.network import network, prove_cut
from runner.controller.tree_view import SandboxTree
from runner.egress.registry import Roles
from runner.engine.contract import SpawnRequest, SpawnResult
from runner.gate.delivery import DeliveryStep, delivery_steps
from runner.gate.fetch import Fetched
from runner.gate.git import Git
from runner.gate.shipment import shipment
from runner.model.errors import RepositoryUnavailable, ToolError
from runner.model.tree import EntryKind
from runner.policy.argv import ArgvPolicy, judge_argv
from runner.policy.ledger import Ledger
from runner.policy.mise_argv import CONFIGS, TASK_FOLDERS
from runner.setup.detect import plan_setup
from runner.setup.mise_trust import task_file_refusal, trust_refusal
from runner.setup.plan import SetupPlan, SetupStep

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["OUTBOX", "make_clone", "set_up"]

OUTBOX = "/home/agent/outbox.git"
_TAIL_CHARS = 2000
_OUTPUT_CAP_BYTES = 1024 * 1024
_DELIVERY_SECONDS = 600.0
# ~/.local/state stays: mise keeps there which configs it trusts.
# Not ~/.local: what mise installed and trusts is there.
_CACHES = ("/home/agent/.pnpm-store", "/home/agent/.npm", "/home/agent/.cache")
_MAX_TASK_FILES = 200  # of mise; each is read


def make_clone(run: Prepared, gate: Git, fetched: Fetched) -> None:
    """The workspace is a clone of what was fetched.

    Raises:
        RepositoryUnavailable: naming the step that failed.
    """
    run.progress("making the clone")
    commit = run.policy.commit
    with shipment(gate, fetched, progress=run.progress) as shipped:
        steps = delivery_steps(fetched, shipped.name, outbox=OUTBOX, name=commit.name, email=commit.email)
        for step in steps:
            _deliver(run, step, [step.stdin] if step.takes is None else shipped.chunks(step.takes))


def _deliver(run: Prepared, step: DeliveryStep, stdin: Iterable[bytes]) -> None:
    seconds = min(_DELIVERY_SECONDS, run.remaining())
    result = run.sandbox.spawn(
        SpawnRequest(step.argv, command_environment({}), seconds, _OUTPUT_CAP_BYTES, stdin=stdin)
    )
    if result.exit != 0:
        raise RepositoryUnavailable(
            f"the clone could not be made ({step.why}): {_tail(result)}",
            hint="If the workspace is too small, raise limits.workspaceMiB or limits.workspaceInodes.",
            code="clone_failed",
        )


def set_up(run: Prepared, fetched: Fetched, certificates: Mapping[str, str], roles: Roles) -> None:
    """The plan's steps have run, the set-up network is gone, and caches are emptied.

    Raises:
        RepositoryUnavailable: code of the refusal, or `setup_failed` with the tool's own output.
        PostureFailed: when the network could not be cut.
    """
    tree = SandboxTree(run.sandbox, Ledger(()), run.git)
    plan = plan_setup(run.policy.setup, tree)
    note = "; ".join([plan.note, *_trust_mise_configs(run, tree)])
    run.facts["setup"] = {"source": str(plan.source), "note": note, "steps": []}
    run.progress(f"set-up: {note}")
    if not plan.steps:
        return
    allow = run.policy.network.setup.allow
    with network(run.sandbox, allow, roles, run.audit, "setup") as proxy:
        for step in plan.steps:
            run.facts["setup"]["steps"].append(_run_step(run, plan, step, {**certificates, **proxy}))
    if allow:
        prove_cut(run.sandbox, command_environment({}))
    _empty_caches(run)


def _trust_mise_configs(run: Prepared, tree: SandboxTree) -> list[str]:
    """Plain configs of the fresh clone are trusted by mise, by their hash; the answer says which, and why others not.

    Nothing of the repository has run yet, so the files are those of the base commit.
    """
    configs = [path for path in CONFIGS if tree.kind(path) is not None]
    if not configs:
        return []
    tasks = _task_files_refusal(run, tree)
    notes = []
    for path in configs:
        regular = tree.kind(path) is EntryKind.FILE and tree.real_path(path) == path
        refusal = trust_refusal(path, tree.read_text(path) if regular else None) or tasks
        if refusal is None:
            trust = SpawnRequest(("mise", "trust", path), command_environment({}), 60, 4096)
            refusal = None if run.sandbox.spawn(trust).exit == 0 else "mise did not take it"
        notes.append(f"mise trusts {path}" if refusal is None else f"mise does not trust {path}: {refusal}")
    run.audit.append("setup.mise", {"notes": notes})
    return notes


def _task_files_refusal(run: Prepared, tree: SandboxTree) -> str | None:
    """Trust in a config covers the task files beside it, so each of them has a say."""
    listed = run.git.run("ls-files", "-z", "--", *TASK_FOLDERS).stdout.decode("utf-8", "surrogateescape")
    paths = [path for path in listed.split("\0") if path]
    if len(paths) > _MAX_TASK_FILES:
        return f"there are more than {_MAX_TASK_FILES} task files"
    found = ((path, task_file_refusal(tree.read_text(path))) for path in paths)
    return next((f"of the task file {path[:200]!r}: {reason}" for path, reason in found if reason is not None), None)


def _run_step(run: Prepared, plan: SetupPlan, step: SetupStep, extra: Mapping[str, str]) -> dict[str, Any]:
    limits = run.policy.limits
    argv = _allowed(run, step)
    run.progress(f"set-up: {' '.join(step.argv)}")
    run.audit.append("setup.step", {"argv": list(step.argv), "why": step.why})
    result = run.sandbox.spawn(
        SpawnRequest(
            argv,
            {**command_environment(run.policy.env, extra or OFFLINE), **step.env},
            min(limits.command_seconds, run.remaining()),
            _OUTPUT_CAP_BYTES,
        )
    )
    facts = {
        "argv": list(step.argv),
        "exit": result.exit,
        "timed_out": result.timed_out,
        "timeout_secs": limits.command_seconds,
        "duration_ms": round(result.duration_ms, 1),
        "stdout": result.stdout.decode("utf-8", "replace")[-_TAIL_CHARS:],
        "stderr": result.stderr.decode("utf-8", "replace")[-_TAIL_CHARS:],
    }
    run.audit.append("setup.finished", {key: facts[key] for key in ("argv", "exit", "timed_out", "duration_ms")})
    if result.exit != 0:
        run.facts["setup"]["steps"].append(facts)
        raise RepositoryUnavailable(
            f"set-up failed at `{' '.join(step.argv)}` ({_ending(result, limits.command_seconds)}): {_tail(result)}",
            hint=_mend(run, plan, result),
            code="setup_failed",
        )
    return facts


def _allowed(run: Prepared, step: SetupStep) -> tuple[str, ...]:
    """The argv to run for the step, in the spelling that the policy's argv preset gives it."""
    policy = ArgvPolicy(
        bins=frozenset(run.policy.bins),
        verify_task=run.policy.verify_task,
        scratch_allowed=lambda _path: True,
        preset=run.policy.argv.preset,
        rules=run.policy.argv.rules,
    )
    tree = SandboxTree(run.sandbox, Ledger(()), run.git)
    try:
        verdict = judge_argv(step.argv, policy, tree, tool="run_command", phase="setup")
        verdict.decision.raise_if_denied()
    except ToolError as error:
        raise RepositoryUnavailable(
            f"set-up may not run `{' '.join(step.argv)}`: {error.message}", hint=error.hint or "", code=str(error.code)
        ) from None
    return verdict.argv


def _empty_caches(run: Prepared) -> None:
    """What package managers cached is charged to the run's memory and of no use without a network."""
    run.sandbox.spawn(SpawnRequest(("/bin/rm", "-rf", "--", *_CACHES), command_environment({}), 60, 4096))


def _ending(result: SpawnResult, limit_seconds: float) -> str:
    if result.timed_out:
        return f"over its {limit_seconds:g} s"
    return f"exit {result.exit}" if result.killed_by is None else f"killed: {result.killed_by}"


def _mend(run: Prepared, plan: SetupPlan, result: SpawnResult) -> str:
    if result.timed_out:
        return "Raise limits.commandSeconds in the policy."
    if plan.needs_network and not run.policy.network.setup.allow:
        return "The policy gives set-up no network: add `network: {setup: {allow: [npm]}}`, or `setup: off`."
    return "Mend the repository's set-up, or turn it off with `setup: off` in the policy."


def _tail(result: SpawnResult) -> str:
    said = (result.stdout + b"\n" + result.stderr).decode("utf-8", "replace").strip()
    return " | ".join(line.strip() for line in said[-_TAIL_CHARS:].splitlines()[-12:] if line.strip())
