"""What the host sends to the helper, made safe to send, and what it keeps of a program while that runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from runner.engine.contract import FileFault, FileRefused, KilledBy, Scan, SearchRequest, SpawnRequest, SpawnResult
from runner.engine.frames import BODY_MAX_BYTES, broken
from runner.engine.helper_answers import Ending
from runner.engine.helper_ere import BadPattern, translate_ere

__all__ = ["Run", "microseconds", "not_started", "search_body", "sendable_path", "spawn_words"]

PATH_MAX_CHARS = 5000  # above the kernel's 4096, so that the helper gives the verdict on all that fits a head
SEARCH_MAX_BYTES = 64 * 1024  # pattern and globs; the kernel allows a program 128 KiB for one argument
# Input travels in pieces of this size, several at once (the helper's STDIN_AHEAD), so that neither side waits for the
# other's round trip. They need not fit into any pipe: the helper takes in what is sent to it also while it is stuck
# sending output, so the host is never stuck for good.
STDIN_PIECE_BYTES = 256 * 1024
STDIN_AHEAD = 4


class Run:
    """What is known of a program while it runs."""

    def __init__(self, request: SpawnRequest) -> None:
        self.request = request
        self.stdin = None if request.stdin is None else _pieces(request.stdin)
        self.input_left = request.stdin is not None
        self._may_want = 0 if request.stdin is None else STDIN_AHEAD
        self.ending: Ending | None = None
        self.caller_error: Exception | None = None
        self._kept = (bytearray(), bytearray())
        self._received = [0, 0]

    @property
    def received(self) -> tuple[int, int]:
        """Bytes of stdout and stderr that came."""
        return self._received[0], self._received[1]

    def count(self, stream: int, data: bytes) -> None:
        """Output has come. Raises SandboxLost beyond the cap."""
        self._received[stream - 1] += len(data)
        if not data or self._received[stream - 1] > self.request.output_cap_bytes:
            broken("more output than the cap")

    def hand_over(self, stream: int, data: bytes) -> None:
        """Output is handed on or kept."""
        if self.request.watch is not None:
            self.request.watch("stdout" if stream == 1 else "stderr", data)
        if self.request.sink is not None:
            self.request.sink("stdout" if stream == 1 else "stderr", data)
        else:
            self._kept[stream - 1].extend(data)

    def wanted(self, pieces: int) -> None:
        """The helper asks for so much more. Raises SandboxLost when it would then hold more than it may."""
        self._may_want -= pieces
        if self._may_want < 0:
            broken("it asks for input that it may not have")

    def next_input(self) -> bytes:
        """The next piece of input, empty at its end."""
        piece = next(self.stdin, b"") if self.stdin is not None else b""
        self._may_want += 1 if piece else 0
        return piece

    def result(self, duration_ms: float, scan: Scan | None) -> SpawnResult:
        """The contract's words for how it ended."""
        ending = self.ending
        if ending is None:
            raise AssertionError("a program's result is asked for before its end")
        if not ending.started:
            return replace(not_started(self.request, ending.exit or 126, ending.detail, duration_ms), scan=scan)
        return SpawnResult(
            exit=ending.exit,
            stdout=bytes(self._kept[0]),
            stderr=bytes(self._kept[1]),
            stdout_bytes=ending.stdout_bytes,
            stderr_bytes=ending.stderr_bytes,
            truncated=max(ending.stdout_bytes, ending.stderr_bytes) > self.request.output_cap_bytes,
            timed_out=ending.killed_by is KilledBy.DEADLINE,
            duration_ms=duration_ms,
            killed_by=ending.killed_by,
            survivors_killed=ending.survivors,
            limits_met=ending.limits,
            scan=scan,
        )


def _pieces(chunks: Any) -> Iterator[bytes]:
    """Input cut into pieces that fit a frame; empty chunks are no end."""
    for chunk in chunks:
        view = memoryview(chunk)
        for start in range(0, len(view), STDIN_PIECE_BYTES):
            yield bytes(view[start : start + STDIN_PIECE_BYTES])


def microseconds(seconds: float) -> int:
    """Whole microseconds, the protocol's unit of time."""
    return max(0, int(seconds * 1_000_000))


def sendable_path(path: str) -> str:
    """The path, if it can be a file name at all and fits a head. Raises FileRefused."""
    if len(path) > PATH_MAX_CHARS:
        raise FileRefused(FileFault.NAME_TOO_LONG, path[:200])
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise FileRefused(FileFault.DENIED, path, "not a file name") from None
    return path


def search_body(request: SearchRequest) -> bytes:
    """Pattern and globs, NUL between. Raises FileRefused for what cannot be searched for."""
    try:
        pattern = translate_ere(request.pattern) if request.regex else request.pattern
        if "\n" in pattern or any("\0" in word for word in (pattern, *request.globs)):
            raise BadPattern("a line holds neither a line end nor NUL")
        body = "\0".join((pattern, *request.globs)).encode("utf-8")
        if len(body) > SEARCH_MAX_BYTES:
            raise BadPattern("pattern and globs are too long")
    except ValueError as error:
        raise FileRefused(FileFault.BAD_PATTERN, ".", str(error)) from None
    return body


def spawn_words(request: SpawnRequest) -> bytes | SpawnResult:
    """Arguments and environment, NUL after each; or the answer, where they or the folder can be no program's."""
    if not request.argv or not request.argv[0]:
        return not_started(request, 127, "no program is named", 0.0)
    try:
        sendable_path(request.cwd)
    except FileRefused as refused:
        return not_started(request, 126, f"its folder cannot be entered ({refused.fault})", 0.0)
    words = (*request.argv, *(f"{name}={value}" for name, value in request.env.items()))
    if any("\0" in word for word in words):
        return not_started(request, 126, "an argument or variable holds NUL", 0.0)
    try:
        body = b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)
    except UnicodeEncodeError:
        return not_started(request, 126, "an argument or variable is not text", 0.0)
    if len(body) > BODY_MAX_BYTES:
        return not_started(request, 126, "the argument list is too long", 0.0)
    return body


def not_started(request: SpawnRequest, code: int, why: str, duration_ms: float) -> SpawnResult:
    """The answer for a program that could not be started."""
    name = request.argv[0][:200] if request.argv else ""
    text = f"{name}: {why}\n".encode("utf-8", "replace")
    return SpawnResult(
        exit=code,
        stdout=b"",
        stderr=text,
        stdout_bytes=0,
        stderr_bytes=len(text),
        truncated=False,
        timed_out=False,
        duration_ms=duration_ms,
        started=False,
    )
