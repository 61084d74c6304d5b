"""Requests and answers over one `ByteStream` to a helper that is not trusted.

Every answer belongs to the request that it names, comes in time and in the frames' form, or the exchange has ended.
Once it has, every later operation fails at once with the same error, because what a lost helper last did is unknown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from runner.engine.contract import REFUSALS, ByteStream, FileRefused
from runner.engine.frames import Frame, FrameDecoder, broken, encode_frame
from runner.engine.helper_answers import decode_refusal
from runner.model.errors import SandboxLost

__all__ = ["FILE_SECONDS", "SILENCE_SECONDS", "Begun", "Exchange", "Kind"]

FILE_SECONDS = 10.0  # a file operation is local to a memory file system: milliseconds
SILENCE_SECONDS = 4.0  # until a silence is looked into: twice is less than the 10 s in which a dead workspace is told


class Kind(StrEnum):
    """What a frame of an answer is: a part of it, or its end."""

    DATA = "data"
    OUT = "out"
    WANT = "want"
    OK = "ok"
    FAULT = "fault"
    FAILED = "failed"


class Begun:
    """A request that was sent, and until when its answer may take."""

    __slots__ = ("deadline", "id", "op", "started")

    def __init__(self, request: int, op: str, now: float, seconds: float) -> None:
        self.id = request
        self.op = op
        self.started = now
        self.deadline = now + seconds


class Exchange:
    """One operation at a time, each of one request or a few."""

    def __init__(
        self, stream: ByteStream, clock: Callable[[], float], named: str, why_silent: Callable[[], str | None]
    ) -> None:
        self._stream = stream
        self._named = named
        self._why_silent = why_silent
        self._clock = clock
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._decoder = FrameDecoder()
        self._last_id = 0
        self._held = b""
        self._midway = False
        self._lost: SandboxLost | None = None

    @contextmanager
    def _operation(self) -> Iterator[None]:
        """One operation has the channel; what ends the channel is remembered."""
        with self._lock:
            if self._midway and self._lost is None:
                self._lost = SandboxLost(f"a call to {self._named} was interrupted, what it did is unknown")
            if self._lost is not None:
                raise SandboxLost(self._lost.message, hint=self._lost.hint)
            self._midway = True
            try:
                yield
            except FileRefused:
                self._midway = False
                raise
            except SandboxLost as error:
                self._lost = SandboxLost(f"{self._named} is lost: {error.message}", hint=error.hint)
                self._stream.close()
                raise self._lost from error
            self._midway = False

    def _begin(self, op: str, fields: Mapping[str, Any], body: bytes, seconds: float, *, held: bool = False) -> Begun:
        """The request is sent; one that is `held` goes out together with the next."""
        self._last_id += 1
        begun = Begun(self._last_id, op, self._clock(), seconds)
        head = {"id": begun.id, "op": op, **fields}
        if held:
            self._held += encode_frame(head, body)
        else:
            self._send(head, body)
        return begun

    def _send(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        data = encode_frame(head, body)
        with self._write_lock:
            held, self._held = self._held, b""
            self._stream.write(held + data)

    def _receive(self, begun: Begun) -> Frame:
        """The next frame of the answer, in time."""
        while (frame := self._decoder.next()) is None:
            data = self._read(begun)
            if not data:
                raise SandboxLost(
                    "it has ended",
                    hint="It reached its deadline, ran out of memory, killed its helper, or the engine broke off.",
                )
            self._decoder.feed(data)
        if frame.head.integer("id") != begun.id:
            broken("an answer to another request")
        return frame

    def _read(self, begun: Begun) -> bytes:
        """What comes next, in time; a silence on the way is looked into."""
        left = begun.deadline - self._clock()
        while left > 0:
            wait = min(left, SILENCE_SECONDS)
            try:
                return self._stream.read(wait)
            except TimeoutError:
                left = min(left - wait, begun.deadline - self._clock())
            why = self._why_silent()
            if why is not None:
                raise SandboxLost(why, hint="Start a new run.")
        broken("it did not answer in time")

    def _answer(self, begun: Begun, path: str) -> Iterator[tuple[Frame, bool]]:
        """The frames of an answer, and with each whether it is the last."""
        while True:
            frame = self._receive(begun)
            kind = frame.head.word("kind", Kind)
            if kind is Kind.DATA:
                if not frame.body:
                    broken("an empty piece")
                frame.head.only(("id", "kind"))
                yield frame, False
                continue
            self._raise_unless_ok(frame, kind, begun.op, path)
            yield frame, True

    def _raise_unless_ok(self, frame: Frame, kind: Kind, op: str, path: str) -> None:
        if kind is Kind.FAULT:
            refused = decode_refusal(frame.head, path)
            if refused.fault not in REFUSALS.get(op, ()):
                # Nobody expects it there: let through, it would look like a bug of the controller.
                broken(f"a refusal ({refused.fault}) that {op} cannot have: {refused.detail}")
            raise refused
        if kind is Kind.FAILED:
            broken(f"it failed: {frame.head.text('detail')}")
        if kind is not Kind.OK:
            broken("an answer of another kind")

    def _only_answer(self, begun: Begun, path: str, *, with_body: bool = False) -> Frame:
        """The answer, where it is one frame."""
        frame, last = next(self._answer(begun, path))
        if not last or (frame.body and not with_body):
            broken("an answer is longer than it should be")
        return frame

    def _simple(self, op: str, path: str, fields: Mapping[str, Any], *, with_body: bool = False) -> Frame:
        return self._only_answer(self._begin(op, fields, b"", FILE_SECONDS), path, with_body=with_body)
