"""A held exec of a container as a `ByteStream`: the raw attach socket, demultiplexed by us.

The SDK's own reader leaves sockets open and its time-out does not bound an exec, so the socket is taken over here, with
a bound on each read and write and an explicit close of all that belongs to it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from typing import Any

from runner.model.errors import SandboxLost

__all__ = ["DockerStream"]

_HEADER = struct.Struct(">BxxxL")  # the engine's attach format: stream number, three zero bytes, length
_STDOUT, _STDERR = 1, 2
_RECV_BYTES = 256 * 1024
_STDERR_TAIL_BYTES = 4096  # enough for the reason of an early end; the rest is dropped
_WRITE_TIMEOUT_SECONDS = 10.0  # the helper takes in whatever is sent at any time


class DockerStream:
    """Both directions of one exec. Standard error of the process is kept as a short tail for diagnosis only."""

    def __init__(self, attached: Any) -> None:
        # SocketIO of a Unix-socket connection, or the socket itself of a TCP one.
        self._attached = attached
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._socket.setblocking(False)
        self._pending = bytearray()
        self._frame_left = 0
        self._frame_stream = _STDOUT
        self.stderr_tail = b""

    def write(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            SandboxLost: when the other side is gone or does not read for 10 s.
        """
        unsent = memoryview(data)
        try:
            while unsent:
                try:
                    unsent = unsent[self._socket.send(unsent) :]
                except BlockingIOError:
                    if not self._ready(select.POLLOUT, _WRITE_TIMEOUT_SECONDS):
                        raise TimeoutError("nothing is read on the other side") from None
        except (OSError, ValueError) as error:
            raise SandboxLost("its stream is closed", hint="The container has ended.") from error

    def read(self, timeout: float) -> bytes:
        """The next bytes of standard output, `b""` at its end.

        Raises:
            TimeoutError: when none came within `timeout` seconds, however much standard error did.
            SandboxLost: when the engine breaks its own format.
        """
        left, give_up = timeout, time.monotonic() + timeout
        while True:
            data = self._take()
            if data:
                return data
            if left < 0:
                raise TimeoutError("nothing came from inside in time")
            if not self._fill(left):
                return b""
            left = give_up - time.monotonic()

    def _fill(self, timeout: float) -> bool:
        try:
            try:
                chunk = self._socket.recv(_RECV_BYTES)
            except BlockingIOError:
                if not self._ready(select.POLLIN, timeout):
                    raise TimeoutError("nothing came from inside in time") from None
                chunk = self._socket.recv(_RECV_BYTES)
        except TimeoutError:
            raise
        except (OSError, ValueError):
            return False
        self._pending += chunk
        return bool(chunk)

    def _ready(self, event: int, timeout: float) -> bool:
        """Whether the socket became ready within `timeout` s.

        A poll of the call's own: one thread may read while another writes, so neither may set the socket's time-out.
        """
        poll = select.poll()
        poll.register(self._socket.fileno(), event)
        return bool(poll.poll(timeout * 1000))

    def _take(self) -> bytes:
        """Consume what is buffered up to the next piece of standard output, which is returned."""
        pending = self._pending
        while pending:
            if self._frame_left == 0:
                if len(pending) < _HEADER.size:
                    return b""
                self._frame_stream, self._frame_left = _HEADER.unpack_from(pending)
                if self._frame_stream not in (_STDOUT, _STDERR):
                    raise SandboxLost("the engine's stream is out of step")
                del pending[: _HEADER.size]
                continue
            with memoryview(pending) as view:
                piece = bytes(view[: self._frame_left])
            del pending[: len(piece)]
            self._frame_left -= len(piece)
            if self._frame_stream == _STDOUT and piece:
                return piece
            self.stderr_tail = (self.stderr_tail + piece)[-_STDERR_TAIL_BYTES:]
        return b""

    def end(self, timeout: float) -> bool:
        """Close the sending direction and wait until the process has ended; False when it does not within `timeout` s.

        What it still says is dropped.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        give_up = time.monotonic() + timeout
        try:
            while self.read(max(0.0, give_up - time.monotonic())):
                pass
        except (TimeoutError, SandboxLost):
            return False
        return True

    def close(self) -> None:
        """Close both directions, and the HTTP response that the socket came from."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for owner in (self._socket, self._attached, getattr(self._attached, "_response", None)):
            if owner is not None:
                with contextlib.suppress(OSError, ValueError):
                    owner.close()
