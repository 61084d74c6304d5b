"""From a request to a workspace that is ready for its first call: steps 3 to 6 of a run's life."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from runner.audit.canary import Canary
from runner.audit.log import AuditLog
from runner.audit.scrub import Scrubber
from runner.controller.aside import Aside, Leaving, Removable, remove_all
from runner.controller.base_tree import list_base
from runner.controller.baseline import Baseline, take_baseline
from runner.controller.bindings import binding_for, credential_of
from runner.controller.canary import CanaryWatch, plant
from runner.controller.confinement import runtime_for
from runner.controller.demand import Shape
from runner.controller.environment import OFFLINE, command_environment
from runner.controller.gate_rooms import transfer_git
from runner.controller.guest_git import GuestGit
from runner.controller.hooks_note import active_hooks, note_on_missing_hooks
from runner.controller.host import Host
from runner.controller.late_proof import GITS_OWN, AllowedHosts, prove_late
from runner.controller.network import deliver_ca, network, roles_of
from runner.controller.outputs import Outputs
from runner.controller.push import PushDoor
from runner.controller.records import RunRecord
from runner.controller.set_up import make_clone, set_up
from runner.controller.signing import signer_of
from runner.controller.spec import RunRequest
from runner.controller.specs import place_of, shape_of
from runner.controller.stopwatch import Stopwatch
from runner.controller.tree_view import SandboxTree
from runner.controller.warm import WarmRun
from runner.controller.workspace import GuardedWorkspace, Guards
from runner.controller.workspace_start import WorkspaceStart
from runner.egress.rules import EgressRules
from runner.engine.contract import OutputSink, Sandbox
from runner.gate.address import Address, CodeHost, local_address, resolve_address
from runner.gate.fetch import Fetched, FetchLimits, fetch, require_local_folder
from runner.gate.git import Git
from runner.policy.basis import OnDecision
from runner.policy.document import Policy
from runner.policy.writes import WriteRules

__all__ = ["Prepared", "address_of", "prepare"]

_FETCH_SECONDS = 600.0
_CANARY_BYTES = 20  # 160 bits: no text holds it by chance


class Prepared:
    """What a run has at hand. Made empty; `prepare` fills it, `close` takes the sandbox and the network down."""

    def __init__(
        self,
        host: Host,
        request: RunRequest,
        address: Address | None,
        record: RunRecord,
        audit: AuditLog,
        watch: Stopwatch,
        progress: Callable[[str], None],
        deadline: float,
        scrubber: Scrubber,
        warm: WarmRun | None = None,
    ) -> None:
        self.warm = warm
        self.deadline = deadline
        self.scrubber = scrubber
        self.host = host
        self.request = request
        self.address = address
        self.record = record
        self.audit = audit
        self.watch = watch
        self.progress = progress
        self.outputs = Outputs(record.folder, scrubber)
        self.canary = CanaryWatch(Canary(secrets.token_hex(_CANARY_BYTES)), audit, progress)
        self.facts: dict[str, Any] = {}
        self.pushes: list[dict[str, Any]] = []
        self.stack = ExitStack()
        self.gate = self.stack.enter_context(ExitStack())
        self.workspace: Removable | None = None if warm is None or warm.workspace is None else warm.workspace.sandbox
        self.containers: list[Removable] = [] if warm is None else [*warm.sandboxes]
        self.sandbox: Sandbox
        self.git: GuestGit
        self.baseline: Baseline
        self.runtime: str
        self.on_decision: OnDecision = lambda _decision, _basis: None
        self.on_output: OutputSink | None = None

    def remaining(self) -> float:
        """Seconds until the run's own limit; at least a tenth, so that what runs is cut and says so."""
        return max(0.1, self.deadline - self.host.monotonic())

    @property
    def policy(self) -> Policy:
        """The run's policy."""
        return self.request.policy.policy

    @property
    def shape(self) -> Shape:
        """What is fixed of its workspace."""
        return replace(shape_of(self.host, self.policy), runtime=self.runtime)

    def leave_gate(self) -> None:
        """The gate's rooms are on their way out, while the workspace is still asked for something. No call is left."""
        self.gate.close()
        leaving = Leaving([each for each in self.containers if each is not self.workspace])
        self.containers = [leaving, *([] if self.workspace is None else [self.workspace])]
        leaving.begin()

    def close(self) -> None:
        """Networks and containers are gone, verified. Idempotent.

        Raises:
            EngineUnavailable: when that cannot be proved.
        """
        try:
            self.stack.close()
        finally:
            remove_all(self.containers)


