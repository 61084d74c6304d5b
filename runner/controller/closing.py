"""The end of a run, whatever it was: patch, teardown, the log's last line, report, receipt, page, and `--out`.

Each step is tried whatever became of the one before it. A Ctrl-C meanwhile starts the step at hand again instead of
ending it, so that what is left of a run is the whole record of it and nothing in the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from runner.audit.keys import PUBLIC_KEY, SigningKey
from runner.audit.log import AuditUnwritable
from runner.audit.seal import RECEIPT, seal
from runner.controller import report
from runner.controller.host import Host
from runner.model.errors import RunnerError, SandboxLost, ToolError

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared
    from runner.controller.run import Run

__all__ = ["finish"]

_ATTEMPTS = 5
"""Of a step that Ctrl-C interrupts. Who presses it more often means it."""

_TEAR_DOWN_SECONDS = 20.0  # after it no attempt is begun anew


def finish(prepared: Prepared, run: Run, key: SigningKey) -> None:
    """Nothing of the run is left but its record, which is sealed.

    Raises:
        UsageError: when `--out` cannot be written; the record in the state folder is complete all the same.
    """
    watch = prepared.watch
    if run.pipeline is not None and not isinstance(run.ended, SandboxLost):
        watch.start("changes")
        _leave_gate(prepared)
        _keep_changes(prepared, run)
    watch.start("teardown")
    teardown = _tear_down(prepared)
    watch.stop()
    if not teardown["verified"] and run.ended is None:
        # What ended the run before stays its reason; the report has both.
        said = "; ".join(teardown["leftovers"])
        hint = "Run `runner gc` once the engine is well again."
        run.failure = RunnerError(f"teardown could not be verified: {said}", hint=hint, code="teardown_failed")
    _again(prepared, "closing the log", lambda: _close_log(prepared, run, teardown))
    _again(prepared, "writing the record", lambda: _write_record(prepared, run, teardown, key))
    prepared.progress(_closing_line(prepared, run))


def _leave_gate(prepared: Prepared) -> None:
    """The gate's rooms go while the patch is made. Whatever comes of that: the tear-down asks for all of it again."""
    with suppress(Exception, KeyboardInterrupt):
        prepared.leave_gate()


def _again(prepared: Prepared, what: str, step: Callable[[], None]) -> None:
    for left in reversed(range(_ATTEMPTS)):
        try:
            return step()
        except KeyboardInterrupt:
            if not left:
                raise
            prepared.progress(f"still {what}; this takes a moment")


def _keep_changes(prepared: Prepared, run: Run) -> None:
    """What the run did is not lost with it: also after a limit or Ctrl-C, when a fresh helper has to be asked."""
    with suppress(RunnerError, ToolError, KeyboardInterrupt):
        try:
            if run.interrupted:
                prepared.sandbox.reconnect()
            changes = report.write_changes(prepared, prepared.record.folder)
        except SandboxLost as error:
            # Nobody had asked the workspace for anything since it went: the run must not pass for a whole one.
            if run.ended is None and not run.interrupted:
                run.failure = error
            raise
        except OSError as error:
            # The disk below the record is full. The containers must go all the same; the report says what is missing.
            changes = report.no_changes(f"changes.patch cannot be written: {error.strerror}")
        run.facts["changes"] = changes
        told = {name: changes[name] for name in changes if name not in ("files", "reason")}
        prepared.audit.tell("changes", told)


