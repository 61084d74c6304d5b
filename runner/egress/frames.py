"""The frames between the relay inside the workspace and the proxy on the host, without any IO.

`images/workspace/relay.py` describes the protocol and has its own copy of it, because it runs alone. A frame is u8
type, u32 connection, u32 length (big endian) and a payload. The relay is untrusted: type and length are judged before
the payload is waited for, and bytes that are no frame raise `SandboxLost` and nothing else.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from runner.model.errors import SandboxLost

__all__ = ["MAX_PAYLOAD_BYTES", "WINDOW_BYTES", "Frame", "FrameKind", "FrameReader", "encode", "encode_window"]

MAX_PAYLOAD_BYTES = 64 * 1024
"""Of one frame."""

WINDOW_BYTES = 128 * 1024
"""Credit that each direction of a connection starts with: two full frames in flight, 16 MiB over 64 connections."""

_HEADER = struct.Struct(">BII")


class FrameKind(IntEnum):
    """What a frame says. The numbers are the protocol's."""

    READY = 1
    OPEN = 2
    DATA = 3
    END = 4
    CLOSE = 5
    WINDOW = 6


# Shortest and longest payload of each kind, in bytes.
_PAYLOAD_BYTES = {
    FrameKind.READY: (2, 2),
    FrameKind.OPEN: (0, 0),
    FrameKind.DATA: (1, MAX_PAYLOAD_BYTES),
    FrameKind.END: (0, 0),
    FrameKind.CLOSE: (0, 0),
    FrameKind.WINDOW: (4, 4),
}


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame whose length fits its kind. Nothing else about it is proved."""

    kind: FrameKind
    connection: int
    payload: bytes = b""

    @property
    def number(self) -> int:
        """The payload as an unsigned number: the port of READY, the credit of WINDOW."""
        return int.from_bytes(self.payload, "big")


def encode(kind: FrameKind, connection: int, payload: bytes = b"") -> bytes:
    """The frame as bytes.

    Raises:
        ValueError: the payload's length does not fit the kind; that is a bug on this side.
    """
    least, most = _PAYLOAD_BYTES[kind]
    if not least <= len(payload) <= most:
        raise ValueError(f"{kind.name} cannot carry {len(payload)} bytes")
    return _HEADER.pack(kind, connection, len(payload)) + payload


def encode_window(connection: int, credit: int) -> bytes:
    """A WINDOW frame that grants `credit` bytes more."""
    return encode(FrameKind.WINDOW, connection, struct.pack(">I", credit))


class FrameReader:
    """Cuts the relay's bytes into frames. Holds at most one unfinished frame between calls."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete with `data`, in order.

        Raises:
            SandboxLost: the bytes are no frame; the reader must not be used again.
        """
        self._buffer += data
        frames: list[Frame] = []
        offset = 0
        while len(self._buffer) - offset >= _HEADER.size:
            kind, connection, length = self._header(offset)
            start = offset + _HEADER.size
            if len(self._buffer) - start < length:
                break
            frames.append(Frame(kind, connection, bytes(self._buffer[start : start + length])))
            offset = start + length
        del self._buffer[:offset]
        return frames

    def _header(self, offset: int) -> tuple[FrameKind, int, int]:
        number, connection, length = _HEADER.unpack_from(self._buffer, offset)
        try:
            kind = FrameKind(number)
        except ValueError:
            raise SandboxLost("the egress relay sent a frame of an unknown kind") from None
        least, most = _PAYLOAD_BYTES[kind]
        if not least <= length <= most:
            raise SandboxLost(f"the egress relay sent a {kind.name} frame of {length} bytes")
        return kind, connection, length
