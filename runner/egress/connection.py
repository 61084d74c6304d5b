"""One connection from the workspace, from its first byte to its last audit line.

The phases, in order; each refusal or failure ends the connection, and none goes back:

    1 REQUEST   collect the CONNECT request; judge its form, then host and port against the rules
                a refusal is told before it is answered, and a connection before anything of it leaves
    2 RESOLVE   at most one look-up, on the host; every address it gave is judged, one bad address refuses the name
    3 DIAL      the address is told; then connect to the first address, by number: what DNS says later changes nothing
    4 HELLO     answer 200, collect the TLS ClientHello; its server name must be the CONNECT host
    5 TUNNEL    only now the first byte goes out; copy both ways within credit, byte caps and times

Runs in the proxy's loop and never blocks. Raises `SandboxLost` when the relay breaks the protocol.
"""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from runner.egress.frames import WINDOW_BYTES, FrameKind, encode, encode_window
from runner.egress.hello import HelloRefused, read_server_name
from runner.egress.request import RequestRefused, read_pinned_request, read_request, requested_target, response
from runner.egress.rules import EgressRules, decide_connect
from runner.egress.values import (
    AuditSink,
    Dialer,
    EgressDialled,
    EgressEvent,
    EgressLimits,
    EgressOpened,
    IPAddress,
    Judge,
    Pinned,
    Verdict,
)
from runner.model.errors import SandboxLost

__all__ = ["Connection", "Services"]

_GRANT_BYTES = WINDOW_BYTES // 4  # credit goes back in lumps, not per write
_CHUNK_BYTES = 32 * 1024
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_PINNED = Verdict(True, "egress.pinned")
_NOT_ASKED = Verdict(False, "egress.request", "The connection ended before a request was read.")


class _Phase(Enum):
    REQUEST = 1
    RESOLVE = 2
    DIAL = 3
    HELLO = 4
    TUNNEL = 5
    OVER = 6


@dataclass
class Services:
    """What all connections of a proxy share."""

    rules: EgressRules
    judge: Judge
    judges: Mapping[tuple[str, int], Judge]  # of single hosts, in the place of `judge`
    dialer: Dialer
    limits: EgressLimits
    clock: Callable[[], float]  # seconds, monotonic
    send: Callable[[bytes], None]  # to the relay
    look_up: Callable[[int, str, int], None]
    audit: AuditSink
    pinned: Pinned | None = None
    run_bytes: int = 0  # carried by all connections so far


