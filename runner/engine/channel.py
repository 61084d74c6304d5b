"""The host's end of the helper: a sandbox's operations over one `ByteStream`.

One operation at a time, one write and usually one read for each, no thread. The helper is not trusted: every answer is
bounded by what was asked for, and an answer that is late, too long or malformed ends the channel. Once it has ended,
every later call fails at once with the same error, because what a lost helper last did is unknown.

The bounds on time are backstops. The helper keeps the deadlines of searches and programs itself. A silence within them
is looked into, so that a workspace that cannot answer any more is told from a program that takes its time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from typing import TypeVar

from runner.engine.contract import (
    ByteStream,
    FileContent,
    FileRefused,
    GuestPosture,
    Listing,
    ListingEntry,
    Look,
    Resolved,
    Scan,
    SearchMatch,
    SearchRequest,
    SearchResult,
    SpawnRequest,
    SpawnResult,
)
from runner.engine.exchange import FILE_SECONDS, Begun, Exchange, Kind
from runner.engine.frames import BODY_MAX_BYTES, Fields, broken, parse_object
from runner.engine.helper_answers import (
    decode_ending,
    decode_listing,
    decode_matches,
    decode_posture,
    decode_resolved,
    decode_scan,
)
from runner.engine.helper_requests import STDIN_AHEAD, Run, microseconds, search_body, sendable_path, spawn_words
from runner.model.errors import SandboxLost
from runner.model.tree import ScanEntry

__all__ = ["HelperChannel"]

_T = TypeVar("_T")

PROTOCOL = 3
GRACE_SECONDS = 10.0  # on top of a deadline that the helper keeps: killing and collecting
SCAN_SECONDS = 30.0
SCAN_MAX_BYTES = 386 * 1024 * 1024  # the helper's 192 MiB for entries, as much for what is gone, and two frames
DEADLINE_MAX_SECONDS = 7 * 24 * 3600.0
LINE_MAX_BYTES = 64 * 1024


class HelperChannel(Exchange):
    """The operations of a `Sandbox` that the helper carries out. The helper has answered once it is constructed."""

    def __init__(
        self,
        stream: ByteStream,
        *,
        named: str = "the workspace",
        why_silent: Callable[[], str | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`named` is what errors call it. `why_silent` says why no answer can come, None while it still may."""
        super().__init__(stream, clock, named, why_silent)
        self._running: int | None = None
        self._owed: Scan | None = None  # a scan whose caller failed before it could be handed over
        self._scanned = 0  # how many entries the last scan may have listed; no more can be gone
        self.ping()

    # --- files

    def ping(self) -> None:
        """The helper answers and speaks this protocol."""
        with self._operation():
            head = self._simple("ping", ".", {}).head
            head.only(("id", "kind", "protocol"))
            if head.integer("protocol") != PROTOCOL:
                broken("it speaks another version")

    def resolve(self, path: str) -> Resolved:
        """See `Sandbox.resolve`."""
        with self._operation():
            return decode_resolved(self._simple("resolve", path, {"path": sendable_path(path)}).head)

    def read(self, path: str, *, max_bytes: int) -> FileContent:
        """See `Sandbox.read`."""
        with self._operation():
            begun = self._begin("read", {"path": sendable_path(path), "max": max_bytes}, b"", FILE_SECONDS)
            return self._content(begun, path, max_bytes)

    def look(self, path: str, *, max_bytes: int) -> Look:
        """See `Sandbox.look`.

        Both questions are asked at once, of the same path. `read` follows no link: when it has content, that is the
        content of the real path, and when `resolve` says that the path leads elsewhere, it is asked again there.
        """
        with self._operation():
            word = sendable_path(path)
            asked = self._begin("resolve", {"path": word}, b"", FILE_SECONDS, held=True)
            begun = self._begin("read", {"path": word, "max": max_bytes}, b"", FILE_SECONDS)
            where = self._refused_or(lambda: decode_resolved(self._only_answer(asked, path).head))
            content = self._refused_or(lambda: self._content(begun, path, max_bytes))
            if isinstance(where, FileRefused):
                raise where
            if where.path != path:
                again = self._begin("read", {"path": sendable_path(where.path), "max": max_bytes}, b"", FILE_SECONDS)
                content = self._refused_or(lambda: self._content(again, where.path, max_bytes))
            return Look(where, content)

    def _refused_or(self, ask: Callable[[], _T]) -> _T | FileRefused:
        try:
            return ask()
        except FileRefused as refused:
            return refused

    def _content(self, begun: Begun, path: str, max_bytes: int) -> FileContent:
        content = BytesIO()  # not a list: a helper that sends single bytes must not cost forty times as much
        for frame, last in self._answer(begun, path):
            content.write(frame.body)
            if content.tell() > max_bytes:
                broken("more content than was asked for")
            if last:
                break
        frame.head.only(("id", "kind", "size", "mode"))
        data = content.getvalue()  # its own memory, and no copy
        if frame.head.integer("size") != len(data):
            broken("the content does not have the length that it should have")
        mode = frame.head.integer("mode", high=0o7777)
        return FileContent(data, len(data), mode)

    def list(self, path: str, *, max_entries: int) -> Listing:
        """See `Sandbox.list`."""
        with self._operation():
            request = self._begin("list", {"path": sendable_path(path), "max": max_entries}, b"", FILE_SECONDS)
            entries: list[ListingEntry] = []
            for frame, last in self._answer(request, path):
                entries.extend(decode_listing(frame.body))
                if len(entries) > max_entries:
                    broken("more entries than were asked for")
                if last:
                    break
            frame.head.only(("id", "kind", "truncated"))
            names = [os.fsencode(entry.name) for entry in entries]
            if any(name >= after for name, after in pairwise(names)):
                broken("a listing is not sorted")
            return Listing(tuple(entries), frame.head.boolean("truncated"))

    def write(self, path: str, data: bytes, *, expect: str | None = None) -> None:
        """See `Sandbox.write`."""
        with self._operation():
            fields = {"path": sendable_path(path), "size": len(data), "expect": expect}
            request = self._begin("write", fields, data[:BODY_MAX_BYTES], FILE_SECONDS)
            for start in range(BODY_MAX_BYTES, len(data), BODY_MAX_BYTES):
                self._send({"id": request.id, "op": "chunk"}, data[start : start + BODY_MAX_BYTES])
            self._only_answer(request, path).head.only(("id", "kind"))

    def delete(self, path: str, *, expect: str | None = None) -> None:
        """See `Sandbox.delete`."""
        with self._operation():
            self._simple("delete", path, {"path": sendable_path(path), "expect": expect}).head.only(("id", "kind"))

    def search(self, request: SearchRequest) -> SearchResult:
        """See `Sandbox.search`."""
        with self._operation():
            body = search_body(request)
            deadline = min(request.deadline_seconds, DEADLINE_MAX_SECONDS)
            line_max = min(request.max_line_bytes, LINE_MAX_BYTES)
            fields = {
                "literal": not request.regex,
                "ignore_case": request.ignore_case,
                "max": request.max_results,
                "line_max": line_max,
                "deadline_us": microseconds(deadline),
            }
            begun = self._begin("search", fields, body, deadline + GRACE_SECONDS)
            matches: list[SearchMatch] = []
            for frame, last in self._answer(begun, "."):
                matches.extend(decode_matches(frame.body, max_line_bytes=line_max))
                if len(matches) > request.max_results:
                    broken("more matches than were asked for")
                if last:
                    break
            frame.head.only(("id", "kind", "truncated", "timed_out"))
            return SearchResult(tuple(matches), frame.head.boolean("truncated"), frame.head.boolean("timed_out"))

    def scan(self, *, max_entries: int) -> Scan:
        """See `Sandbox.scan`."""
        with self._operation():
            scan = self._scan(self._begin("scan", {"max": max_entries}, b"", SCAN_SECONDS), max_entries)
            owed, self._owed = self._owed, None
            return scan if owed is None else owed.then(scan)

    def _scan(self, request: Begun, max_entries: int) -> Scan:
        """The answer, where a scan was asked for."""
        entries: list[ScanEntry] = []
        removed: list[str] = []
        room, known = SCAN_MAX_BYTES, self._scanned
        for frame, last in self._answer(request, "."):
            room -= len(frame.body)
            if room < 0:
                broken("more of a scan than there can be")
            decode_scan(frame.body, entries, removed)
            if len(entries) > max_entries or len(removed) > known:
                broken("more entries than there can be")
            if last:
                break
        frame.head.only(("id", "kind", "truncated"))
        self._scanned = max_entries
        return Scan(tuple(entries), tuple(removed), frame.head.boolean("truncated"))

    def guest_posture(self, meanwhile: Callable[[], None] = lambda: None) -> GuestPosture:
        """See `Sandbox.guest_posture`."""
        with self._operation():
            begun = self._begin("posture", {}, b"", FILE_SECONDS)
            before = self._clock()
            meanwhile()
            begun.deadline += self._clock() - before
            frame = self._only_answer(begun, ".", with_body=True)
            frame.head.only(("id", "kind"))
            return decode_posture(Fields(parse_object(frame.body)))

    # --- programs

    def spawn(self, request: SpawnRequest) -> SpawnResult:
        """See `Sandbox.spawn`. What `sink` and `stdin` raise is raised again, once the program is gone."""
        words = spawn_words(request)
        if isinstance(words, SpawnResult):
            return words
        with self._operation():
            run = Run(request)
            deadline = min(max(request.deadline_seconds, 0.0), DEADLINE_MAX_SECONDS)
            fields = {
                "argc": len(request.argv),
                "cwd": request.cwd,
                "deadline_us": microseconds(deadline),
                "cap": request.output_cap_bytes,
                "kill_at": request.kill_at_bytes or 0,
                "stdin": request.stdin is not None,
                "scan": request.scan_entries,
            }
            begun = self._begin("spawn", fields, words, deadline + GRACE_SECONDS)
            self._running = begun.id
            try:
                while not self._spawn_step(begun, run):
                    pass
            finally:
                self._running = None
            milliseconds = (self._clock() - begun.started) * 1000
            scan = None
            if request.scan_entries is not None:
                begun.deadline = self._clock() + SCAN_SECONDS
                scan = self._scan(begun, request.scan_entries)
            if run.caller_error is not None:
                self._owed = scan if self._owed is None or scan is None else self._owed.then(scan)
                self._midway = False
                raise run.caller_error
            return run.result(milliseconds, scan)

    def cancel(self) -> None:
        """See `Sandbox.cancel`. Nothing happens when no program runs."""
        running = self._running
        if running is None or self._lost is not None:
            return
        try:
            self._send({"id": running, "op": "cancel"})
        except SandboxLost:
            return  # the thread that waits for the program finds out by itself

    def close(self) -> None:
        """The stream is closed, and with it everything that ran inside ends. Never raises; idempotent."""
        if self._lost is None:
            self._lost = SandboxLost(f"{self._named} is closed")
        self._stream.close()

    def _spawn_step(self, begun: Begun, run: Run) -> bool:
        """Takes one frame in. True after the last one."""
        frame = self._receive(begun)
        kind = frame.head.word("kind", Kind)
        if kind is Kind.OUT:
            stream = frame.head.integer("stream", low=1, high=2)
            frame.head.only(("id", "kind", "stream"))
            run.count(stream, frame.body)
            self._for_caller(begun, run, lambda: run.hand_over(stream, frame.body))
            return False
        if frame.body:
            broken("a frame has a body that it should not have")
        if kind is Kind.WANT:
            frame.head.only(("id", "kind", "pieces"))
            self._give_stdin(begun, run, frame.head.integer("pieces", low=1, high=STDIN_AHEAD))
            return False
        self._raise_unless_ok(frame, kind, begun.op, run.request.cwd)
        run.ending = decode_ending(frame.head, received=run.received, cap=run.request.output_cap_bytes)
        return True

    def _give_stdin(self, begun: Begun, run: Run, pieces: int) -> None:
        """Up to so many pieces, and the end of the input once; what is asked for after it gets no answer."""
        run.wanted(pieces)
        for _ in range(pieces):
            if run.input_left:
                data = self._next_input(begun, run)
                run.input_left = bool(data)
                self._send({"id": begun.id, "op": "stdin", "eof": not data}, data)

    def _next_input(self, begun: Begun, run: Run) -> bytes:
        piece: list[bytes] = []
        self._for_caller(begun, run, lambda: piece.append(run.next_input()))
        return piece[0] if piece else b""

    def _for_caller(self, begun: Begun, run: Run, act: Callable[[], None]) -> None:
        """Runs the caller's code; its time does not count, and its failure ends the program and not the channel."""
        if run.caller_error is not None:
            return
        before = self._clock()
        try:
            act()
        except Exception as error:
            run.caller_error = error
            self._send({"id": begun.id, "op": "cancel"})
        begun.deadline += self._clock() - before
