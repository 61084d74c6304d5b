"""`workspace.git_push`: from the branch in the workspace to the recorded remote, through the gate.

1. The branch is asked of the workspace; the default branch is the host's record, made at the start.
2. The binding is looked up by the recorded address; its credential stays on this side. The gate asks the remote what
   it has now.
3. An ordinary push to the outbox inside runs the repository's own pre-push hook, with no credential anywhere near. The
   outbox is made anew each time, with the branch as the remote has it, so that the hook is told the truth and what was
   refused before is not in the way.
4. The new objects are taken out and checked strictly; every commit that would leave is judged by the policy.
5. The gate pushes exactly that commit to exactly that branch of the recorded remote.

Steps 1 and 3 are answered by the untrusted side; 2, 4 and 5 are the boundary and believe none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from runner.controller.bindings import binding_for, credential_of
from runner.controller.gate_rooms import judging_git, quarantine_folder
from runner.controller.guest_git import GuestGit
from runner.controller.outgoing_pack import OutgoingPack, push_failed, words
from runner.controller.set_up import OUTBOX
from runner.engine.contract import SpawnRequest
from runner.gate.address import Address
from runner.gate.credentials import CredentialSource
from runner.gate.delivery import Delivered, outbox_steps
from runner.gate.fetch import Fetched
from runner.gate.git import Git, GitFailed
from runner.gate.outgoing import Quarantine, receive
from runner.gate.push import PUSH_SECONDS, PushStatus, push
from runner.gate.range import Known, Side, changes_of_range, trees_of_known
from runner.gate.refs import HEADS
from runner.gate.remote_now import remote_now
from runner.model.errors import ErrorCode, ToolError
from runner.policy.basis import Basis, push_decision_of
from runner.policy.changes import BaseTree, ChangeFacts, JudgedChanges, Violation, judge_changes, leading
from runner.policy.document import Binding
from runner.policy.push import decide_branch, judge_push
from runner.policy.writes import WriteRules
from runner.tools.workspace import PushedBranch

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["PushDoor"]

_MIB = 1024 * 1024
_MAX_NAMED = 100
_STEP_OUTPUT_BYTES = 65536  # what the making of the outbox may say when it fails


class PushDoor:
    """The pushes of one run."""

    def __init__(
        self, run: Prepared, gate: Git, fetched: Fetched, delivered: Delivered, address: Address, rules: WriteRules
    ) -> None:
        self._run = run
        self._gate = gate
        self._fetched = fetched
        self._delivered = delivered  # what the workspace can be asked about; judged is against all that was fetched
        self._address = address
        self._rules = rules
        self._own: dict[str, Known] = {}  # what this run brought to the remote, judged: it stays the run's own

    def push(self) -> PushedBranch:
        """The current branch is on the remote.

        Raises:
            ToolError: with a code of the tool contract; then the remote is as it was.
        """
        git = self._run.git
        branch, commit = self._current(git)  # 1
        default = self._fetched.default_branch
        decision = decide_branch(self._run.policy, branch, default)
        self._run.on_decision(decision, Basis.of_branch(branch, default))
        decision.raise_if_denied()
        credential = credential_of(self._binding(), self._run.host.secrets, self._run.scrubber.hide)  # 2
        self._run.audit.append("push.asked", {"branch": branch, "commit": commit})
        now = remote_now(self._gate, self._fetched, credential=credential)
        self._to_outbox(git, branch, commit, now.get(HEADS + branch))  # 3
        with ExitStack() as stack:
            with judging_git(self._run, self._gate, self._fetched.mirror) as judge:  # 4
                quarantine = stack.enter_context(self._quarantine(judge, commit, now))
                self._run.canary.require_absent(quarantine, self._run.policy.limits.file_mib * _MIB)
                self._judge(quarantine)
            outcome = self._leave(quarantine, branch, credential)  # 5
        return PushedBranch(branch, commit, outcome)

    def _current(self, git: GuestGit) -> tuple[str, str]:
        full = git.line("symbolic-ref", "--quiet", "HEAD")
        commit = git.object_name("HEAD")
        if full is None or not full.startswith(HEADS):
            raise push_failed("HEAD is on no branch", "Switch to a branch (git switch -c NAME) and push again.")
        if commit is None:
            raise push_failed("the branch has no commit", "Commit something first.")
        return full.removeprefix(HEADS), commit

    def _binding(self) -> Binding:
        binding = binding_for(self._run.policy.bindings, self._address)
        if binding is None:
            raise ToolError(
                ErrorCode.PUSH_CREDENTIAL_MISSING,
                f"The policy has no binding for {_host(self._address)}, so nothing can be pushed there.",
                rule="push.binding",
                hint=f"Add `bindings: [{{git: {{host: {self._address.host}}}}}]` to the policy.",
            )
        return binding

    def _to_outbox(self, git: GuestGit, branch: str, commit: str, present: str | None) -> None:
        """The outbox, which had the branch at `present` as the remote has, accepted the commit, and so did the hook."""
        if present is not None and git.object_name(present) != present:
            raise push_failed(
                f"the remote has {branch} at {present}, which the workspace does not have",
                "Others pushed to this branch since the run started. Push to a branch of another name.",
            )
        if present is not None and git.run("merge-base", "--is-ancestor", present, commit).exit != 0:
            raise push_failed(
                f"{branch} is on the remote with other commits (non-fast-forward), and history is never rewritten",
                f"Push under another name (git switch -c NAME), or start a run from it (--ref {branch}).",
            )
        there = {} if present is None else {HEADS + branch: present}
        for step in outbox_steps(there, outbox=OUTBOX, shallow=self._delivered.shallow):
            seconds = min(git.deadline_seconds, self._run.remaining())
            request = SpawnRequest(step.argv, git.environment, seconds, _STEP_OUTPUT_BYTES, stdin=step.input())
            made = self._run.sandbox.spawn(request)
            if made.exit != 0:
                raise push_failed(f"{step.why} could not be made ready: {words(made)}", "Free space in /home/agent.")
        # --no-replace-objects and a full refspec: what is pushed is the commit that was named, to that branch only.
        result = git.run("push", "--porcelain", "--", OUTBOX, f"{commit}:{HEADS}{branch}", hooks=True)
        if result.exit != 0:
            raise push_failed(words(result), "Mend what it says and push again; nothing left the workspace.")

    def _quarantine(self, judge: Git, commit: str, now: Mapping[str, str]) -> Quarantine:
        maximum = self._run.policy.push.max_mib * _MIB
        scratch = quarantine_folder(self._run.record)
        with OutgoingPack(self._run, self._delivered.fetched, commit) as pack:
            chunks = pack.chunks()
            return receive(judge, self._fetched, chunks, commit, now=now, max_bytes=maximum, scratch=scratch)

    def _judge(self, quarantine: Quarantine) -> None:
        rules = self._run.policy.push
        try:
            commits = changes_of_range(quarantine, max_commits=rules.max_commits, own=self._own)
            known = {name: BaseTree.of(blobs) for name, blobs in trees_of_known(quarantine, commits).items()}
            judged = [[self._judged(quarantine, side, known) for side in commit.sides] for commit in commits]
        except GitFailed as failure:
            raise _violation(f"the outgoing commits could not be listed: {failure}", []) from failure
        violations = [violation for of_commit in judged for part in of_commit for violation in part.found]
        basis = Basis.of_push(self._rules, judged, rules.max_mib)
        self._run.on_decision(push_decision_of(violations), basis)
        if violations:
            named = ", ".join(sorted({violation.path for violation in violations})[:10])
            only_append = all(violation.code is ErrorCode.WORKSPACE_APPEND_ONLY for violation in violations)
            raise _violation(f"the outgoing commits change what the policy forbids: {named}", violations, only_append)
        self._own.update((commit.commit, commit.known) for commit in commits)

    def _judged(self, quarantine: Quarantine, side: Side, known: Mapping[str, BaseTree]) -> JudgedChanges:
        maximum = self._run.policy.limits.file_mib * _MIB
        base = self._run.baseline.base_tree.joined([known[name] for name in sorted(side.known) if name in known])
        facts = ChangeFacts(base, lambda name: quarantine.blob(name, max_bytes=maximum))
        found = judge_changes(self._rules, side.changes, facts)
        forbidden = judge_push(self._run.policy.push, side.changes)
        return JudgedChanges(side.changes, (*found, *forbidden), base)

    def _leave(self, quarantine: Quarantine, branch: str, credential: CredentialSource | None) -> bool:
        self._run.audit.append("push.leaving", {"branch": branch, "commit": quarantine.commit})
        seconds = min(PUSH_SECONDS, self._run.remaining())  # a code host that never answers does not outlive the run
        outcome = push(self._gate, quarantine, self._fetched, branch, credential=credential, deadline_seconds=seconds)
        told = {"branch": branch, "commit": quarantine.commit, "status": str(outcome.status)}
        self._run.audit.append("push.done", told)
        left = {"branch": branch, "commit": quarantine.commit, "remote": self._address.url}
        self._run.pushes.append({**left, "status": str(outcome.status)})
        if outcome.status is PushStatus.REFUSED:
            raise push_failed(outcome.reason, "Nothing was pushed. Bring the branch up to date, or mend what it says.")
        return outcome.status is PushStatus.PUSHED


def _host(address: Address) -> str:
    return "local repositories (`file`)" if address.path is not None else address.host


def _violation(why: str, violations: list[Violation], append_only: bool = False) -> ToolError:
    named = [{"path": v.path, "rule": v.rule, "code": str(v.code)} for v in violations[:_MAX_NAMED]]
    return ToolError(
        ErrorCode.WORKSPACE_APPEND_ONLY if append_only else ErrorCode.PUSH_POLICY_VIOLATION,
        f"Nothing was pushed: {why}.",
        rule=leading(violations).rule if violations else "push.objects",
        hint="Undo those changes in every commit that would leave (git reset --soft BASE, then commit anew).",
        details={"violations": named},
    )
