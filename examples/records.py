"""What a run leaves on the host, checked: report, audit log and patch, and the engine's list of leftovers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.session import DemoFailed, runner_json
from runner.audit.chain import verify_chain

__all__ = ["check_receipt", "check_records", "leftovers", "report_of"]


def report_of(out: Path) -> dict[str, Any]:
    """The run's report. Raises DemoFailed when there is none."""
    try:
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DemoFailed(f"{out / 'report.json'}: {error}") from error
    if not isinstance(report, dict):
        raise DemoFailed(f"{out / 'report.json'} is no report")
    return report


def check_records(out: Path, canary: str) -> str:
    """One line on the run's records: all there, the audit chain unbroken, teardown verified. Raises DemoFailed."""
    report = report_of(out)
    missing = [name for name in ("report.json", "audit.jsonl", "changes.patch") if not (out / name).is_file()]
    if missing:
        raise DemoFailed(f"missing in {out}: {', '.join(missing)}")
    log = (out / "audit.jsonl").read_bytes()
    try:
        lines = verify_chain(log.splitlines(keepends=True))
    except ValueError as error:
        raise DemoFailed(f"the audit log does not verify: {error}") from error
    if lines != report["audit"]["lines"] or report["teardown"] != {"verified": True, "leftovers": []}:
        raise DemoFailed(f"the report does not fit: {report['audit']}, {report['teardown']}")
    if any(canary.encode() in (out / name).read_bytes() for name in ("report.json", "audit.jsonl", "changes.patch")):
        raise DemoFailed("the records hold a secret of the runner's environment")
    controls = report["posture"]
    if not controls or not all(control["active"] for control in controls):
        raise DemoFailed("the posture proof is not whole")
    return f"{len(controls)} controls proved active, {lines} audit lines in an unbroken chain, teardown verified"


def check_receipt(out: Path, environment: Mapping[str, str]) -> str:
    """One line on the run's seal, by the runner's own verification. Raises DemoFailed when it does not hold."""
    verdict = runner_json(["audit", "verify", str(out), "-o", "json"], environment)
    return f"{verdict['verdict']}, sealed by {verdict['key_id'][:23]}…"


def leftovers(state: Path, environment: Mapping[str, str]) -> list[str]:
    """What the engine still has of the runs that `state` knows, by the runner's own list."""
    ours = {folder.name for folder in (state / "runs").iterdir()}
    if not ours:
        raise DemoFailed("no run was recorded, so a list of leftovers says nothing")
    rows = runner_json(["ps", "-o", "json"], environment)
    return [f"{row['kind']} {row['name']} ({row['state']})" for row in rows if row["run"] in ours]
