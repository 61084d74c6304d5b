"""Two threads around a byte stream, so that neither a blocking read nor a blocking write can stop the proxy's loop.

Both directions are bounded: what is read waits in a short queue, and what is to be written may not exceed a cap that
the credit windows make unreachable for a relay that keeps the protocol.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

from runner.engine.contract import ByteStream
from runner.model.errors import SandboxLost

__all__ = ["StreamPump"]

_POLL_SECONDS = 0.2  # how soon a blocked thread notices that the pump was closed
_QUEUED_READS = 32
_WRITE_BYTES = 64 * 1024


class StreamPump:
    """Reads ahead from a stream and writes behind to it."""

    def __init__(self, stream: ByteStream, wake: Callable[[], None], max_unsent_bytes: int) -> None:
        self._stream = stream
        self._wake = wake
        self._max_unsent_bytes = max_unsent_bytes
        self._inbound: queue.Queue[bytes] = queue.Queue(_QUEUED_READS)
        self._outbound = bytearray()
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._threads = (
            threading.Thread(target=self._read, name="egress-read", daemon=True),
            threading.Thread(target=self._write, name="egress-write", daemon=True),
        )

    def start(self) -> None:
        """Both threads run."""
        for thread in self._threads:
            thread.start()

    def send(self, data: bytes) -> None:
        """`data` will be written in order.

        Raises:
            SandboxLost: more is unsent than the protocol allows; the relay does not read.
        """
        with self._changed:
            if len(self._outbound) + len(data) > self._max_unsent_bytes:
                raise SandboxLost("the egress relay does not take what it asked for")
            self._outbound += data
            self._changed.notify()

    def received(self, most: int) -> list[bytes]:
        """Up to `most` chunks that were read. An empty chunk is the end of the stream."""
        chunks: list[bytes] = []
        with contextlib.suppress(queue.Empty):
            while len(chunks) < most:
                chunks.append(self._inbound.get_nowait())
        return chunks

    def close(self, join_seconds: float) -> None:
        """The stream is closed and the threads have ended, or were given `join_seconds` to."""
        self._closed.set()
        with self._changed:
            self._changed.notify()
        self._stream.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(join_seconds / len(self._threads))

    def _read(self) -> None:
        while not self._closed.is_set():
            try:
                data = self._stream.read(_POLL_SECONDS)
            except TimeoutError:
                continue
            except Exception:  # outermost frame of the thread: whatever went wrong, the stream is over
                data = b""
            self._put(data)
            if not data:
                return

    def _put(self, data: bytes) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._inbound.put(data, timeout=_POLL_SECONDS)
                break
        self._wake()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._outbound or self._closed.is_set())
                if self._closed.is_set():
                    return
                data = bytes(self._outbound[:_WRITE_BYTES])
                del self._outbound[:_WRITE_BYTES]
            try:
                self._stream.write(data)
            except Exception:  # outermost frame of the thread: whatever went wrong, the stream is over
                self._put(b"")
                return
