"""Where tools meet the sandbox: the policy is asked first, always (for argv in `commands`, for pushes in `push`).

Every act takes the same way: where does the path really lead (facts) → what does the policy say (decision, audited) →
do it on the real path, without following links, under the condition that it is still what was judged (effect). Policy
comes before existence and content, so that a refusal tells nothing about a file. A path that leads to itself needs no
question: the act itself, which follows no link, says so if it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from runner.controller import commands, faults
from runner.controller.baseline import Baseline
from runner.controller.commit import Sign, commit
from runner.controller.guest_git import GuestGit
from runner.controller.judged_changes import JudgedChanges
from runner.controller.revert import Undone
from runner.engine.contract import FileFault, FileRefused, Look, OutputSink, Resolved, Sandbox, SearchRequest
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange
from runner.policy.basis import Basis, OnDecision, decision_of
from runner.policy.changes import ChangeFacts, judge_changes
from runner.policy.document import Policy
from runner.policy.paths import parse_path
from runner.policy.writes import WriteOp, WriteRules
from runner.tools.workspace import (
    MAX_TOOL_FILE_BYTES,
    CommandOutcome,
    CommitOutcome,
    DirEntry,
    FileBytes,
    Found,
    PushedBranch,
    SearchQuery,
)

__all__ = ["GuardedWorkspace", "Guards"]

_MAX_LISTED = 10_000
_SEARCH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Guards:
    """What the workspace is guarded by, and what it tells: `on_decision` is called for allow and deny alike.

    `remaining` are the seconds that the run has left. `on_revert` hears of what was taken back from a command.
    `known_commit` says whether the host itself has a commit, from the remote. `sign` signs commits; None: nobody does.
    `watcher` gives whoever wants to see the output of the command at hand as it comes.
    """

    policy: Policy
    rules: WriteRules
    environment: Mapping[str, str]
    on_decision: OnDecision
    push: Callable[[], PushedBranch]
    remaining: Callable[[], float]
    on_revert: Callable[[Undone], None] = lambda _undone: None
    known_commit: Callable[[str], bool] = lambda _commit: False
    sign: Sign | None = None
    watcher: Callable[[], OutputSink | None] = lambda: None


class GuardedWorkspace:
    """`ToolWorkspace` over one sandbox."""

    def __init__(self, sandbox: Sandbox, git: GuestGit, baseline: Baseline, guards: Guards) -> None:
        self._sandbox = sandbox
        self._git = git
        self._baseline = baseline
        self._guards = guards
        self._changes = JudgedChanges(sandbox, baseline, guards)

    def read(self, path: str) -> FileBytes:
        """The bytes of a regular file beneath the root, links followed. Raises ToolError."""
        requested = parse_path(path)
        try:
            # A read follows no link, so what it gives is what is there. Whatever it refuses is asked where it leads.
            with suppress(FileRefused):
                return FileBytes(self._sandbox.read(requested, max_bytes=MAX_TOOL_FILE_BYTES).data)
            return _bytes_of(self._sandbox.look(requested, max_bytes=MAX_TOOL_FILE_BYTES), path, faults.READ)
        except FileRefused as refused:
            raise faults.tool_error(refused, faults.READ, path) from None

    def read_for_edit(self, path: str) -> FileBytes:
        """The same, once the policy allows an edit there. Raises ToolError."""
        looks: list[Look] = []

        def where(requested: str) -> Resolved:
            looks.append(self._sandbox.look(requested, max_bytes=MAX_TOOL_FILE_BYTES))
            return looks[0].where

        self._changes.writable(path, WriteOp.EDIT, where)
        return _bytes_of(looks[0], path, faults.WRITE)

    def list_dir(self, path: str) -> tuple[tuple[DirEntry, ...], bool]:
        """The entries of a folder, links followed to it but not in it. Raises ToolError."""
        real = self._real_path(path, faults.LIST)
        try:
            listing = self._sandbox.list(real, max_entries=_MAX_LISTED)
        except FileRefused as refused:
            raise faults.tool_error(refused, faults.LIST, path) from None
        return tuple(DirEntry(e.name, e.kind, e.size) for e in listing.entries), listing.truncated

    def write(self, path: str, data: bytes, *, expect: str | None = None) -> None:
        """The file has exactly `data`. Raises ToolError."""

        def put(real: str) -> None:
            if len(data) > MAX_TOOL_FILE_BYTES:
                raise FileRefused(FileFault.TOO_LARGE, real, size=len(data))
            self._changes.require_append(real, data)
            self._sandbox.write(real, data, expect=expect)

        try:
            self._changes.change(path, WriteOp.WRITE, put)
        except FileRefused as refused:
            if refused.fault is FileFault.NO_SPACE:
                raise faults.no_room(path, self._guards.policy.limits) from None
            raise faults.tool_error(refused, faults.WRITE, path) from None

    def delete(self, path: str) -> None:
        """The file or link is gone. Raises ToolError."""

        def drop(real: str) -> None:
            self._changes.require_append(real, None)
            self._sandbox.delete(real)

        try:
            self._changes.change(path, WriteOp.DELETE, drop)
        except FileRefused as refused:
            raise faults.tool_error(refused, faults.DELETE, path) from None

    def search(self, query: SearchQuery) -> tuple[tuple[Found, ...], bool]:
        """Matching lines. Raises ToolError."""
        request = SearchRequest(
            pattern=query.pattern,
            regex=query.regex,
            ignore_case=query.ignore_case,
            globs=query.globs,
            max_results=query.max_results,
            deadline_seconds=_SEARCH_SECONDS,
        )
        try:
            result = self._sandbox.search(request)
        except FileRefused as refused:
            raise faults.tool_error(refused, faults.READ, ".") from None
        if result.timed_out and not result.matches:
            raise ToolError(
                ErrorCode.SEARCH_TIMED_OUT,
                f"The search took more than {_SEARCH_SECONDS:.0f} s.",
                hint="Narrow it with globs.",
            )
        found = tuple(Found(match.path, match.line, match.text) for match in result.matches)
        return found, result.truncated or result.timed_out

    def command(self, argv: list[str], *, tool: str) -> CommandOutcome:
        """Run an allowed argv. Raises ToolError."""
        return commands.run(self._sandbox, self._git, self._baseline, self._guards, argv, tool)

    def commit(self, message: str) -> CommitOutcome:
        """Commit everything that changed. Raises ToolError, SandboxLost when the repository is gone."""
        with self._of_a_repository():
            return commit(self._git, message, self._judge, self._guards.known_commit, self._guards.sign)

    def push(self) -> PushedBranch:
        """The current branch goes through the gate. Raises ToolError, SandboxLost when the repository is gone."""
        with self._of_a_repository():
            return self._guards.push()

    @contextmanager
    def _of_a_repository(self) -> Iterator[None]:
        """Where git's failure is that what the run started from is gone, the run has ended with it."""
        try:
            yield
        except ToolError as error:
            # A commit that could not be undone says what is lost; then the next call ends the run, or its own end does.
            failed = error.code in (ErrorCode.GIT_COMMIT_FAILED, ErrorCode.GIT_PUSH_FAILED)
            if failed and "restored" not in error.details:
                self._git.require_base(self._baseline.base_commit)
            raise

    def _real_path(self, path: str, table: Mapping[FileFault, ErrorCode]) -> str:
        try:
            return self._sandbox.resolve(parse_path(path)).path
        except FileRefused as refused:
            raise faults.tool_error(refused, table, path) from None

    def _judge(self, changes: tuple[TreeChange, ...]) -> None:
        rules, base = self._guards.rules, self._baseline.base_tree
        violations = judge_changes(rules, changes, self.change_facts())
        basis = Basis.of_commit(rules, changes, base, violations)
        self._guards.on_decision(decision_of(violations, "commit.allow"), basis)
        if not violations:
            return
        first = violations[0]
        paths = ", ".join(violation.path for violation in violations[:10])
        raise ToolError(
            first.code,
            f"The commit would include what the policy forbids: {paths}.",
            rule=first.rule,
            hint="Restore those paths (git restore, or delete what was made there), then commit again.",
            details={"violations": [{"path": v.path, "rule": v.rule, "code": str(v.code)} for v in violations[:100]]},
        )

    def change_facts(self) -> ChangeFacts:
        """What `judge_changes` may ask about the commit being made."""
        return ChangeFacts(self._baseline.base_tree, self._blob)

    def _blob(self, name: str) -> bytes:
        result = self._git.run("cat-file", "blob", name)
        if result.exit != 0 or result.truncated:
            raise ToolError(ErrorCode.GIT_COMMIT_FAILED, "git could not read what would be committed.")
        return result.stdout


def _bytes_of(look: Look, path: str, table: Mapping[FileFault, ErrorCode]) -> FileBytes:
    if isinstance(look.content, FileRefused):
        raise faults.tool_error(look.content, table, path) from None
    return FileBytes(look.content.data)
