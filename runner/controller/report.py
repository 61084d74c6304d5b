"""What is left of a run, on the host: report, log, patch, outputs and page, for `--out` and for the record.

The patch is made by git inside the workspace, so it is untrusted text: it is written as bytes, bounded, and never
applied or shown by us.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.audit.canary import CanaryStream
from runner.audit.seal import RECEIPT, SAID
from runner.controller.guest_git import GuestGit, hex_name
from runner.controller.records import as_text
from runner.controller.spec import RunRequest
from runner.gate.address import Address
from runner.model.errors import RunnerError, UsageError
from runner.model.version import VERSION

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared
    from runner.controller.run import Run

__all__ = [
    "NO_CHANGES",
    "OUTPUTS",
    "PAGE",
    "hand_over",
    "intent",
    "intent_facts",
    "write",
    "write_changes",
    "write_out",
]

REPORT_VERSION = 1
PAGE = "report.html"
OUTPUTS = ("report.json", "audit.jsonl", RECEIPT, "changes.patch", SAID, PAGE)
_MAX_PATCH_BYTES = 64 * 1024 * 1024
_MAX_LISTED_FILES = 1000
_PATCH_SECONDS = 30.0
NO_CHANGES: dict[str, Any] = {
    "files": [],
    "file_count": 0,
    "paths_sha256": hashlib.sha256(b"").hexdigest(),
    "patch_bytes": 0,
    "truncated": False,
    "failed": True,
}
"""What the report has instead of changes that could not be told."""


def intent_facts(request: RunRequest, address: Address | None) -> dict[str, Any]:
    """What the run was asked to be. The address as it was checked: what was typed may hold a secret."""
    return {
        "version": VERSION,
        "repository": None if address is None else address.url,
        "ref": request.ref,
        "depth": request.depth,
        "policy": request.policy.name,
        "policy_sha256": request.policy.digest,
        "tools": sorted(request.tools),
    }


def intent(run_id: str, request: RunRequest, address: Address | None, at: str, deadline_unix: int) -> dict[str, Any]:
    """What is on disk before anything of the run exists."""
    told = {"run": run_id, "started": at, "deadline_unix": deadline_unix, "limits": _limits(request)}
    return {**told, **intent_facts(request, address)}


def _limits(request: RunRequest) -> dict[str, Any]:
    return request.policy.policy.limits.model_dump(by_alias=True)


class _PatchFile:
    """Takes the patch as it streams; stops taking at its bound."""

    def __init__(self, path: Path, canary: CanaryStream) -> None:
        self._file = path.open("wb")
        self._canary = canary
        self.size = 0
        self.truncated = False

    def __call__(self, name: str, data: bytes) -> None:
        if name != "stdout":
            return
        self._canary.take(data)
        kept = data[: _MAX_PATCH_BYTES - self.size]
        self._file.write(kept)
        self.size += len(kept)
        self.truncated = self.truncated or len(kept) < len(data)

    def close(self) -> None:
        self._file.close()


def write_changes(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """`changes.patch` holds everything that differs from the base commit, committed or not, ignored files left out.

    Raises:
        SandboxLost: when the workspace is gone.
    """
    # The run's own time may be used up, which is when the patch matters most: it has a few seconds of its own.
    give_up = prepared.host.monotonic() + _PATCH_SECONDS
    git = replace(prepared.git, remaining=lambda: max(0.1, give_up - prepared.host.monotonic()))
    tree = _present_tree(git)
    canary = prepared.canary.stream()
    patch = _PatchFile(folder / "changes.patch", canary)
    try:
        if tree is None:
            return NO_CHANGES
        base = prepared.baseline.base_commit
        diff = ("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", base, tree)
        made = git.run(*diff, "--binary", "--full-index", sink=patch)
        names = git.run(*diff, "--name-only", "-z").stdout
    finally:
        patch.close()
    canary.take(names)
    if canary.seen:
        prepared.canary.tell("changes")
    files = [name.decode("utf-8", "replace") for name in names.split(b"\0") if name]
    return {
        "files": files[:_MAX_LISTED_FILES],
        "file_count": len(files),
        "paths_sha256": hashlib.sha256(names).hexdigest(),  # of `git diff --name-only -z`
        "patch_bytes": patch.size,
        "truncated": patch.truncated or made.truncated,
        "failed": made.exit != 0,
    }


def _present_tree(git: GuestGit) -> str | None:
    """The tree of the workspace as it stands, made in an index whose name nobody inside could know."""
    index = f"/tmp/runner-report-{secrets.token_hex(8)}"  # noqa: S108 - inside the container
    if git.run("read-tree", "HEAD", index=index).exit != 0 or git.run("add", "-A", index=index).exit != 0:
        return None
    written = git.run("write-tree", index=index)
    return hex_name(written.stdout.decode("ascii", "replace")) if written.exit == 0 else None


def write(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> None:
    """The report is in the run's folder, without secrets: it holds what programs of the set-up said."""
    prepared.record.note("report.json", _scrubbed(prepared, run, teardown))


def write_out(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> None:
    """The report is in `--out`, when that was asked for, although the run's own folder could not take it."""
    if prepared.request.out is not None:
        text = as_text(_scrubbed(prepared, run, teardown))
        (prepared.request.out / "report.json").write_text(text, encoding="ascii")


def _scrubbed(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = prepared.scrubber.value(_report(prepared, run, teardown))
    return facts


def hand_over(prepared: Prepared) -> None:
    """Everything is in `--out`, when that was asked for.

    Raises:
        UsageError: when it cannot be written; the record in the state folder is complete all the same.
    """
    folder, out = prepared.record.folder, prepared.request.out
    if out is None:
        return
    try:
        for name in OUTPUTS:
            # What an earlier run left in a folder that is used again must not pass for this run's.
            (out / name).unlink(missing_ok=True)
            if (folder / name).exists():
                shutil.copyfile(folder / name, out / name)
    except OSError as error:
        raise UsageError(
            f"--out {out} cannot be written: {error.strerror}", hint=f"The record is in {folder}."
        ) from error


def _report(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> dict[str, Any]:
    pipeline, audit = run.pipeline, prepared.audit
    error: RunnerError | None = run.ended
    ended = None if error is None else {"code": error.code, "message": error.message, "hint": error.hint}
    return {
        "version": REPORT_VERSION,
        "run": prepared.record.run_id,
        "status": run.status,
        "exit_code": int(run.exit_code),
        "ended": ended,
        "request": intent_facts(prepared.request, prepared.address),
        "limits": _limits(prepared.request),
        **prepared.facts,
        "calls": dict(pipeline.counts) if pipeline is not None else {"calls": 0, "ok": 0, "refused": 0},
        "denials": list(pipeline.denials) if pipeline is not None else [],
        "pushes": prepared.pushes,
        "changes": run.facts.get("changes"),
        "canary": prepared.canary.facts(),
        "audit": {"lines": audit.lines, "last_hash": audit.last_hash},
        "milliseconds": dict(prepared.watch.milliseconds),
        "teardown": teardown,
    }
