"""`workspace.git_push`: from the branch in the workspace to the recorded remote, through the gate.

1. The branch is asked of the workspace; the default branch is the host's record, made at the start.
2. The binding is looked up by the recorded address; its credential stays on this side.
3. An ordinary push to the outbox inside runs the repository's own pre-push hook, with no credential anywhere near.
4. The new objects are taken out and checked strictly; every commit that would leave is judged by the policy.
5. The gate pushes exactly that commit to exactly that branch of the recorded remote.

Steps 1 and 3 are answered by the untrusted side; 2, 4 and 5 are the boundary and believe none of it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runner.controller.bindings import binding_for, credential_of
from runner.controller.guest_git import GuestGit
from runner.controller.set_up import OUTBOX
from runner.engine.contract import SpawnRequest, SpawnResult
from runner.gate.address import Address
from runner.gate.delivery import collect_step
from runner.gate.fetch import Fetched
from runner.gate.host_git import GitFailed, HostGit
from runner.gate.outgoing import Quarantine, receive
from runner.gate.push import PushStatus, push
from runner.gate.range import OutgoingCommit, changes_of_range
from runner.model.errors import ErrorCode, RunnerError, ToolError
from runner.policy.basis import Basis, decision_of
from runner.policy.changes import ChangeFacts, Violation, judge_changes
from runner.policy.document import Binding
from runner.policy.push import decide_branch, judge_push
from runner.policy.writes import WriteRules
from runner.tools.workspace import PushedBranch

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["PushDoor"]

_MIB = 1024 * 1024
_TAIL_CHARS = 4000
_MAX_NAMED = 100
_COLLECT_SECONDS = 300.0
_BACKLOG_CHUNKS = 64  # of at most 64 KiB each, between the workspace's stream and the gate's git


class PushDoor:
    """The pushes of one run."""

    def __init__(self, run: Prepared, gate: HostGit, fetched: Fetched, address: Address, rules: WriteRules) -> None:
        self._run = run
        self._gate = gate
        self._fetched = fetched
        self._address = address
        self._rules = rules

    def push(self) -> PushedBranch:
        """The current branch is on the remote.

        Raises:
            ToolError: with a code of the tool contract; then the remote is as it was.
        """
        git = self._run.git
        branch, commit = self._current(git)  # 1
        default = self._fetched.default_branch or ""
        decision = decide_branch(self._run.policy.push, branch, default)
        self._run.on_decision(decision, Basis.of_branch(branch, default))
        decision.raise_if_denied()
        binding = self._binding()  # 2
        self._run.audit.append("push.asked", {"branch": branch, "commit": commit})
        self._to_outbox(git, branch, commit)  # 3
        with self._quarantine(commit) as quarantine:  # 4
            self._judge(quarantine)
            outcome = self._leave(quarantine, branch, binding)  # 5
        return PushedBranch(branch, commit, outcome)

    def _current(self, git: GuestGit) -> tuple[str, str]:
        full = git.line("symbolic-ref", "--quiet", "HEAD")
        commit = git.object_name("HEAD")
        if full is None or not full.startswith("refs/heads/"):
            raise _failed("HEAD is on no branch", "Switch to a branch (git switch -c NAME) and push again.")
        if commit is None:
            raise _failed("the branch has no commit", "Commit something first.")
        return full.removeprefix("refs/heads/"), commit

    def _binding(self) -> Binding:
        binding = binding_for(self._run.policy.bindings, self._address)
        if binding is None:
            raise ToolError(
                ErrorCode.PUSH_CREDENTIAL_MISSING,
                f"The policy binds no code host to {self._address.host}, so nothing can be pushed there.",
                rule="push.binding",
                hint=f"Add `bindings: [{{git: {{host: {self._address.host}}}}}]` to the policy.",
            )
        return binding

    def _to_outbox(self, git: GuestGit, branch: str, commit: str) -> None:
        # --no-replace-objects and a full refspec: what is pushed is the commit that was named, to that branch only.
        result = git.run("push", "--porcelain", "--", OUTBOX, f"{commit}:refs/heads/{branch}", hooks=True)
        if result.exit != 0:
            raise _failed(_words(result), "Mend what it says and push again; nothing left the workspace.")

    def _quarantine(self, commit: str) -> Quarantine:
        maximum = self._run.policy.push.max_mib * _MIB
        scratch = self._run.record.folder / "quarantine"
        with _OutgoingPack(self._run, self._fetched, commit) as pack:
            return receive(self._gate, self._fetched, pack.chunks(), commit, max_bytes=maximum, scratch=scratch)

    def _judge(self, quarantine: Quarantine) -> None:
        rules = self._run.policy.push
        try:
            commits = changes_of_range(quarantine, max_commits=rules.max_commits)
            found = [(commit.changes, self._violations(quarantine, commit)) for commit in commits]
        except GitFailed as failure:
            raise _violation(f"the outgoing commits could not be listed: {failure}", []) from failure
        violations = [violation for _, of_commit in found for violation in of_commit]
        basis = Basis.of_push(self._rules, found, self._run.baseline.base_tree, rules.max_mib)
        self._run.on_decision(decision_of(violations, "push.allow"), basis)
        if violations:
            named = ", ".join(sorted({violation.path for violation in violations})[:10])
            only_append = all(violation.code is ErrorCode.WORKSPACE_APPEND_ONLY for violation in violations)
            raise _violation(f"the outgoing commits change what the policy forbids: {named}", violations, only_append)

    def _violations(self, quarantine: Quarantine, commit: OutgoingCommit) -> list[Violation]:
        maximum = self._run.policy.limits.file_mib * _MIB
        facts = ChangeFacts(self._run.baseline.base_tree, lambda name: quarantine.blob(name, max_bytes=maximum))
        found = judge_changes(self._rules, commit.changes, facts)
        return [*found, *judge_push(self._run.policy.push, commit.changes, commits=1, pack_bytes=0)]

    def _leave(self, quarantine: Quarantine, branch: str, binding: Binding) -> bool:
        credential = credential_of(binding, self._run.host.secrets)
        self._run.audit.append("push.leaving", {"branch": branch, "commit": quarantine.commit})
        outcome = push(self._gate, quarantine, self._fetched, branch, credential=credential)
        self._run.audit.append("push.done", {"branch": branch, "status": str(outcome.status)})
        if outcome.status is PushStatus.REFUSED:
            raise _failed(outcome.reason, "Nothing was pushed. Bring the branch up to date, or mend what it says.")
        return outcome.status is PushStatus.PUSHED


class _OutgoingPack:
    """The pack as it streams out of the workspace, pulled by the gate while a thread serves the sandbox's stream."""

    def __init__(self, run: Prepared, fetched: Fetched, commit: str) -> None:
        self._run = run
        self._step = collect_step(fetched, commit, outbox=OUTBOX)
        self._chunks: queue.Queue[bytes | None] = queue.Queue(_BACKLOG_CHUNKS)
        self._abandoned = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._collect, name="outgoing-pack", daemon=True)

    def __enter__(self) -> _OutgoingPack:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The gate has stopped reading, at the end or because it refused: the sandbox's program must end too.
        self._abandoned.set()
        if self._thread.is_alive():
            self._run.sandbox.cancel()
        while self._thread.is_alive():
            self._drain()
            self._thread.join(0.05)

    def chunks(self) -> Iterator[bytes]:
        """The pack's bytes. Raises ToolError when the workspace's git failed."""
        while (chunk := self._chunks.get()) is not None:
            yield chunk
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _collect(self) -> None:
        try:
            request = SpawnRequest(
                self._step.argv,
                self._run.git.environment,
                _COLLECT_SECONDS,
                output_cap_bytes=(self._run.policy.push.max_mib + 1) * _MIB,
                stdin=[self._step.stdin],
                sink=self._take,
                kill_at_cap=True,
            )
            result = self._run.sandbox.spawn(request)
            if result.exit != 0 and not result.truncated:
                raise _failed(f"git could not pack what would leave: {_words(result)}", "Check it with git fsck.")
        except (RunnerError, ToolError) as error:
            self._failure = error
        finally:
            self._chunks.put(None)

    def _take(self, name: str, data: bytes) -> None:
        if name == "stdout" and not self._abandoned.is_set():
            self._chunks.put(data)

    def _drain(self) -> None:
        while not self._chunks.empty():
            self._chunks.get_nowait()


def _words(result: SpawnResult) -> str:
    if result.timed_out:
        return "it ran into its time limit"
    said = (result.stderr + b"\n" + result.stdout).decode("utf-8", "replace").strip()
    return said[-_TAIL_CHARS:] or f"git ended with {result.exit}"


def _failed(why: str, hint: str) -> ToolError:
    return ToolError(ErrorCode.GIT_PUSH_FAILED, f"git did not push: {why}.", hint=hint, details={"output": why})


def _violation(why: str, violations: list[Violation], append_only: bool = False) -> ToolError:
    named = [{"path": v.path, "rule": v.rule, "code": str(v.code)} for v in violations[:_MAX_NAMED]]
    return ToolError(
        ErrorCode.WORKSPACE_APPEND_ONLY if append_only else ErrorCode.PUSH_POLICY_VIOLATION,
        f"Nothing was pushed: {why}.",
        rule=violations[0].rule if violations else "push.objects",
        hint="Undo those changes in every commit that would leave (git reset --soft BASE, then commit anew).",
        details={"violations": named},
    )
