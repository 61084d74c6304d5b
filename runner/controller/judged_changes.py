"""How a path is changed: where does it really lead, what does the policy say of that, and only then the act.

A path that leads to itself, as most do, takes one round trip for all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runner.controller import faults
from runner.controller.baseline import Baseline
from runner.engine.contract import FileFault, FileRefused, Resolved, Sandbox
from runner.model.tree import EntryKind
from runner.policy.append_only import decide_append, first_lost_line
from runner.policy.basis import Basis
from runner.policy.paths import parse_write_path
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, decide_write

if TYPE_CHECKING:
    from runner.controller.workspace import Guards

__all__ = ["JudgedChanges"]


class JudgedChanges:
    """The changes that file tools make in one workspace, each judged by the policy and told before it is made."""

    def __init__(self, sandbox: Sandbox, baseline: Baseline, guards: Guards) -> None:
        self._sandbox = sandbox
        self._baseline = baseline
        self._guards = guards

    def change(self, path: str, op: WriteOp, act: Callable[[str], None]) -> None:
        """`act` has been done on the real path, which the policy gave for `op`. Raises ToolError, FileRefused.

        `act` follows no link. So a path that looks as if it led to itself is judged as what it says and acted on at
        once, without asking where it leads: if it leads elsewhere after all, nothing is done, and the question is put.
        """
        requested = parse_write_path(path)
        if not (self._looks_direct(requested, op) and self._done_as_named(requested, op, act)):
            act(self.writable(path, op))

    def _done_as_named(self, requested: str, op: WriteOp, act: Callable[[str], None]) -> bool:
        """Whether `act` was done on the path as it is written; nothing was where the policy says no, or a link was met.

        Only an allowance is made use of and written down here: what is refused is refused for where it really leads.
        """
        facts = PathFacts(requested, False, self._baseline.ledger.existed_at_start(requested))
        intent = WriteIntent(op, requested)
        decision = decide_write(self._guards.rules, intent, facts)
        if not decision.allowed:
            return False
        self._guards.on_decision(decision, Basis.of_write(intent, facts))
        try:
            act(requested)
        except FileRefused as refused:
            if refused.fault is not FileFault.LINK:
                raise
            return False
        return True

    def _looks_direct(self, requested: str, op: WriteOp) -> bool:
        """Whether the last scan saw no link on the way; for a delete, which is about the link itself, above it."""
        parts = requested.split("/")
        followed = len(parts) if op is not WriteOp.DELETE else len(parts) - 1
        kind = self._baseline.ledger.kind
        on_the_way = (kind("/".join(parts[:depth])) for depth in range(1, followed + 1))
        return not {".", ".."} & {*parts} and EntryKind.SYMLINK not in on_the_way

    def writable(self, path: str, op: WriteOp, resolve: Callable[[str], Resolved] | None = None) -> str:
        """The real path, once the policy allows `op` there. `resolve` says where the path leads."""
        requested = parse_write_path(path)
        table = faults.DELETE if op is WriteOp.DELETE else faults.WRITE
        try:
            where = self._resolve_for_write(requested, op) if resolve is None else resolve(requested)
        except FileRefused as refused:
            # Nothing is known of what is there; the policy's word on the path as written still comes first.
            self._decide(WriteIntent(op, requested), PathFacts(requested, via_link=False, existed_at_start=False))
            raise faults.tool_error(refused, table, path) from None
        ledger = self._baseline.ledger
        facts = PathFacts(
            real_path=where.path,
            via_link=where.via_link,
            existed_at_start=ledger.existed_at_start(where.path),
        )
        self._decide(WriteIntent(op, requested), facts)
        return where.path

    def _resolve_for_write(self, requested: str, op: WriteOp) -> Resolved:
        """As `resolve`, but a delete is about the link itself: only its parent is followed."""
        if op is not WriteOp.DELETE:
            return self._sandbox.resolve(requested)
        parent, _, name = requested.rpartition("/")
        above = self._sandbox.resolve(parent or ".")
        inner = name if above.path == "." else f"{above.path}/{name}"
        return Resolved(inner, above.exists, None, 0, 0, 1, via_link=above.via_link)

    def _decide(self, intent: WriteIntent, facts: PathFacts) -> None:
        decision = decide_write(self._guards.rules, intent, facts)
        self._guards.on_decision(decision, Basis.of_write(intent, facts))
        decision.raise_if_denied()

    def require_append(self, real: str, data: bytes | None) -> None:
        """Nothing happens where `data` keeps the lines that an add-only file had; None deletes it. Raises ToolError."""
        base = self._baseline.append_only.get(real)
        if base is None:
            return
        decision = decide_append(base, data)
        lost = None if data is None or decision.allowed else first_lost_line(base, data)
        self._guards.on_decision(decision, Basis.of_append(real, lost))
        decision.raise_if_denied()
