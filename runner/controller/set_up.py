"""The clone inside, and its set-up under the set-up network. A repository can add commands, never permissions.

Everything here runs in the container. Set-up commands pass the same argv policy as calls do, with one difference: they
may point git at the repository's own hooks folder, which is what "the repository's hooks" then means for the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.controller.base_tree import BaseListing
from runner.controller.environment import OFFLINE, command_environment
from runner.controller.install_layer import InstallLayer, place_of_layer
from runner.controller.left_out import find_left_out
from runner.controller.mise_trusting import trust_mise_configs
from runner.controller.network import network, prove_cut
from runner.controller.package_cache import CACHE_FOLDERS, PackageCache, place_of_cache
from runner.controller.setup_words import note_refusal, say_cache, say_layer, say_left_out, say_tools
from runner.controller.tree_view import SandboxTree
from runner.egress.registry import Roles
from runner.engine.contract import ImageInfo, SpawnRequest, SpawnResult
from runner.gate.delivery import Delivered, DeliveryStep, branches_of, delivery_steps
from runner.gate.fetch import Fetched
from runner.gate.git import Git
from runner.gate.shipment import shipment
from runner.model.errors import RepositoryUnavailable, ToolError
from runner.policy.argv import judge_argv
from runner.policy.argv_policy import setup_argv_policy
from runner.policy.argv_values import ArgvVerdict, Phase
from runner.policy.ledger import Ledger
from runner.setup.detect import plan_setup
from runner.setup.plan import SetupPlan, SetupStep

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["OUTBOX", "make_clone", "set_up"]

OUTBOX = "/home/agent/outbox.git"
_TAIL_CHARS = 2000
_OUTPUT_CAP_BYTES = 1024 * 1024
_DELIVERY_SECONDS = 600.0


def make_clone(run: Prepared, gate: Git, fetched: Fetched) -> Delivered:
    """The workspace is a clone of what was fetched, or of the part that the request's depth leaves.

    Raises:
        RepositoryUnavailable: naming the step that failed.
    """
    run.progress("making the clone")
    commit, depth = run.policy.commit, run.request.depth
    given = fetched if depth is None else branches_of(fetched)
    with shipment(gate, given, progress=run.progress, depth=depth) as shipped:
        steps = delivery_steps(
            given, shipped.name, outbox=OUTBOX, name=commit.name, email=commit.email, shallow=shipped.shallow
        )
        for step in steps:
            _deliver(run, step, step.input(shipped))
    return Delivered(given, shipped.shallow)


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


def set_up(
    run: Prepared,
    gate: Git,
    fetched: Fetched,
    base: BaseListing,
    image: ImageInfo,
    certificates: Mapping[str, str],
    roles: Roles,
) -> bool:
    """The plan's steps have run, the set-up network is gone, and caches are emptied. False: there were no steps.

    Raises:
        RepositoryUnavailable: code of the refusal, or `setup_failed` with the tool's own output.
        PostureFailed: when the network could not be cut.
    """
    top = {path.partition("/")[0] for path in base.objects}
    # Nothing has run yet, so the files are the base commit's; what that does not have is not asked for inside.
    tree = SandboxTree(run.sandbox, Ledger(()), run.git, absent=lambda path: path.partition("/")[0] not in top)
    plan = plan_setup(run.policy.setup, tree, base.objects)
    note = "; ".join([plan.note, *trust_mise_configs(run, tree)])
    run.facts["setup"] = {"source": str(plan.source), "note": note, "steps": []}
    run.progress(f"set-up: {note}")
    say_left_out(run, find_left_out(gate, fetched, base))
    say_tools(run, plan, tree, image)
    _say_verification(run, plan)
    place = place_of_cache(run, gate, fetched, base, plan, roles)
    kept = _Kept(PackageCache(run, place), InstallLayer(run, place_of_layer(gate, fetched, base, plan, place)))
    run.facts["setup"] |= {"cache": kept.cache.facts, "layer": kept.layer.facts}
    if plan.steps:
        _carry_out(run, plan, kept, certificates, roles)
        _empty_caches(run)
        say_layer(run, plan, kept.layer)
        say_cache(run, plan, kept.cache)
    return bool(plan.steps)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What an earlier run may have left for the first step: what it installs from, and what it makes."""

    cache: PackageCache
    layer: InstallLayer


def _carry_out(run: Prepared, plan: SetupPlan, kept: _Kept, certificates: Mapping[str, str], roles: Roles) -> None:
    """The plan's steps have run, and the network that they had is cut."""
    kept.layer.restore()
    if kept.layer.hit:
        _allowed(run, plan.steps[0])  # what an install made is for runs whose policy lets it run
        kept.cache.pass_over("what the install made is kept, so it need not run")
        if len(plan.steps) == 1:
            return
    kept.cache.restore()
    allow = run.policy.network.setup.allow
    with network(
        run.sandbox,
        allow,
        roles,
        run.audit,
        "setup",
        lambda event: note_refusal(run, event),
        on_event=run.canary.connection,
    ) as proxy:
        extra = {**certificates, **proxy}
        first, *others = plan.steps
        if not kept.layer.hit:
            run.facts["setup"]["steps"].append(_run_cached(run, plan, first, kept, extra))
        for step in others:
            run.facts["setup"]["steps"].append(_run_step(run, plan, step, extra))
    if allow:
        prove_cut(run.sandbox, command_environment({}))


