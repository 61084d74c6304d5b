"""What a longer audit log costs: as many calls as a run makes, written line by line, and verified from the file.

A call is the three lines that a file call leaves: it began, it was decided, it ended.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.failure import BenchFailed
from benchmarks.growth import series_name
from benchmarks.interleave import Side, interleave, timed
from benchmarks.samples import Samples
from benchmarks.stage import Stage
from runner.audit.log import AuditLog
from runner.audit.verify import verify_record

__all__ = ["LINES_PER_CALL", "append_calls", "growing_audit", "verify"]

LINES_PER_CALL = 3
_DIGEST = "0" * 64
_TOOL = "workspace.write_file"
_ARGUMENTS = {"path": "src/a.ts", "content": {"sha256": _DIGEST, "bytes": 4096}}
_FACTS = {"path": "src/a.ts", "via_link": False, "existed_at_start": True}


def growing_audit(stage: Stage, rounds: int, sizes: tuple[int, ...]) -> dict[str, Samples]:
    """For each number of calls: a log of its own is written, and verified from the disk."""
    with tempfile.TemporaryDirectory(dir=stage.home) as folder:
        sides: list[Side] = []
        for size in sizes:
            path = Path(folder, f"{size}.jsonl")
            sides += [_append(path, size), _verify(path, size)]
        return interleave(sides, rounds, warm_up=0)


def append_calls(path: Path, calls: int) -> None:
    """A fresh log at `path` has the lines of so many calls; closed, and on the disk."""
    log = AuditLog(path, "0" * 12, lambda: "2026-01-01T00:00:00.000Z")
    judged = {"allowed": True, "rule": "write:allowed", "code": None, "basis": 1, "facts": _FACTS}
    for seq in range(1, calls + 1):
        log.append("call.started", {"seq": seq, "tool": _TOOL, "arguments_sha256": _DIGEST, "arguments": _ARGUMENTS})
        log.append("decision", {"seq": seq, **judged, "subject": {"kind": "write", "op": "write", "path": "src/a.ts"}})
        log.append("call.finished", {"seq": seq, "tool": _TOOL, "ok": True, "code": None, "ms": 1.25, "exit": None})
    log.close()


def verify(path: Path, calls: int) -> None:
    """The log is whole, of so many calls, and not sealed. Raises BenchFailed when the verdict is another."""
    with path.open("rb") as lines:
        verdict = verify_record(lines, None, None, {})
    if verdict.problem is not None or verdict.lines != calls * LINES_PER_CALL:
        raise BenchFailed(f"the log of {calls} calls: {verdict.message}")


def _append(path: Path, calls: int) -> Side:
    def write() -> None:
        append_calls(path, calls)

    def side() -> dict[str, float]:
        path.unlink(missing_ok=True)  # of the round before
        return dict(timed(series_name("append", calls), write)())

    return side


def _verify(path: Path, calls: int) -> Side:
    return timed(series_name("verify", calls), lambda: verify(path, calls))
