"""A run in memory: the real pipeline and the real guarded workspace over a fake sandbox, with an audit log on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.audit.forms import check_line
from runner.audit.log import AuditLog
from runner.audit.scrub import Scrubber
from runner.controller.baseline import MAX_ENTRIES, Baseline
from runner.controller.environment import command_environment
from runner.controller.guest_git import GuestGit
from runner.controller.pipeline import Pipeline
from runner.controller.workspace import GuardedWorkspace, Guards
from runner.engine.contract import FileFault, FileRefused
from runner.engine.fake import FakeCall, FakeOutcome, FakeSandbox
from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import EntryKind
from runner.policy.basis import Basis
from runner.policy.changes import BaseTree
from runner.policy.document import Policy
from runner.policy.ledger import Ledger
from runner.policy.writes import WriteRules
from runner.tools.workspace import PushedBranch, ToolWorkspace
from tests.support.clocks import ManualClock
from tests.support.policies import P0, policy

__all__ = ["FILES", "LINKS", "PUSHED", "SURE", "FakeRun", "RefusingSandbox", "code_of", "fake_run", "total"]

FILES: Mapping[str, bytes] = {
    "README.md": b"# R0\n",
    "package.json": b'{"scripts": {"hi": "echo hi"}}\n',
    "src/app.mjs": b"export const a = 1;\n",
    "src/crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "src/dup.txt": b"red\nblue\nred\n",
    "src/secret/key.txt": b"TOPSECRET-7\n",
    "docs/guide.md": b"# Guide\n",
    "docs/CHANGELOG.md": b"# Changes\n\n- first\n",
    "notes/log.md": b"a\nb\nc\n",
    "scratch/old.mjs": b"console.log('old')\n",
    ".git/config": b"[core]\n",
}
LINKS: Mapping[str, str] = {
    "src/link-out": "/etc",
    "src/link-up": "../../elsewhere",
    "src/link-docs": "../docs",
    "src/leaf": "../README.md",
    "src/near": "app.mjs",
    "src/loop": "loop",
    "top-out": "/etc/passwd",
}
PUSHED = PushedBranch("agent/x1", "a" * 40, True)
SURE = 60.0  # seconds; a bound of a wait that a passing test never uses up


class RefusingSandbox(FakeSandbox):
    """Refuses the operation of that name as soon as `refusing` says so, whatever the tree is like."""

    def __init__(self) -> None:
        super().__init__()
        self.refusing: dict[str, FileFault] = {}

    def __getattribute__(self, name: str) -> Any:
        known = object.__getattribute__(self, "__dict__").get("refusing", {})
        if name in known:

            def refuse(*_args: object, **_keys: object) -> None:
                raise FileRefused(known[name], "src/app.mjs", "as told")

            return refuse
        return object.__getattribute__(self, name)


class FakeRun:
    """One run. `call` takes arguments by name, `raw` takes whatever a door might hand over."""

    def __init__(
        self,
        folder: Path,
        document: Policy,
        sandbox: FakeSandbox,
        workspace: ToolWorkspace | None = None,
    ) -> None:
        self.policy = document
        self.sandbox = sandbox
        self.clock = ManualClock()
        self.audit_file = folder / "audit.jsonl"
        self.scrubber = Scrubber()
        self.audit = AuditLog(self.audit_file, "run1", lambda: "2026-01-01T00:00:00.000+00:00", self.scrubber)
        for path, data in FILES.items():
            sandbox.tree.put_file(path, data)
        for path, target in LINKS.items():
            sandbox.tree.put_link(path, target)
        self.programs: list[tuple[str, ...]] = sandbox.spawned
        for name in ("node", "npm", "pnpm", "mise"):
            sandbox.programs.setdefault(name, lambda _call: FakeOutcome(stdout=b"ran\n"))
        sandbox.programs.setdefault("git", _git)
        self.guarded = self._guarded(sandbox)
        deadline = self.clock.now + document.limits.run_seconds
        self.pipeline = Pipeline(workspace or self.guarded, document, self.audit, self.clock, deadline)
        self.deadline = deadline

    def _guarded(self, sandbox: FakeSandbox) -> GuardedWorkspace:
        rules = WriteRules.compile(self.policy)
        entries = sandbox.scan(max_entries=MAX_ENTRIES).entries
        self.ledger = Ledger(entries)
        bound = set(self.policy.append_only)
        kept = {e.path: FILES[e.path] for e in entries if e.kind is EntryKind.FILE and e.path in bound}
        baseline = Baseline("b" * 40, "agent/x1", "main", "/workspace/.git/hooks", self.ledger, BaseTree.of({}), kept)
        environment = command_environment(self.policy.env)
        git = GuestGit(sandbox, environment, "/workspace/.git/hooks", 30.0)
        guards = Guards(self.policy, rules, environment, self._decided, lambda: PUSHED, self._remaining)
        return GuardedWorkspace(sandbox, git, baseline, guards)

    def _decided(self, decision: Decision, basis: Basis) -> None:
        self.pipeline.on_decision(decision, basis)

    def _remaining(self) -> float:
        return max(0.1, self.deadline - self.clock.now)

    def raw(self, tool: str, arguments: object) -> dict[str, Any]:
        """The answer, proved to be total."""
        return total(self.pipeline.call(tool, arguments))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of `workspace.TOOL`, or of `git`."""
        return self.raw(tool if tool == "git" else f"workspace.{tool}", arguments)

    def events(self) -> list[dict[str, Any]]:
        """The audit log so far; each line has its published form."""
        lines = [json.loads(line) for line in self.audit_file.read_bytes().splitlines()]
        for line in lines:
            check_line(line)
        return lines

    def snapshot(self) -> dict[str, tuple[str, bytes, int]]:
        """What is in the tree: kind, content and stamp of each path, so that even a rewrite of the same bytes shows."""
        return {path: (str(n.kind), n.data, n.stamp) for path, n in self.sandbox.tree.nodes.items()}


def _git(call: FakeCall) -> FakeOutcome:
    """A git that knows no alias and otherwise says that it is git."""
    return FakeOutcome(exit=1) if "config" in call.argv else FakeOutcome(stdout=b"git\n")


@contextmanager
def fake_run(
    folder: Path,
    *,
    sandbox: FakeSandbox | None = None,
    workspace: ToolWorkspace | None = None,
    **keys: object,
) -> Iterator[FakeRun]:
    """A run under P0, with `keys` of the policy document on top."""
    run = FakeRun(folder, policy(**{**P0, **keys}), sandbox or FakeSandbox(), workspace)
    try:
        yield run
    finally:
        run.audit.close()


def total(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer; it is JSON, whole, and in one of the contract's two forms."""
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    if answer["ok"] is True:
        assert set(answer) == {"ok", "result"}
        return answer
    assert answer["ok"] is False and set(answer) == {"ok", "error"}
    error = answer["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["code"] in set(ErrorCode) and error["message"] and isinstance(error["details"], dict)
    return answer


def code_of(answer: dict[str, Any]) -> str | None:
    """The code of the refusal, None for an answer that is one."""
    return None if answer["ok"] else str(answer["error"]["code"])
