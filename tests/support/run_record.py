"""A run's record, written piece by piece as a controller writes it: for pages, which are shown while it grows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

from runner.audit.canonical import canonical, digest
from runner.audit.chain import FIRST_PREV
from runner.audit.forms import EVENTS
from runner.audit.keys import PUBLIC_KEY, PublicKey, own_key
from runner.audit.log import AuditLog
from runner.audit.output_forms import Said
from runner.audit.record_forms import ReportFile
from runner.audit.seal import RECEIPT, SAID, seal
from tests.support.sealed_run import CHECK, ENDED
from tests.support.sealed_run import EVENTS as SMALL_RUN

__all__ = ["HOSTILE", "PATCH", "RunRecord", "rich_record", "stream"]

HOSTILE = (
    '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">\' " {{ 7 * 7 }} {% raw %}'
    " \u202eevil\u2066 a\u200bb \x1b[31mred \u2028 \U000e0041 \ufe0f \u3164 end"
)
"""HTML, templates, quotes, bidi, zero-width, ANSI, tags and letters without a shape, in one text."""

PATCH = (
    "diff --git a/src/app.js b/src/app.js\nindex 1..2 100644\n--- a/src/app.js\n+++ b/src/app.js\n"
    "@@ -1,2 +1,2 @@\n const a = 1;\n-old();\n+renewed();\n"
    "diff --git a/notes.md b/notes.md\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/notes.md\n"
    "@@ -0,0 +1 @@\n+A note.\n"
)


@dataclass
class _Log:
    """What sealing asks of a log. The file is open only while a line is written, so that nobody has to close it."""

    path: Path
    lines: int = 0
    last_hash: str = FIRST_PREV

    def append(self, run: str, at: str, event: str, data: Mapping[str, Any]) -> None:
        self.lines += 1
        line = {"v": 1, "seq": self.lines, "run": run, "at": at, "event": event, "data": data, "prev": self.last_hash}
        self.last_hash = digest(line)
        with self.path.open("ab") as file:
            file.write(canonical({**line, "hash": self.last_hash}) + b"\n")


class RunRecord:
    """One run's folder below a state folder. The key that seals it lies in the state folder."""

    def __init__(self, state: Path, run_id: str = "run1") -> None:
        self.state, self.run_id = state, run_id
        self.folder = state / "runs" / run_id
        self.folder.mkdir(parents=True)
        self._seconds = count()
        self._log = _Log(self.folder / "audit.jsonl")
        self._calls = count(1)
        self._denials: list[dict[str, Any]] = []
        self.alive = True

    def _now(self) -> str:
        return f"2026-01-01T00:00:{next(self._seconds) % 60:02d}.000+00:00"

    @property
    def key(self) -> PublicKey:
        """What checks the receipt."""
        return own_key(self.state).public

    def tell(self, event: str, **data: Any) -> None:
        """One more line of the log, in its published form."""
        EVENTS[event].model_validate(data)
        self._log.append(self.run_id, self._now(), event, data)

    def start(self, **keys: Any) -> None:
        """The run is ready for calls."""
        began = {**dict(SMALL_RUN[0][1]), **keys}
        (self.folder / "run.json").write_text(json.dumps({"run": self.run_id, "started": self._now(), **began}))
        self.tell("run.started", **began)
        self.tell("workspace.start", image="sha256:1", deadline_unix=5)
        self.tell("posture", checks=[CHECK, {**CHECK, "control": "no route", "expected": "0", "seen": "0"}])

    def begin_call(self, tool: str = "workspace.run_command", **arguments: Any) -> int:
        """A call is at work."""
        seq = next(self._calls)
        self.tell("call.started", seq=seq, tool=tool, arguments_sha256="b" * 64, arguments=arguments)
        return seq

    def decide(self, seq: int, rule: str, code: str | None = None, **subject: Any) -> None:
        """The policy says yes, or no with a code."""
        told = {"kind": "argv", **subject}
        self.tell("decision", seq=seq, allowed=code is None, rule=rule, code=code, basis=1, subject=told, facts={})

    def end_call(
        self,
        seq: int,
        tool: str = "workspace.run_command",
        code: str | None = None,
        exit_code: int | None = None,
        **said: Any,
    ) -> None:
        """The call is answered; `said` is what is kept of it, beside its number."""
        if said:
            line = {"seq": seq, **said} if code is None else {"seq": seq, "code": code, **said}
            Said.model_validate(line)
            with (self.folder / SAID).open("ab") as file:
                file.write(canonical(line) + b"\n")
        if code is not None:
            self._denials.append({"seq": seq, "tool": tool, "code": code, "rule": said.get("rule")})
        self.tell("call.finished", seq=seq, tool=tool, ok=code is None, code=code, ms=12.5, exit=exit_code)

    def end(self, patch: str = PATCH, **report: Any) -> None:
        """The run has ended: patch, last line, report and receipt are there."""
        (self.folder / "changes.patch").write_bytes(patch.encode("utf-8", "surrogateescape"))
        changes = {"file_count": 2, "paths_sha256": "e" * 64, "patch_bytes": 9, "truncated": False, "failed": False}
        self.tell("changes", **changes)
        self.tell("run.ended", **ENDED)
        told = self._report({**changes, "files": ["src/app.js", "notes.md"]}, report)
        ReportFile.model_validate(told)
        (self.folder / "report.json").write_text(json.dumps(told, indent=2))
        key = own_key(self.state)
        (self.folder / PUBLIC_KEY).write_bytes(key.public.pem)
        (self.folder / RECEIPT).write_bytes(seal(cast(AuditLog, self._log), self.run_id, ENDED, key))
        self.alive = False

    def _report(self, changes: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
        asked = {
            name: SMALL_RUN[0][1][name]
            for name in ("version", "repository", "ref", "depth", "policy", "policy_sha256", "tools")
        }
        return {
            "version": 1,
            "run": self.run_id,
            "status": "completed",
            "exit_code": 0,
            "ended": None,
            "request": asked,
            "limits": {"runSeconds": 1800, "memoryMiB": 2048, "cpus": 2.0},
            "calls": {"calls": 0, "ok": 0, "refused": 0},
            "denials": self._denials,
            "pushes": [],
            "changes": dict(changes),
            "canary": {"path": None, "count": 0, "seen": []},
            "audit": {"lines": self._log.lines, "last_hash": self._log.last_hash},
            "milliseconds": {"calls": 120.5, "setup": 15.4, "teardown": 191.0},
            "teardown": ENDED["teardown"],
            **keys,
        }


def stream(text: str, cut: int = 0, tail: str = "") -> dict[str, Any]:
    """A stream as outputs.jsonl has it."""
    return {"head": text, "cut_characters": cut, "tail": tail}


def rich_record(state: Path, run_id: str = "run1", text: str = "plain") -> RunRecord:
    """A run that goes on, with something of everything; `text` stands wherever a stranger's text can stand."""
    record = RunRecord(state, run_id)
    record.start(repository=f"file:///{text}", ref=text, policy=text)
    record.tell("setup.step", argv=["node", text], why="asked")
    record.tell("setup.finished", argv=["node", text], exit=0, timed_out=False, duration_ms=3.0)
    seq = record.begin_call(argv=["node", text])
    record.decide(seq, "argv.default", argv=["node", text])
    closed = {"phase": "run", "connection": 1, "port": 443, "address": "", "bytes_up": 5, "bytes_down": 7}
    record.tell("egress", host=text, allowed=False, rule="egress.host", ended_by=text, milliseconds=2.0, **closed)
    lists = {"reverted": {"count": 1, "paths": [text]}, "not_reverted": {"count": 0, "paths": []}}
    record.tell("command.reverted", **lists)
    record.end_call(seq, kind="output", stdout=stream(text, 100, text), stderr=stream(text), limits_hit=[text])
    seq = record.begin_call("workspace.write_file", path=text, content={"sha256": "a" * 64, "bytes": 4})
    record.decide(seq, "write.deny.pattern", "workspace_write_not_allowed", kind="write", path=text)
    refused: dict[str, Any] = {"rule": "write.deny.pattern", "message": text, "hint": text}
    record.end_call(seq, "workspace.write_file", "workspace_write_not_allowed", kind="refusal", **refused)
    record.end_call(record.begin_call(text), text[:100], "unknown_tool")
    record.tell("push.done", branch=text, commit="d" * 40, status="refused")
    record.tell("canary.seen", seq=1, place="result", detail=text)
    return record