class Connection:
    """The state of one connection, and the remote socket once there is one."""

    def __init__(self, number: int, services: Services) -> None:
        self.number = number
        self.remote: socket.socket | None = None
        self._services = services
        self._phase = _Phase.REQUEST
        self._opened = self._active = services.clock()
        self._buffer = bytearray()  # from the client and not yet handed on; the credit bounds it to one window
        self._receive_credit = WINDOW_BYTES
        self._ungranted = 0
        self._send_credit = WINDOW_BYTES
        self._client_ended = self._remote_shut = self._remote_ended = False
        self._host, self._port, self._address = "", 0, ""
        self._verdict = _NOT_ASKED
        self._up = self._down = 0

    def begin(self) -> None:
        """The connection exists. One that is for a pinned target, and asks for nothing, is on its way there."""
        pinned = self._services.pinned
        if pinned is not None and not pinned.by_connect:
            self._go(pinned.host, pinned.port, _PINNED)

    # --- from the relay

    def on_data(self, payload: bytes) -> None:
        """Bytes from the client."""
        if len(payload) > self._receive_credit or self._client_ended:
            raise SandboxLost("the egress relay sent more than it had credit for")
        self._receive_credit -= len(payload)
        self._buffer += payload
        self._touch()
        self._advance()

    def on_end(self) -> None:
        """The client sends no more. A request or a hello that is not complete by now never will be."""
        self._client_ended = True
        if self._phase is _Phase.TUNNEL:
            self._advance()
        elif self._services.pinned is not None and self._phase in (_Phase.RESOLVE, _Phase.DIAL):
            return  # all that it has to say is here already, and goes out once the way stands
        else:
            self.cut("egress.closed")

    def on_window(self, credit: int) -> None:
        """The client took so many bytes."""
        self._send_credit += credit
        if self._send_credit > WINDOW_BYTES:
            raise SandboxLost("the egress relay granted credit for bytes that it was not sent")

    # --- from the resolver and the remote

    def on_resolved(self, addresses: tuple[IPAddress, ...]) -> None:
        """The one look-up has ended; no addresses when it failed."""
        if self._phase is not _Phase.RESOLVE:
            return
        if not addresses:
            self._refuse(502, Verdict(False, "egress.dns", "The host's resolver has no address for the name."))
            return
        judge = self._services.judges.get((self._host, self._port), self._services.judge)
        for address in addresses:
            verdict = judge(address)
            if not verdict.allowed:
                self._address = str(address)
                self._refuse(403, verdict)
                return
        self._address = str(addresses[0])
        self._services.audit(EgressDialled(self.number, self._address))
        try:
            self.remote = self._services.dialer(addresses[0], self._port)
        except OSError:
            self._refuse_dial()
            return
        self._phase = _Phase.DIAL

    def on_remote(self, mask: int) -> None:
        """The remote socket is ready."""
        if self._phase is _Phase.DIAL:
            self._finish_dial()
            return
        if mask & selectors.EVENT_WRITE and self._phase is _Phase.TUNNEL:
            self._send_up()
        if mask & selectors.EVENT_READ and self._phase is _Phase.TUNNEL:
            self._receive_down()

    @property
    def interest(self) -> int:
        """The selector's mask for the remote socket; 0 when nothing is waited for."""
        if self._phase is _Phase.DIAL:
            return selectors.EVENT_WRITE
        if self._phase is not _Phase.TUNNEL:
            return 0  # what a server says before the hello was judged is not read
        mask = selectors.EVENT_WRITE if self._buffer else 0
        if self._send_credit > 0 and not self._remote_ended:
            mask |= selectors.EVENT_READ
        return mask

    # --- ends

    @property
    def over(self) -> bool:
        """Whether the connection has ended and was audited."""
        return self._phase is _Phase.OVER

    def check_time(self, now: float) -> None:
        """End the connection when one of its times is up."""
        limits = self._services.limits
        if self._phase is _Phase.TUNNEL:
            if now - self._active > limits.idle_seconds:
                self.cut("egress.idle")
            elif now - self._opened > limits.connection_seconds:
                self.cut("egress.time")
        elif now - self._opened > limits.handshake_seconds:
            if self._phase is _Phase.HELLO:
                self.cut("egress.handshake")
            else:
                self._refuse(408, Verdict(False, "egress.handshake", "The connection was not set up in time."))

    def cut(self, rule: str) -> None:
        """End the connection now. Before the tunnel stands this is a refusal by `rule`."""
        if self._phase is not _Phase.TUNNEL and not self.over:
            self._verdict = Verdict(False, rule)
        self._finish(rule)

    # --- phases

    def _advance(self) -> None:
        if self._phase is _Phase.REQUEST:
            self._read_request()
        elif self._phase is _Phase.HELLO:
            self._read_hello()
        elif self._phase is _Phase.TUNNEL:
            self._send_up()

    def _read_request(self) -> None:
        pinned = self._services.pinned
        try:
            if pinned is not None:
                size = read_pinned_request(self._buffer, pinned)
                if size is not None:
                    self._consume(size)
                    self._go(pinned.host, pinned.port, _PINNED)
                return
            request = read_request(self._buffer)
        except RequestRefused as refused:
            self._host = requested_target(self._buffer)
            self._refuse(refused.status, refused.verdict)
            return
        if request is None:
            return
        verdict = decide_connect(self._services.rules, request.host, request.port)
        if not verdict.allowed:
            self._host, self._port = request.host, request.port
            self._refuse(403, verdict)
            return
        self._consume(request.size)
        self._go(request.host, request.port, verdict)

    def _go(self, host: str, port: int, verdict: Verdict) -> None:
        """On the way to an allowed target."""
        self._host, self._port, self._verdict = host, port, verdict
        self._services.audit(EgressOpened(self.number, host, port, verdict.rule))
        self._phase = _Phase.RESOLVE
        self._services.look_up(self.number, host, port)

    def _finish_dial(self) -> None:
        if self.remote is None or self.remote.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._refuse_dial()
            return
        if self._services.pinned is None or self._services.pinned.by_connect:
            self._send_down(_ESTABLISHED)
        if self._services.pinned is not None:
            self._phase = _Phase.TUNNEL
            self._send_up()
            return
        self._phase = _Phase.HELLO
        self._read_hello()

    def _read_hello(self) -> None:
        try:
            name = read_server_name(self._buffer)
        except HelloRefused:
            self.cut("egress.sni")
            return
        if name is None:
            return
        if name != self._host:
            self.cut("egress.sni")
            return
        self._phase = _Phase.TUNNEL
        self._send_up()

    def _send_up(self) -> None:
        remote = self._tunnel()
        try:
            while self._buffer:
                allowed = self._allowance()
                if allowed == 0:
                    self.cut("egress.bytes")
                    return
                sent = remote.send(self._buffer[: min(allowed, _CHUNK_BYTES)])
                self._up += sent
                self._count(sent)
                self._consume(sent)
            if self._client_ended and not self._remote_shut:
                self._remote_shut = True
                remote.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:
            self.cut("egress.reset")
            return
        self._finish_if_done()

    def _receive_down(self) -> None:
        allowed = min(self._allowance(), self._send_credit, _CHUNK_BYTES)
        if allowed == 0:
            if self._send_credit:
                self.cut("egress.bytes")
            return
        try:
            data = self._tunnel().recv(allowed)
        except BlockingIOError:
            return
        except OSError:
            self.cut("egress.reset")
            return
        if data:
            self._down += len(data)
            self._count(len(data))
            self._send_down(data)
            return
        self._remote_ended = True
        self._services.send(encode(FrameKind.END, self.number))
        self._finish_if_done()

    # --- small steps

    def _tunnel(self) -> socket.socket:
        if self.remote is None:
            raise AssertionError("a tunnel without a remote socket is a bug")
        return self.remote

    def _allowance(self) -> int:
        limits = self._services.limits
        left = min(
            limits.connection_bytes - self._up - self._down,
            limits.run_bytes - self._services.run_bytes,
        )
        return max(left, 0)

    def _count(self, carried: int) -> None:
        self._services.run_bytes += carried
        self._touch()

    def _touch(self) -> None:
        self._active = self._services.clock()

    def _consume(self, count: int) -> None:
        """Drop bytes that were handed on, and give their credit back in lumps."""
        del self._buffer[:count]
        self._ungranted += count
        if self._ungranted >= _GRANT_BYTES:
            self._services.send(encode_window(self.number, self._ungranted))
            self._receive_credit += self._ungranted
            self._ungranted = 0

    def _send_down(self, data: bytes) -> None:
        self._send_credit -= len(data)
        self._services.send(encode(FrameKind.DATA, self.number, data))

    def _refuse_dial(self) -> None:
        self._refuse(502, Verdict(False, "egress.dial", "The host could not be connected to."))

    def _refuse(self, status: int, verdict: Verdict) -> None:
        self._verdict = verdict
        asked = self._services.pinned is None or self._services.pinned.by_connect
        self._finish(verdict.rule, response(status, verdict) if asked else b"")

    def _finish_if_done(self) -> None:
        if self._remote_ended and self._remote_shut and not self._buffer:
            self._finish("closed")

    def _finish(self, ended_by: str, answer: bytes = b"") -> None:
        """The remote is closed, and the end told; only then the client hears of it. Raises what the audit raises."""
        if self.over:
            return
        self._phase = _Phase.OVER
        if self.remote is not None:
            self.remote.close()
        now = self._services.clock()
        self._services.audit(
            EgressEvent(
                connection=self.number,
                host=self._host,
                port=self._port,
                address=self._address,
                allowed=self._verdict.allowed,
                rule=self._verdict.rule,
                ended_by=ended_by,
                bytes_up=self._up,
                bytes_down=self._down,
                milliseconds=round((now - self._opened) * 1000, 3),
            )
        )
        if answer:
            self._send_down(answer)
        self._services.send(encode(FrameKind.CLOSE, self.number))
