"""A `ByteStream` whose other side says what a test wrote down, however hostile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runner.engine.frames import Frame, FrameDecoder, encode_frame

__all__ = ["ScriptedStream", "answer"]

HELLO = {"id": 1, "kind": "ok", "protocol": 3}


def answer(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """A frame with any head."""
    return encode_frame(head, body)


class ScriptedStream:
    """Greets, then gives `pieces` one by one; after them it is silent, or at its end when `ends`."""

    def __init__(self, pieces: Iterable[bytes] = (), *, ends: bool = False) -> None:
        self.pieces = [answer(HELLO), *pieces]
        self.ends = ends
        self.closed = False
        self.reads = 0
        self._sent = FrameDecoder()

    def write(self, data: bytes) -> None:
        self._sent.feed(data)

    def sent(self) -> list[Frame]:
        """The frames that the host has sent since the last call."""
        frames = []
        while (frame := self._sent.next()) is not None:
            frames.append(frame)
        return frames

    def read(self, timeout: float) -> bytes:
        self.reads += 1
        if self.pieces:
            return self.pieces.pop(0)
        if self.ends:
            return b""
        raise TimeoutError

    def close(self) -> None:
        self.closed = True
