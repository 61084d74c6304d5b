"""What is left of a run, on the host: report, log, patch, outputs and page, for `--out` and for the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.audit.seal import RECEIPT, SAID
from runner.controller.records import as_text, copy_out, open_new
from runner.controller.run_changes import no_changes, write_changes
from runner.controller.spec import RunRequest
from runner.gate.address import Address
from runner.model.errors import RunnerError, UsageError
from runner.model.version import VERSION

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared
    from runner.controller.run import Run

__all__ = [
    "OUTPUTS",
    "PAGE",
    "hand_over",
    "intent",
    "intent_facts",
    "no_changes",
    "write",
    "write_changes",
    "write_out",
]

REPORT_VERSION = 1
PAGE = "report.html"
OUTPUTS = ("report.json", "audit.jsonl", RECEIPT, "changes.patch", SAID, PAGE)


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


def write(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> None:
    """The report is in the run's folder, without secrets: it holds what programs of the set-up said."""
    prepared.record.note("report.json", _scrubbed(prepared, run, teardown))


def write_out(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> None:
    """The report is in `--out`, when that was asked for, although the run's own folder could not take it."""
    if prepared.request.out is not None:
        text = as_text(_scrubbed(prepared, run, teardown))
        with open_new(prepared.request.out / "report.json") as file:
            file.write(text.encode("ascii"))


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
                copy_out(folder / name, out / name)
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
