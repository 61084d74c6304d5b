"""The forward proxy of one run, at the host's end of the relay's stream.

One thread runs everything but the blocking parts: two threads carry the stream, a few resolve names. There is no
listening port, no socket file and no network on the host's side; when the proxy is closed, or fails in any way, the
stream is closed, the relay ends, and the workspace has no network.

The relay is untrusted. It may open, fill and close connections, which is what the code in the workspace may do anyway;
everything else that it could say ends the proxy.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType

from runner.egress.connection import Connection, Services
from runner.egress.frames import WINDOW_BYTES, Frame, FrameKind, FrameReader
from runner.egress.pump import StreamPump
from runner.egress.resolving import ResolverPool
from runner.egress.rules import EgressRules
from runner.egress.values import AuditSink, Dialer, EgressEvent, EgressLimits, Judge, Pinned, Resolver
from runner.engine.contract import ByteStream
from runner.model.errors import SandboxLost

__all__ = ["EgressProxy"]

_TURN_SECONDS = 0.25  # how often times are checked when nothing happens
_CHUNKS_PER_TURN = 16  # then the remote sockets are served again
_JOIN_SECONDS = 0.8  # of the one second that `close` may take
_CONTROL_BYTES = 1024 * 1024  # unsent frames beside the data that the windows allow


class EgressProxy:
    """Serves the relay at the other end of `stream` until closed.

    Args:
        stream: of a fresh relay; owned and closed by the proxy.
        rules: which hosts are allowed.
        judge: which addresses they may have.
        judges: by host and port, in the place of `judge`.
        resolver: asked at most once per connection; what it said holds for that connection's whole life.
        dialer: begins the one connect per connection.
        audit: told every connection once, from the proxy's thread.
        limits: bounds of the run.
        pinned: the one target, for which `rules` are not asked; None is a forward proxy.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        rules: EgressRules,
        judge: Judge,
        resolver: Resolver,
        dialer: Dialer,
        audit: AuditSink,
        judges: Mapping[tuple[str, int], Judge] = MappingProxyType({}),
        limits: EgressLimits | None = None,
        pinned: Pinned | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits or EgressLimits()
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._wake_lock = threading.Lock()
        self._pump = StreamPump(stream, self.wake, self._limits.connections * WINDOW_BYTES + _CONTROL_BYTES)
        self._resolvers = ResolverPool(resolver, self.wake, clock)
        self._services = Services(
            rules, judge, judges, dialer, self._limits, clock, self._pump.send, self._resolvers.ask, audit, pinned
        )
        self._reader = FrameReader()
        self._connections: dict[int, Connection] = {}
        self._last_number = 0
        self._opened = 0
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_in, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="egress-proxy", daemon=True)
        self._stopping = threading.Event()
        self._settled = threading.Event()  # ready, or over before it was
        self._port: int | None = None
        self._failure: SandboxLost | None = None

    def start(self, ready_seconds: float = 10.0) -> int:
        """The relay listens; returns the port on the workspace's loopback.

        Raises:
            SandboxLost: it does not, within `ready_seconds`; the proxy is closed.
        """
        self._pump.start()
        self._resolvers.start()
        self._thread.start()
        self._settled.wait(ready_seconds)
        if self._port is None:
            self.close()
            raise self._failure or SandboxLost("the egress relay did not start")
        return self._port

    @property
    def failure(self) -> SandboxLost | None:
        """Why the proxy ended by itself; None while it serves and after `close`."""
        return self._failure

    def close(self) -> None:
        """Every connection is ended and audited, the stream is closed, the threads are joined. Idempotent."""
        self._stopping.set()
        self.wake()
        if self._thread.ident is None:
            self._end()
        else:
            self._thread.join(_JOIN_SECONDS)
            if self._thread.is_alive():  # stuck in what was injected: the network ends all the same
                self._pump.close(0.0)

    def wake(self) -> None:
        """Make the loop look around now, from any thread."""
        # Under the lock, so that a late worker never writes to a descriptor that was closed and given out again.
        with self._wake_lock, contextlib.suppress(OSError):
            self._wake_out.send(b"\0")  # a full buffer is a wake that is already pending

    def __enter__(self) -> EgressProxy:
        """Itself; `start` is called by the user, who wants the port."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closed."""
        self.close()

    # --- the loop

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._turn()
        except SandboxLost as lost:
            self._failure = lost
        except Exception as error:  # outermost frame of the thread: whatever went wrong, there is no network
            self._failure = SandboxLost(f"the egress proxy failed: {type(error).__name__}")
            self._failure.__cause__ = error
        finally:
            self._end()

    def _turn(self) -> None:
        for key, mask in self._selector.select(_TURN_SECONDS):
            connection: Connection | None = key.data
            if connection is None:
                self._clear_wakes()
            else:
                connection.on_remote(mask)
                self._settle(connection)
        for answer in self._resolvers.answers():
            asker = self._connections.get(answer.connection)
            if asker is not None:
                asker.on_resolved(answer.addresses)
                self._settle(asker)
        self._take_frames()
        now = self._services.clock()
        for connection in list(self._connections.values()):
            connection.check_time(now)
            self._settle(connection)

    def _take_frames(self) -> None:
        chunks = self._pump.received(_CHUNKS_PER_TURN)
        for chunk in chunks:
            if not chunk:
                raise SandboxLost("the egress relay has ended")
            for frame in self._reader.feed(chunk):
                self._take(frame)
        if len(chunks) == _CHUNKS_PER_TURN:
            self.wake()

    def _take(self, frame: Frame) -> None:
        if frame.kind is FrameKind.READY:
            self._take_ready(frame)
            return
        if frame.kind is FrameKind.OPEN:
            self._open(frame.connection)
            return
        if not 0 < frame.connection <= self._last_number:
            raise SandboxLost("the egress relay spoke of a connection that it never opened")
        connection = self._connections.get(frame.connection)
        if connection is None:
            return  # it was ended from here while the frame was on its way
        if frame.kind is FrameKind.DATA:
            connection.on_data(frame.payload)
        elif frame.kind is FrameKind.END:
            connection.on_end()
        elif frame.kind is FrameKind.WINDOW:
            connection.on_window(frame.number)
        else:
            connection.cut("egress.closed")
        self._settle(connection)

    def _take_ready(self, frame: Frame) -> None:
        if self._port is not None or frame.connection or not frame.number:
            raise SandboxLost("the egress relay announced itself wrongly")
        self._port = frame.number
        self._settled.set()

    def _open(self, number: int) -> None:
        if self._port is None or number <= self._last_number:
            raise SandboxLost("the egress relay opened a connection out of order")
        if len(self._connections) >= self._limits.connections:
            raise SandboxLost("the egress relay opened more connections than it may")
        if self._opened >= self._limits.connections_total:
            raise SandboxLost("the run has used up its number of connections")
        self._last_number = number
        self._opened += 1
        self._connections[number] = Connection(number, self._services)
        self._connections[number].begin()

    def _settle(self, connection: Connection) -> None:
        """Bring the selector and the table in line with what the connection wants now."""
        remote = connection.remote
        if connection.over:
            self._connections.pop(connection.number, None)
            if remote is not None:
                self._unwatch(remote)
            return
        if remote is None:
            return
        if connection.interest == 0:
            self._unwatch(remote)
        elif remote not in self._selector.get_map():
            self._selector.register(remote, connection.interest, connection)
        elif self._selector.get_key(remote).events != connection.interest:
            self._selector.modify(remote, connection.interest, connection)

    def _unwatch(self, remote: socket.socket) -> None:
        with contextlib.suppress(KeyError, ValueError):  # not watched; and closed besides
            self._selector.unregister(remote)

    def _clear_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake_in.recv(4096):
                pass

    # --- the end

    def _end(self) -> None:
        """Nothing is left open. Runs once, at the loop's end, whatever ended it."""
        rule = "egress.closed" if self._failure is None else "egress.failed"
        for connection in self._connections.values():
            with contextlib.suppress(Exception):  # an audit that fails must not keep the other sockets open
                connection.cut(rule)
        self._connections.clear()
        if self._failure is not None:
            with contextlib.suppress(Exception):  # as above
                self._services.audit(EgressEvent(0, "", 0, "", False, rule, rule, 0, 0, 0.0))
        self._pump.close(_JOIN_SECONDS / 2)
        self._resolvers.close()
        self._selector.close()
        with self._wake_lock:
            self._wake_out.close()
        self._wake_in.close()
        self._settled.set()
