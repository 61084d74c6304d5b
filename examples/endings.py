"""Two attempts that cost a run of their own: one never starts, the other ends itself. Neither may leave anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.records import report_of
from examples.remote import Remote
from examples.session import Answer, Session
from examples.stage import Row
from examples.verdict import Verdict, escaped

__all__ = ["endings", "judge_killed_helper", "judge_set_up"]

_REPOSITORY, _LIMIT = 4, 5  # exit codes of the command line


def endings(
    set_up: Remote, twin: Remote, policy: Path, folder: Path, environment: Mapping[str, str]
) -> tuple[Row, ...]:
    """Both attempts with their verdicts."""
    common = ("--policy", str(policy))
    out = folder / "set-up"
    with Session(("--repo", set_up.address, *common, "--out", str(out)), environment) as session:
        pass  # no call is needed: the run must not get that far
    first = judge_set_up(session.exit_code, report_of(out))
    out = folder / "killed"
    with Session(("--repo", twin.address, *common, "--out", str(out)), environment) as session:
        answer = session.call("workspace.run_command", argv=["node", "attack/kill.mjs"])
    second = judge_killed_helper(answer, session.exit_code, report_of(out))
    return ("start a shell from the set-up", first), ("kill the runner's helper", second)


def judge_set_up(exit_code: int | None, report: Mapping[str, Any]) -> Verdict:
    """The run never began, for the reason that the set-up asked for a shell."""
    ended = report.get("ended") or {}
    if exit_code != _REPOSITORY or ended.get("code") != "bin_not_allowlisted" or not _torn_down(report):
        return escaped(f"exit {exit_code}, {ended}, {report.get('teardown')}")
    return Verdict(True, "refused", "set-up obeys the argv rules", f"exit {exit_code}, bin_not_allowlisted; torn down")


def judge_killed_helper(answer: Answer, exit_code: int | None, report: Mapping[str, Any]) -> Verdict:
    """The run ended as lost, and its container is gone."""
    if answer.code != "run_ended" or exit_code != _LIMIT or not _torn_down(report):
        return escaped(f"exit {exit_code}, {answer.output[:200]}, {report.get('teardown')}")
    return Verdict(True, "contained", "no helper, no run", f"run_ended, exit {exit_code}; torn down")


def _torn_down(report: Mapping[str, Any]) -> bool:
    return report.get("teardown") == {"verified": True, "leftovers": []}
