"""What was there when the run started: the ground that provenance, append-only and push are judged on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.controller.base_tree import BaseListing
from runner.controller.guest_git import GuestGit
from runner.controller.originals import Originals, take_originals
from runner.engine.contract import FileRefused, Sandbox, Scan
from runner.gate.fetch import Fetched
from runner.gate.git import Git
from runner.model.errors import RunLimitReached
from runner.model.tree import EntryKind, ScanEntry
from runner.policy.changes import BaseTree
from runner.policy.ledger import Ledger, LedgerDelta
from runner.policy.writes import PathFacts, WriteRules, must_append

__all__ = ["MAX_ENTRIES", "Baseline", "bring_up_to_date", "take_baseline", "take_in", "whole_scan"]

MAX_ENTRIES = 1_000_000
"""Paths in a workspace that a run keeps account of. Beyond it a run does not start."""

_FEWER = "Make fewer files, or lower limits.workspaceInodes."
_MAX_APPEND_ONLY_BYTES = 64 * 1024 * 1024  # all append-only files of a run together, kept in the controller's memory


@dataclass(slots=True)
class Baseline:
    """Taken once, after set-up and before the first call.

    `base_tree` is the tree of the base commit, from the host's own mirror. `append_only` holds the content of each
    append-only file as it stood in the workspace. `ledger` is the only part that moves on, with each scan. `originals`
    is there where the policy takes back what commands write.
    """

    base_commit: str
    branch: str | None
    default_branch: str | None
    hooks_path: str
    ledger: Ledger
    base_tree: BaseTree
    append_only: Mapping[str, bytes]
    originals: Originals | None = None


def take_baseline(
    sandbox: Sandbox,
    git: GuestGit,
    gate: Git,
    fetched: Fetched,
    base: BaseListing,
    rules: WriteRules,
    *,
    revert: bool = False,
    fresh: bool = False,
) -> Baseline:
    """The workspace as it stands now; with `revert`, so that it can be put back.

    `fresh` says that no program of the set-up has run: then the clone's settings and hooks are as the host wrote them.

    Raises:
        RunLimitReached: when it has more paths than can be kept account of.
        SandboxLost: when set-up has removed the repository, or closed its folder.
    """
    scan = whole_scan(sandbox, "Check out less, or install less in set-up.")
    return Baseline(
        base_commit=fetched.base,
        branch=fetched.branch,
        default_branch=fetched.default_branch,
        hooks_path=(None if fresh else _hooks_path(git, fetched.base)) or "/workspace/.git/hooks",
        ledger=Ledger(scan.entries),
        base_tree=BaseTree.of(base.objects),
        append_only=_append_only(sandbox, rules, scan.entries),
        originals=take_originals(sandbox, git, gate, fetched, rules, scan.entries) if revert else None,
    )


def bring_up_to_date(sandbox: Sandbox, ledger: Ledger) -> LedgerDelta:
    """The ledger knows the tree as it is now; returned is what differs from what it knew.

    Raises:
        RunLimitReached: when the tree has outgrown what can be kept account of. A scan that was cut short must not
            reach the ledger: what it left out would count as never made by the run.
    """
    return take_in(sandbox.scan(max_entries=MAX_ENTRIES), ledger)


def take_in(scan: Scan, ledger: Ledger) -> LedgerDelta:
    """The same, by a scan of at most `MAX_ENTRIES` that somebody has made."""
    _require_whole(scan, _FEWER)
    return ledger.apply(scan.entries, scan.removed)


def whole_scan(sandbox: Sandbox, hint: str = _FEWER) -> Scan:
    """What changed since the last scan, all of it.

    Raises:
        RunLimitReached: when the workspace has more paths than can be kept account of.
    """
    scan = sandbox.scan(max_entries=MAX_ENTRIES)
    _require_whole(scan, hint)
    return scan


def _require_whole(scan: Scan, hint: str) -> None:
    if scan.truncated:
        raise RunLimitReached(
            f"the workspace has more paths than can be kept account of ({MAX_ENTRIES}, or 192 MiB of names)", hint=hint
        )


def _hooks_path(git: GuestGit, base: str) -> str | None:
    """Where set-up pointed git's hooks, None where it didn't. Asked of the files, not of our own command line."""
    result = git.run("config", "--local", "--includes", "--type=path", "--get", "core.hooksPath")
    if result.exit not in (0, 1):
        git.require_base(base)
    said = result.stdout.decode("utf-8", "surrogateescape").rstrip("\n")
    return said if result.exit == 0 and said else None


def _bound(rules: WriteRules, path: str) -> bool:
    return must_append(rules, PathFacts(path, via_link=False, existed_at_start=True))


def _append_only(sandbox: Sandbox, rules: WriteRules, entries: tuple[ScanEntry, ...]) -> dict[str, bytes]:
    kept: dict[str, bytes] = {}
    room = _MAX_APPEND_ONLY_BYTES
    for entry in entries:
        if entry.kind is not EntryKind.FILE or not _bound(rules, entry.path):
            continue
        try:
            kept[entry.path] = sandbox.read(entry.path, max_bytes=room).data
        except FileRefused as refused:
            raise RunLimitReached(
                f"the append-only file {entry.path} cannot be kept account of ({refused.fault})",
                hint="Append-only files may hold 64 MiB together; narrow `appendOnly`.",
            ) from None
        room -= len(kept[entry.path])
    return kept
