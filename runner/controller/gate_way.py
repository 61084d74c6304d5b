"""The one way out of a room of the gate: to the repository's address, resolved and dialled from here.

The room has no network. A relay inside hands its connections to this side, as for the workspace; here every one of them
goes to the same host and port. So what a flaw in git could be made to do ends at the code host that it talks to anyway.
"""

from __future__ import annotations

from contextlib import ExitStack

from runner.audit.log import AuditLog
from runner.controller.network import RELAY, tell_egress
from runner.egress.addresses import judge_code_host
from runner.egress.network import begin_connect, resolve
from runner.egress.proxy import EgressProxy
from runner.egress.rules import EgressRules
from runner.egress.values import EgressEvent, EgressLimits, EgressTold, Pinned
from runner.engine.contract import Sandbox
from runner.gate.address import Address

__all__ = ["GateWay"]

# A pack may be as large as the gate takes, and a server may count objects, or run its own checks, for minutes.
_LIMITS = EgressLimits(
    connection_bytes=16 << 30, run_bytes=64 << 30, idle_seconds=900.0, connection_seconds=3600.0, handshake_seconds=30.0
)


class GateWay:
    """Opened at its first use, and open until `close`. Every connection is in the audit."""

    def __init__(self, room: Sandbox, audit: AuditLog) -> None:
        self._room = room
        self._audit = audit
        self._stack = ExitStack()
        self._open: tuple[tuple[str, int], int] | None = None
        self._refused: str | None = None

    def to(self, address: Address) -> int:
        """The way leads to the address; the answer is the port of its end on the room's loopback.

        Raises:
            SandboxLost: when the relay does not come up.
        """
        if address.endpoint is None or (self._open is not None and self._open[0] != address.endpoint):
            raise AssertionError("a room of the gate has one way out")
        if self._open is None:
            self._open = (address.endpoint, self._start(address, *address.endpoint))
        return self._open[1]

    def refused(self) -> str | None:
        """The rule by which a connection was refused since this was asked last."""
        refused, self._refused = self._refused, None
        return refused

    def close(self) -> None:
        """The way is closed. Idempotent."""
        self._stack.close()
        self._open = None

    def _start(self, address: Address, host: str, port: int) -> int:
        # Over http, git connects to the relay as if it were the host, which is this machine's own loopback.
        relay = (*RELAY, "--port", str(port)) if address.scheme == "http" else RELAY
        proxy = EgressProxy(
            self._room.open_stream(relay, user="relay"),
            rules=EgressRules(),
            judge=judge_code_host,
            resolver=resolve,
            dialer=begin_connect,
            audit=self._record,
            limits=_LIMITS,
            pinned=Pinned(host, port, by_connect=address.scheme == "https"),
        )
        self._stack.enter_context(proxy)
        return proxy.start()

    def _record(self, told: EgressTold) -> None:
        if isinstance(told, EgressEvent) and not told.allowed:
            self._refused = told.rule
        tell_egress(self._audit, "gate", told)
