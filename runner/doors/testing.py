"""A workspace in memory, for the tests of programs that use this package: no engine, no container, no git.

The tools, the policy, the budget and the audit log are the real ones; the tree is in memory, and a program of the
workspace is a function that you give. A program that has none is not found. `git` answers nothing unless given.

```python
import runner

def vitest(call: runner.testing.Call) -> runner.testing.Outcome:
    return runner.testing.Outcome(stdout=b"1 passed")

with runner.testing.open_run({"src/a.mjs": "export const a = 1;"}, programs={"pnpm": vitest}) as ws:
    assert "a = 1" in ws.read_file("src/a.mjs")
```
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from runner.audit.log import AuditLog
from runner.audit.scrub import Scrubber
from runner.controller.baseline import MAX_ENTRIES, Baseline
from runner.controller.environment import command_environment
from runner.controller.guest_git import GuestGit
from runner.controller.held import Ending
from runner.controller.pipeline import Pipeline
from runner.controller.spec import RunRequest
from runner.controller.workspace import GuardedWorkspace, Guards
from runner.doors.asking import DEFAULT_POLICY, NarrowSource, PolicySource, request_of
from runner.doors.python import OnOutput, Workspace
from runner.engine.fake import FakeCall as Call
from runner.engine.fake import FakeOutcome as Outcome
from runner.engine.fake import FakeSandbox
from runner.model.errors import ErrorCode, ExitCode, ToolError
from runner.model.tree import EntryKind
from runner.policy.basis import Basis
from runner.policy.changes import BaseTree
from runner.policy.ledger import Ledger
from runner.policy.writes import PathFacts, WriteRules, must_append
from runner.tools.workspace import PushedBranch

__all__ = ["Call", "Outcome", "Program", "open_run"]

Program = Callable[[Call], Outcome]

_RUN_ID = "intests"
_BASE = "b" * 40
_GIT_SECONDS = 30.0


class _InMemory:
    """An open run over a sandbox in memory; see `runner.doors.python.Open`."""

    def __init__(self, folder: Path, sandbox: FakeSandbox, request: RunRequest) -> None:
        self._declared = request.tools
        self._folder = folder
        self._ended: Ending | None = None
        self._turn = threading.Lock()
        self._seq = 0
        self._sandbox = sandbox
        self._deadline = time.monotonic() + request.policy.policy.limits.run_seconds
        self._on_output: OnOutput | None = None
        self._audit = AuditLog(folder / "audit.jsonl", _RUN_ID, lambda: "1970-01-01T00:00:00.000+00:00", Scrubber())
        workspace = self._guarded(request.policy.policy)
        self._pipeline = Pipeline(workspace, request.policy.policy, self._audit, time.monotonic, self._deadline)

    def _guarded(self, policy: Any) -> GuardedWorkspace:
        rules = WriteRules.compile(policy)
        entries = self._sandbox.scan(max_entries=MAX_ENTRIES).entries
        kept = {
            entry.path: self._sandbox.tree.nodes[entry.path].data
            for entry in entries
            if entry.kind is EntryKind.FILE and must_append(rules, PathFacts(entry.path, False, True))
        }
        hooks = "/workspace/.git/hooks"
        baseline = Baseline(_BASE, "work", "main", hooks, Ledger(entries), BaseTree.of({}), kept)
        environment = command_environment(policy.env)
        guards = Guards(
            policy,
            rules,
            environment,
            lambda decision, basis: self._decided(decision, basis),
            _no_push,
            lambda: max(0.1, self.seconds_left),
            watcher=lambda: self._on_output,
        )
        return GuardedWorkspace(
            self._sandbox, GuestGit(self._sandbox, environment, hooks, _GIT_SECONDS), baseline, guards
        )

    def _decided(self, decision: Any, basis: Basis) -> None:
        self._pipeline.on_decision(decision, basis)

    @property
    def run_id(self) -> str:
        return _RUN_ID

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def seconds_left(self) -> float:
        return 0.0 if self.ended else max(0.0, self._deadline - time.monotonic())

    @property
    def ended(self) -> bool:
        return self._ended is not None

    def call(self, tool: str, arguments: object, *, on_output: OnOutput | None = None) -> dict[str, Any]:
        with self._turn:
            self._seq += 1
            self._on_output = on_output
            answer = self._answer(tool, arguments)
            return {"seq": self._seq, "tool": tool, **answer, "duration_ms": 0.0}

    def _answer(self, tool: str, arguments: object) -> dict[str, Any]:
        if self._ended is not None:
            error = ToolError(ErrorCode.RUN_ENDED, "The run has ended.", hint="Open another run.")
            return {"ok": False, "error": error.as_json()}
        if tool not in self._declared and self._pipeline.knows(tool):
            return self._pipeline.refuse(
                tool, ToolError(ErrorCode.TOOL_NOT_DECLARED, "The task does not declare this tool.")
            )
        return self._pipeline.call(tool, arguments)

    def cancel(self, seq: int | None = None) -> bool:
        running = self._turn.locked() and seq in (None, self._seq)
        if running:
            self._sandbox.cancel()
        return running

    def close(self) -> Ending:
        return self._end("completed", ExitCode.COMPLETED)

    def interrupt(self) -> Ending:
        return self._end("interrupted", ExitCode.INTERRUPTED)

    def _end(self, status: str, code: ExitCode) -> Ending:
        with self._turn:
            if self._ended is None:
                self._audit.close()
                self._ended = Ending(_RUN_ID, status, code, None, "", self._folder, None)
            return self._ended


def _no_push() -> PushedBranch:
    raise ToolError(ErrorCode.GIT_PUSH_FAILED, "A workspace in memory has no remote.")


def open_run(
    files: Mapping[str, str | bytes] | None = None,
    *,
    policy: PolicySource = DEFAULT_POLICY,
    narrow: Sequence[NarrowSource] | None = None,
    programs: Mapping[str, Program] | None = None,
    tools: Iterable[str] | None = None,
) -> Workspace:
    """A workspace in memory with those files, under that policy as it is narrowed, whose programs are those functions.

    Raises:
        PolicyInvalid: the policy cannot take effect, or what is to narrow it would widen it.
    """
    request = request_of("in-memory", policy=policy, narrow=narrow, tools=tools)
    sandbox = FakeSandbox()
    for path, content in (files or {}).items():
        sandbox.tree.put_file(path, content.encode() if isinstance(content, str) else content)
    sandbox.programs.setdefault("git", _git)
    sandbox.programs.update(programs or {})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="runner-testing-")))
        return Workspace(_InMemory(folder, sandbox, request), stack.pop_all())


def _git(call: Call) -> Outcome:
    """A git that knows no alias and otherwise does nothing."""
    return Outcome(exit=1) if "config" in call.argv else Outcome()