def _close_log(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> None:
    """The last line is in the log, once. Without it, or any other line, the run has failed."""
    audit = prepared.audit
    run.failure = run.failure or audit.lost  # of the proxy's thread, perhaps, after the last call
    try:
        if not audit.closed:
            audit.tell("run.ended", _ending(run, teardown))
    except AuditUnwritable as error:
        run.failure = run.failure or error
    audit.close()


def _write_record(prepared: Prepared, run: Run, teardown: dict[str, Any], key: SigningKey) -> None:
    """Report, receipt and page are in the run's folder, and in `--out`. A run that cannot be sealed has failed."""
    record = prepared.record
    prepared.outputs.close()
    kept = _write_report(prepared, run, teardown)
    ending = prepared.scrubber.value(_ending(run, teardown))
    try:
        record.keep(PUBLIC_KEY, key.public.pem)
        record.keep(RECEIPT, seal(prepared.audit, record.run_id, ending, key))
    except (AuditUnwritable, OSError) as error:
        run.failure = run.failure or _unsealed(error)
        kept = _write_report(prepared, run, teardown)
    _draw(prepared, key)
    report.hand_over(prepared)
    if not kept:
        report.write_out(prepared, run, teardown)


def _draw(prepared: Prepared, key: SigningKey) -> None:
    """The page is in the run's folder. It shows what the rest of the record says; no run fails for the want of it."""
    draw, record = prepared.host.draw, prepared.record
    if draw is None:
        return
    try:
        record.keep(report.PAGE, draw(record.folder, key.public))
    except Exception as error:
        # Whatever it is: the page is made of what a workspace wrote, which must not be able to spoil the end of a run.
        prepared.progress(f"{report.PAGE} could not be made: {type(error).__name__}: {error}")


def _write_report(prepared: Prepared, run: Run, teardown: dict[str, Any]) -> bool:
    """Whether the run's folder has the report; a full disk there has made the run fail, and `--out` may have room."""
    try:
        report.write(prepared, run, teardown)
    except RunnerError as error:
        if run.ended is None:  # what ended the run before stays its reason
            run.failure = error
        return False
    return True


def _ending(run: Run, teardown: dict[str, Any]) -> dict[str, Any]:
    code = None if run.ended is None else run.ended.code
    return {"status": run.status, "exit_code": int(run.exit_code), "code": code, "teardown": teardown}


def _unsealed(error: AuditUnwritable | OSError) -> AuditUnwritable:
    if isinstance(error, AuditUnwritable):
        return error
    return AuditUnwritable(f"the receipt cannot be written: {error.strerror}", hint="Free space in the state folder.")


def _closing_line(prepared: Prepared, run: Run) -> str:
    counts = run.pipeline.counts if run.pipeline is not None else {"calls": 0, "refused": 0}
    said = [f"{run.status}: calls {counts['calls']}, refused {counts['refused']}, pushes {len(prepared.pushes)}"]
    changes = run.facts.get("changes")
    if changes is not None:
        said.append(
            f"THE CHANGES COULD NOT BE TAKEN ({changes['reason']})"
            if changes["failed"]
            else f"files changed {changes['file_count']}"
        )
    if prepared.canary.count:
        said.append(f"THE CANARY WAS SEEN {prepared.canary.count} time(s)")
    return f"{', '.join(said)}; report in {prepared.request.out or prepared.record.folder}"


def _tear_down(prepared: Prepared) -> dict[str, Any]:
    """Everything of the run is gone, or named. A second Ctrl-C starts the tear-down again instead of ending it."""
    leftovers: list[str] = []
    if not prepared.request.needs_workspace:
        return {"verified": True, "leftovers": leftovers}
    give_up = prepared.host.monotonic() + _TEAR_DOWN_SECONDS
    for _attempt in range(_ATTEMPTS):
        try:
            with suppress(RunnerError):
                prepared.close()
            leftovers = _remove_by_label(prepared.host, prepared.record.run_id)
            break
        except KeyboardInterrupt:
            prepared.progress("still tearing down; this takes a moment")
            leftovers = ["unknown: tear-down was interrupted again and again"]
        except RunnerError as error:
            leftovers = [error.message]
            if prepared.host.monotonic() > give_up:
                break  # an engine that hangs would be waited for again and again
    return {"verified": not leftovers, "leftovers": leftovers}


def _remove_by_label(host: Host, run_id: str) -> list[str]:
    """What carries the run's label is removed, so that nothing depends on our having noted it; the rest is named."""
    left = [found for found in host.engine.objects() if found.run_id == run_id]
    for found in left:
        host.engine.remove(found)
    if not left:
        return []  # seen after everything was removed: there is nothing to look at again
    return [f"{found.kind} {found.name}" for found in host.engine.objects() if found.run_id == run_id]
