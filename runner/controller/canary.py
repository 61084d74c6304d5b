"""The canary of a run: planted in the home folder before the first byte of the repository, and alarmed about.

Why there and nowhere else is in ADR 0012. Each time that it is seen is one line of the log, one entry of the report and
a line of progress; only a push is refused for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runner.audit.canary import Canary, CanaryStream
from runner.audit.log import AuditLog
from runner.controller.environment import command_environment
from runner.egress.values import EgressEvent
from runner.engine.contract import SpawnRequest
from runner.model.errors import ErrorCode, PostureFailed, ToolError

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared
    from runner.gate.outgoing import Quarantine

__all__ = ["CANARY_PATH", "CanaryWatch", "plant"]

CANARY_PATH = "/home/agent/.deploy.env"
_MAX_LISTED = 100
_SECONDS = 30.0


class CanaryWatch:
    """Looks for the canary on behalf of whoever has something in hand, and keeps what was seen."""

    def __init__(self, canary: Canary, audit: AuditLog, progress: Callable[[str], None]) -> None:
        self.canary = canary
        self._audit = audit
        self._progress = progress
        self.planted = False
        self.count = 0
        self._seen: list[dict[str, Any]] = []

    def look(self, place: str, value: Any, *, seq: int | None = None, detail: str = "") -> bool:
        """Whether the value holds the canary; then it has been told.

        Raises:
            AuditUnwritable: it could not be told.
        """
        found = self.canary.within(value)
        if found:
            self.tell(place, seq=seq, detail=detail)
        return found

    def tell(self, place: str, *, seq: int | None = None, detail: str = "") -> None:
        """The canary was seen there. Raises AuditUnwritable."""
        told = {"seq": seq, "place": place, "detail": detail}
        self._audit.append("canary.seen", told)
        self.count += 1
        if len(self._seen) < _MAX_LISTED:
            self._seen.append(told)
        self._progress(f"ALARM: the canary of {CANARY_PATH} was seen ({place}{': ' if detail else ''}{detail})")

    def connection(self, event: EgressEvent) -> None:
        """A connection has been looked at: all that can be seen of it is the name that it asked for."""
        self.look("egress", event.host.lower(), detail=f"connection {event.connection}")

    def stream(self) -> CanaryStream:
        """Looks at bytes that come in pieces; whoever asked tells what it saw."""
        return CanaryStream(self.canary)

    def facts(self) -> dict[str, Any]:
        """For the report."""
        return {"path": CANARY_PATH if self.planted else None, "count": self.count, "seen": list(self._seen)}

    def require_absent(self, quarantine: Quarantine, max_object_bytes: int) -> None:
        """Nothing happens when none of the objects that would leave holds the canary.

        Raises:
            ToolError: PUSH_POLICY_VIOLATION, rule `push.canary`; or `push.objects` for more than can be looked at.
        """
        for name, content in quarantine.contents(max_object_bytes=max_object_bytes):
            if self.look("push", content, detail=name):
                raise _refused(name)


def plant(run: Prepared) -> None:
    """The file is in the home folder, and the log says so.

    Raises:
        PostureFailed: it could not be written: a run without its alarm is not the run that was promised.
    """
    token = run.canary.canary.token
    text = f"# Deployment credentials of this machine. Not for the repository.\nDEPLOY_TOKEN={token}\n"
    digest = hashlib.sha256(token.encode("ascii")).hexdigest()
    run.audit.append("canary.planted", {"path": CANARY_PATH, "token_sha256": digest})
    tee = SpawnRequest(
        ("/usr/bin/tee", CANARY_PATH),
        command_environment({}),
        _SECONDS,
        0,
        stdin=[text.encode("ascii")],
        sink=lambda _name, _data: None,
    )
    if run.sandbox.spawn(tee).exit != 0:
        raise PostureFailed("the canary could not be put into the workspace", hint="See `runner doctor`.")
    run.canary.planted = True


def _refused(name: str) -> ToolError:
    return ToolError(
        ErrorCode.PUSH_POLICY_VIOLATION,
        f"Nothing was pushed: the outgoing commits hold the secret of {CANARY_PATH}, in {name}.",
        rule="push.canary",
        hint="Take it out of every commit that would leave (git reset --soft BASE, then commit anew).",
        details={"violations": [{"path": name, "rule": "push.canary", "code": str(ErrorCode.PUSH_POLICY_VIOLATION)}]},
    )