def prepare(run: Prepared) -> GuardedWorkspace:
    """The workspace, ready for calls.

    Raises:
        RunnerError: of whichever step failed; `run.close` takes down what there is.
    """
    policy = run.policy
    run.runtime = runtime_for(run)
    image = run.host.engine.image(policy.image or run.host.image)
    roles = roles_of(run.host, image)
    run.facts["image"] = {"reference": image.reference, "id": image.id}
    address = run.address
    if address is None:
        raise AssertionError("a run with a workspace has an address")
    require_local_folder(address)
    signer = signer_of(run)
    workspace = WorkspaceStart(run, image)
    workspace.begin()
    run.watch.start("gate")
    run.progress("starting the gate")
    place = place_of(run.host, policy, address)
    gate = transfer_git(run, place)
    fetched = _fetch(run, gate, address)
    run.sandbox = workspace.finish()
    plant(run)
    base_environment = command_environment(policy.env)
    certificates: dict[str, str] = {}
    if policy.network.setup.allow or policy.network.run.allow:
        certificates = deliver_ca(run.sandbox, place.ca_file, base_environment)
    run.git = _guest_git(run, base_environment, GITS_OWN)
    run.watch.start("clone")
    listing = Aside(lambda: list_base(gate, fetched))  # the gate's work, while the workspace has its own
    listing.begin()
    delivered = make_clone(run, gate, fetched)
    run.watch.start("setup")
    base = listing.answer()
    fresh = not set_up(run, gate, fetched, base, image, certificates, roles)
    run.watch.start("baseline")
    rules = WriteRules.compile(policy)
    undo = policy.command_writes == "revert"
    run.baseline = take_baseline(run.sandbox, run.git, gate, fetched, base, rules, revert=undo, fresh=fresh)
    run.git = _guest_git(run, base_environment, run.baseline.hooks_path)
    _say_hooks(run, fresh=fresh)
    hosts = AllowedHosts(EgressRules.compile(policy.network.run.allow, roles.hosts))
    seen, proof = run.canary.connection, hosts.is_proof
    proxy = run.stack.enter_context(
        network(run.sandbox, policy.network.run.allow, roles, run.audit, "run", on_event=seen, is_proof=proof)
    )
    environment = command_environment(policy.env, {**certificates, **proxy} if proxy else OFFLINE)
    prove_late(run, hosts.checks(run.sandbox, base_environment))
    door = PushDoor(run, gate, fetched, delivered, address, rules)
    guards = Guards(
        policy,
        rules,
        environment,
        lambda decision, basis: run.on_decision(decision, basis),
        door.push,
        run.remaining,
        lambda undone: run.audit.append("command.reverted", undone.facts()),
        lambda name: gate.run(["cat-file", "-e", f"{name}^{{commit}}"], repository=fetched.mirror).exit == 0,
        None if signer is None else signer.sign,
        lambda: run.on_output,
    )
    return GuardedWorkspace(run.sandbox, run.git, run.baseline, guards)


def _say_hooks(run: Prepared, *, fresh: bool) -> None:
    """The report names the hooks that commits will start; progress says so when they seem to be missing."""
    path, ledger = run.baseline.hooks_path, run.baseline.ledger
    active = [] if fresh else active_hooks(run.sandbox, path, run.git.environment)
    run.facts["hooks"] = {"path": path, "active": active}
    tree = SandboxTree(run.sandbox, ledger, run.git, absent=lambda name: ledger.kind(name) is None)
    note = None if active else note_on_missing_hooks(tree)
    if note is not None:
        run.progress(note)


def _guest_git(run: Prepared, environment: Mapping[str, str], hooks_path: str) -> GuestGit:
    return GuestGit(run.sandbox, environment, hooks_path, run.policy.limits.command_seconds, run.remaining)


def address_of(request: RunRequest) -> Address:
    """The checked address of the request's repository.

    Raises:
        RepositoryUnavailable: when it cannot be used, or holds a user name or password.
    """
    hosts = [CodeHost(b.git.host, b.git.repo_template, b.git.repo) for b in request.policy.policy.bindings]
    address = resolve_address(request.repository, cwd=PurePosixPath(Path.cwd()), bindings=hosts)
    # The folder itself: the gate's container has no others, so that a `..` or a link on the way would lead nowhere.
    return address if address.path is None else local_address(os.path.realpath(address.path))


def _fetch(run: Prepared, gate: Git, address: Address) -> Fetched:
    run.watch.start("fetch")
    run.audit.append("repository.fetch", {"address": address.url, "ref": run.request.ref})
    fetched = fetch(
        gate,
        address,
        run.request.ref,
        run.host.state.mirrors,
        credential=credential_of(binding_for(run.policy.bindings, address), run.host.secrets, run.scrubber.hide),
        progress=run.progress,
        limits=FetchLimits(seconds=min(_FETCH_SECONDS, run.remaining())),
    )
    run.facts["repository"] = {
        "address": address.url,
        "base_commit": fetched.base,
        "branch": fetched.branch,
        "default_branch": fetched.default_branch,
        "depth": run.request.depth,
    }
    run.audit.append("repository.fetched", run.facts["repository"])
    return fetched
