"""The egress relay: carries loopback connections over its own stdin and stdout to the controller, and decides nothing.

The workspace has no network but loopback. Started by the controller as user `relay`, this program listens on
127.0.0.1 and wraps every accepted connection in frames: u8 type, u32 connection, u32 length (big endian), payload.

    READY   relay → host   payload u16: the port that is listened on; sent once, first
    OPEN    relay → host   a new connection; numbers only grow and are never used twice
    DATA    both ways      1 byte to 64 KiB
    END     both ways      no more data from this side
    CLOSE   both ways      the connection is over; what was sent before it is still delivered
    WINDOW  both ways      payload u32: so many more bytes may be sent

Each direction of a connection starts with a credit of 128 KiB, so that a slow reader stops only its own connection
and no buffer grows beyond that. When stdin ends, the relay ends, and with it the only way out.

Only the standard library is used; the program runs with `python3 -I -S`. It shares a container with hostile code, so
the controller believes nothing that it says.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import selectors
import socket
import struct
import sys
import time

HEADER = struct.Struct(">BII")
READY, OPEN, DATA, END, CLOSE, WINDOW = range(1, 7)

MAX_PAYLOAD_BYTES = 64 * 1024
WINDOW_BYTES = 128 * 1024
GRANT_BYTES = WINDOW_BYTES // 4  # credit goes back in lumps, not per read
CHUNK_BYTES = 32 * 1024
MAX_CONNECTIONS = 64  # further ones wait in the kernel's backlog
SINK_HIGH_BYTES = 512 * 1024  # above this, clients are not read until the controller has caught up
LINGER_SECONDS = 10.0  # for a client that does not read what is left after CLOSE
DEFAULT_PORT = 3128
PR_SET_DUMPABLE = 4


class Connection:
    """One accepted connection."""

    def __init__(self, number: int, client: socket.socket) -> None:
        self.number = number
        self.client = client
        self.pending = bytearray()  # for the client, at most WINDOW_BYTES
        self.credit = WINDOW_BYTES  # bytes that the controller takes now
        self.ungranted = 0
        self.client_ended = False
        self.host_ended = False
        self.shut = False
        self.linger_until: float | None = None
        self.mask = 0


class Relay:
    """The listener, its connections, and the two pipes to the controller."""

    def __init__(self, listener: socket.socket, source: int, sink: int) -> None:
        self.listener = listener
        self.source = source
        self.sink = sink
        self.inbound = bytearray()
        self.outbound = bytearray()
        self.connections: dict[int, Connection] = {}
        self.last_number = 0
        self.selector = selectors.DefaultSelector()
        self.selector.register(source, selectors.EVENT_READ)
        self.masks: dict[int, int] = {}

    def run(self) -> None:
        """Relay until stdin ends or stdout breaks."""
        self._send(READY, 0, struct.pack(">H", self.listener.getsockname()[1]))
        while True:
            self._refresh_interest()
            for key, mask in self.selector.select(1.0 if self._lingering() else None):
                if key.fd == self.source:
                    if not self._read_source():
                        return
                elif key.fd == self.sink:
                    self._write_sink()
                elif key.fd == self.listener.fileno():
                    self._accept()
                else:
                    self._serve(key.data, mask)
            self._drop_lingering()

    # --- the controller's side

    def _send(self, kind: int, number: int, payload: bytes = b"") -> None:
        self.outbound += HEADER.pack(kind, number, len(payload)) + payload

    def _read_source(self) -> bool:
        try:
            data = os.read(self.source, 256 * 1024)
        except BlockingIOError:
            return True
        if not data:
            return False
        self.inbound += data
        offset = 0
        while len(self.inbound) - offset >= HEADER.size:
            kind, number, length = HEADER.unpack_from(self.inbound, offset)
            if length > MAX_PAYLOAD_BYTES:
                raise SystemExit("the controller sent an oversized frame")
            if len(self.inbound) - offset < HEADER.size + length:
                break
            start = offset + HEADER.size
            self._handle(kind, number, bytes(self.inbound[start : start + length]))
            offset = start + length
        del self.inbound[:offset]
        return True

    def _write_sink(self) -> None:
        try:
            sent = os.write(self.sink, self.outbound[:CHUNK_BYTES])
        except BlockingIOError:
            return
        del self.outbound[:sent]

    def _handle(self, kind: int, number: int, payload: bytes) -> None:
        connection = self.connections.get(number)
        if connection is None:
            return  # it was closed from here while the frame was on its way
        if kind == DATA:
            connection.pending += payload
            self._flush(connection)
        elif kind == WINDOW:
            connection.credit += struct.unpack(">I", payload)[0]
        elif kind == END:
            connection.host_ended = True
            self._flush(connection)
        elif kind == CLOSE:
            connection.linger_until = time.monotonic() + LINGER_SECONDS
            self._flush(connection)

    # --- the clients' side

    def _accept(self) -> None:
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.last_number += 1
        self.connections[self.last_number] = Connection(self.last_number, client)
        self._send(OPEN, self.last_number)

    def _serve(self, connection: Connection, mask: int) -> None:
        if connection.number not in self.connections:
            return  # dropped by an earlier event of the same round
        if mask & selectors.EVENT_WRITE:
            self._flush(connection)
        if mask & selectors.EVENT_READ and connection.number in self.connections:
            self._read_client(connection)

    def _read_client(self, connection: Connection) -> None:
        try:
            data = connection.client.recv(min(CHUNK_BYTES, connection.credit))
        except BlockingIOError:
            return
        except OSError:
            self._drop(connection)
            return
        if data:
            connection.credit -= len(data)
            self._send(DATA, connection.number, data)
        else:
            connection.client_ended = True
            self._send(END, connection.number)

    def _flush(self, connection: Connection) -> None:
        try:
            while connection.pending:
                sent = connection.client.send(connection.pending)
                del connection.pending[:sent]
                connection.ungranted += sent
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)
            return
        if connection.ungranted >= GRANT_BYTES:
            self._send(WINDOW, connection.number, struct.pack(">I", connection.ungranted))
            connection.ungranted = 0
        if connection.pending:
            return
        if connection.linger_until is not None:
            self._drop(connection)
        elif connection.host_ended and not connection.shut:
            connection.shut = True
            try:
                connection.client.shutdown(socket.SHUT_WR)
            except OSError:
                self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._watch(connection.client.fileno(), 0, connection)
        connection.client.close()
        del self.connections[connection.number]
        self._send(CLOSE, connection.number)

    # --- what is waited for

    def _lingering(self) -> bool:
        return any(connection.linger_until is not None for connection in self.connections.values())

    def _drop_lingering(self) -> None:
        now = time.monotonic()
        for connection in list(self.connections.values()):
            if connection.linger_until is not None and now >= connection.linger_until:
                self._drop(connection)

    def _refresh_interest(self) -> None:
        roomy = len(self.outbound) < SINK_HIGH_BYTES
        accepting = roomy and len(self.connections) < MAX_CONNECTIONS
        self._watch(self.sink, selectors.EVENT_WRITE if self.outbound else 0)
        self._watch(self.listener.fileno(), selectors.EVENT_READ if accepting else 0)
        for connection in self.connections.values():
            mask = selectors.EVENT_WRITE if connection.pending else 0
            open_for_reading = not connection.client_ended and connection.linger_until is None
            if roomy and connection.credit > 0 and open_for_reading:
                mask |= selectors.EVENT_READ
            self._watch(connection.client.fileno(), mask, connection)

    def _watch(self, descriptor: int, mask: int, data: Connection | None = None) -> None:
        before = self.masks.get(descriptor, 0)
        if mask == before:
            return
        if not mask:
            self.selector.unregister(descriptor)
            del self.masks[descriptor]
            return
        self.masks[descriptor] = mask
        if before:
            self.selector.modify(descriptor, mask, data)
        else:
            self.selector.register(descriptor, mask, data)


def main() -> None:
    """Listen, then relay until stdin ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 lets the kernel choose; READY names it")
    port = parser.parse_args().port
    # Not traceable and no readable /proc entries, even for another program of the same user.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    # Fails, and so ends the relay, when other code took the port first: then there is no network.
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    listener.setblocking(False)
    source, sink = sys.stdin.fileno(), sys.stdout.fileno()
    os.set_blocking(source, False)
    os.set_blocking(sink, False)
    try:
        Relay(listener, source, sink).run()
    except ConnectionError:  # the controller is gone
        return


if __name__ == "__main__":
    main()