def _run_cached(
    run: Prepared, plan: SetupPlan, step: SetupStep, kept: _Kept, extra: Mapping[str, str]
) -> dict[str, Any]:
    """The step has run, with the kept cache where there is one; what it left is kept before anything else can run."""
    cache = kept.cache
    try:
        facts = _run_step(run, plan, step, {**extra, **cache.environment})
    except RepositoryUnavailable:
        if not cache.hit:
            raise
        run.progress("set-up: it failed with the kept package cache, and is tried without")
        cache.give_up()
        facts = _run_step(run, plan, step, extra)
    cache.save()
    kept.layer.save()
    return facts


def _say_verification(run: Prepared, plan: SetupPlan) -> None:
    """How the repository checks itself: a suggestion, which gives no permission. The policy's `verifyTask` stands."""
    run.facts["setup"]["verify"] = [_judged(run, argv) for argv in plan.verify]
    for told in run.facts["setup"]["verify"]:
        refusal = "" if told["allowed"] else f" (which the policy refuses: {told['code']})"
        run.progress(f"the repository checks itself with: {' '.join(told['argv'])}{refusal}")


def _judged(run: Prepared, argv: tuple[str, ...]) -> dict[str, Any]:
    """Whether a call with this argv would be let through now."""
    try:
        _verdict(run, argv, "run").decision.raise_if_denied()
    except ToolError as refused:
        return {"argv": list(argv), "allowed": False, "code": str(refused.code)}
    return {"argv": list(argv), "allowed": True, "code": None}


def _run_step(run: Prepared, plan: SetupPlan, step: SetupStep, extra: Mapping[str, str]) -> dict[str, Any]:
    limits = run.policy.limits
    argv = _allowed(run, step)
    run.progress(f"set-up: {' '.join(step.argv)}")
    run.audit.append("setup.step", {"argv": list(step.argv), "why": step.why})
    result = run.sandbox.spawn(
        SpawnRequest(
            argv,
            _environment(run, step, extra),
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
    run.canary.look("setup", [result.stdout, result.stderr], detail=" ".join(step.argv))
    if result.exit != 0:
        run.facts["setup"]["steps"].append(facts)
        raise RepositoryUnavailable(
            f"set-up failed at `{' '.join(step.argv)}` ({_ending(result, limits.command_seconds)}): {_tail(result)}",
            hint=_mend(run, plan, result),
            code="setup_failed",
        )
    return facts


def _environment(run: Prepared, step: SetupStep, extra: Mapping[str, str]) -> dict[str, str]:
    """What the step's program gets. The repository may add variables; one that the policy sets stays the policy's."""
    said = {name: value for name, value in step.env.items() if name not in run.policy.env}
    return {**command_environment(run.policy.env, extra or OFFLINE), **said}


def _allowed(run: Prepared, step: SetupStep) -> tuple[str, ...]:
    """The argv to run for the step, in the spelling that the policy's argv preset gives it."""
    try:
        verdict = _verdict(run, step.argv, "setup")
        verdict.decision.raise_if_denied()
    except ToolError as error:
        raise RepositoryUnavailable(
            f"set-up may not run `{' '.join(step.argv)}`: {error.message}", hint=error.hint or "", code=str(error.code)
        ) from None
    return verdict.argv


def _verdict(run: Prepared, argv: tuple[str, ...], phase: Phase) -> ArgvVerdict:
    tree = SandboxTree(run.sandbox, Ledger(()), run.git)
    return judge_argv(argv, setup_argv_policy(run.policy), tree, tool="run_command", phase=phase)


def _empty_caches(run: Prepared) -> None:
    """What package managers cached is charged to the run's memory and of no use without a network."""
    run.sandbox.spawn(SpawnRequest(("/bin/rm", "-rf", "--", *CACHE_FOLDERS), command_environment({}), 60, 4096))


def _ending(result: SpawnResult, limit_seconds: float) -> str:
    if result.timed_out:
        return f"over its {limit_seconds:g} s"
    return f"exit {result.exit}" if result.killed_by is None else f"killed: {result.killed_by}"


def _mend(run: Prepared, plan: SetupPlan, result: SpawnResult) -> str:
    if result.timed_out:
        return "Raise limits.commandSeconds in the policy."
    if plan.needs_network and not run.policy.network.setup.allow:
        return "The policy gives set-up no network: add `network: {setup: {allow: [npm]}}`, or `setup: off`."
    refused = next(iter(run.facts["setup"].get("refused_hosts", ())), None)
    if refused is not None:
        host = f"{refused['host']}:{refused['port']}"
        return (
            f"The set-up's network refused {host} ({refused['rule']}); docs/POLICY.md and OPERATIONS.md say what can."
        )
    return "Mend the repository's set-up, or turn it off with `setup: off` in the policy."


def _tail(result: SpawnResult) -> str:
    said = (result.stdout + b"\n" + result.stderr).decode("utf-8", "replace").strip()
    return " | ".join(line.strip() for line in said[-_TAIL_CHARS:].splitlines()[-12:] if line.strip())
