"""The channel against a helper that lies: every bound is the host's own."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import pytest

from runner.engine.channel import SCAN_SECONDS, HelperChannel
from runner.engine.contract import REFUSALS, FileFault, FileRefused, KilledBy, Scan, SearchRequest, SpawnRequest
from runner.engine.exchange import SILENCE_SECONDS
from runner.engine.helper_requests import STDIN_PIECE_BYTES
from runner.model.errors import EngineUnavailable, SandboxLost
from tests.support.scripted_stream import ScriptedStream, answer

ENDING: dict[str, Any] = {
    "id": 2, "kind": "ok", "started": True, "detail": "", "exit": 0, "stdout_bytes": 0, "stderr_bytes": 0,
    "killed_by": None, "survivors": 0, "limits": [],
}  # fmt: skip
RESOLVED: dict[str, Any] = {
    "id": 2, "kind": "ok", "path": "a", "exists": True, "type": "file", "size": 1, "mode": 0o644, "links": 1,
    "via_link": False,
}  # fmt: skip


def _channel(*pieces: bytes, ends: bool = False) -> tuple[HelperChannel, ScriptedStream]:
    stream = ScriptedStream(pieces, ends=ends)
    channel = HelperChannel(stream)
    stream.sent()
    return channel, stream


def _lost(act: Callable[[HelperChannel], object], *pieces: bytes) -> None:
    channel, stream = _channel(*pieces)
    with pytest.raises(SandboxLost):
        act(channel)
    assert stream.closed


def _spawn(channel: HelperChannel, **changes: Any) -> Any:
    fields = {"deadline_seconds": 1.0, "output_cap_bytes": 10, **changes}
    return channel.spawn(SpawnRequest(("true",), {"A": "1"}, **fields))


def test_a_helper_of_another_version_is_refused() -> None:
    stream = ScriptedStream()
    stream.pieces[0] = answer({"id": 1, "kind": "ok", "protocol": 1})
    with pytest.raises(SandboxLost):
        HelperChannel(stream)


FOUND = {"kind": "ok", "exists": True, "via_link": False, "type": "file", "size": 1, "mode": 0o644, "links": 1}


def test_a_look_is_one_write_and_one_that_is_led_elsewhere_asks_there() -> None:
    at_once = answer({"id": 2, "path": "a", **FOUND}) + answer({"id": 3, "kind": "ok", "size": 1, "mode": 0o644}, b"x")
    channel, stream = _channel(at_once)
    seen = channel.look("a", max_bytes=10)
    assert (seen.where.path, getattr(seen.content, "data", None)) == ("a", b"x")
    assert [frame.head.text("op") for frame in stream.sent()] == ["resolve", "read"]
    link = {"id": 3, "kind": "fault", "fault": "link", "detail": "", "size": None}
    there = answer({"id": 4, "kind": "ok", "size": 1, "mode": 0o644}, b"y")
    channel, stream = _channel(answer({"id": 2, "path": "b", **FOUND, "via_link": True}), answer(link), there)
    assert getattr(channel.look("a", max_bytes=10).content, "data", None) == b"y"
    assert [frame.head.path("path") for frame in stream.sent()] == ["a", "a", "b"]


def test_a_helper_that_answers_the_halves_of_a_look_in_another_order_ends_the_run() -> None:
    read, found = answer({"id": 3, "kind": "ok", "size": 0, "mode": 0}), answer({"id": 2, "path": "a", **FOUND})
    _lost(lambda channel: channel.look("a", max_bytes=10), read, found)


def test_after_the_end_every_call_fails_at_once_with_the_same_error() -> None:
    channel, stream = _channel(ends=True)
    with pytest.raises(SandboxLost) as first:
        channel.resolve("a")
    reads = stream.reads
    with pytest.raises(SandboxLost) as second:
        channel.read("a", max_bytes=1)
    assert second.value.message == first.value.message
    assert stream.reads == reads


def test_silence_is_the_end() -> None:
    _lost(lambda channel: channel.resolve("a"))


class _Quiet(ScriptedStream):
    """Nothing comes for `silences` whole waits; then its pieces do. Keeps how long each wait was."""

    def __init__(self, silences: int, *pieces: bytes) -> None:
        super().__init__(pieces)
        self.silences = silences
        self.waits: list[float] = []

    def read(self, timeout: float) -> bytes:
        if self.reads == 0 or self.silences == 0:
            return super().read(timeout)
        self.reads += 1
        self.silences -= 1
        self.waits.append(timeout)
        raise TimeoutError


def test_a_workspace_that_cannot_answer_is_told_long_before_the_deadline_of_its_program() -> None:
    stream = _Quiet(99)
    channel = HelperChannel(stream, why_silent=lambda: "its container is paused", clock=lambda: 0.0)
    with pytest.raises(SandboxLost) as lost:
        _spawn(channel, deadline_seconds=3600.0)
    assert stream.waits == [SILENCE_SECONDS]
    assert 2 * SILENCE_SECONDS < 10
    assert "its container is paused" in lost.value.message
    assert stream.closed


def test_a_program_that_says_nothing_for_long_is_waited_for() -> None:
    looks: list[None] = []
    stream = _Quiet(20, answer(ENDING))
    channel = HelperChannel(stream, why_silent=lambda: looks.append(None), clock=lambda: 0.0)
    assert _spawn(channel, deadline_seconds=3600.0).exit == 0
    assert len(looks) == 20


def test_a_silence_that_nobody_can_explain_ends_at_the_deadline() -> None:
    stream = _Quiet(10_000)
    channel = HelperChannel(stream, clock=lambda: 0.0)
    with pytest.raises(SandboxLost):
        _spawn(channel, deadline_seconds=3600.0)
    assert sum(stream.waits) == 3600.0 + 10.0


def test_what_is_lost_is_called_by_its_name() -> None:
    channel = HelperChannel(ScriptedStream(ends=True), named="the gate's container (judge)")
    for _ in range(2):
        with pytest.raises(SandboxLost, match="the gate's container \\(judge\\)"):
            channel.resolve("a")


def test_an_answer_that_trickles_past_the_deadline_is_the_end() -> None:
    ticks = itertools.count(step=0.4)
    data = answer(RESOLVED)
    stream = ScriptedStream([data[index : index + 1] for index in range(len(data))])
    channel = HelperChannel(stream, clock=lambda: next(ticks))
    with pytest.raises(SandboxLost):
        channel.resolve("a")


def test_an_interrupted_call_ends_the_channel_because_its_answer_would_be_taken_for_the_next() -> None:
    class Interrupted(ScriptedStream):
        def read(self, timeout: float) -> bytes:
            if not self.pieces:
                raise KeyboardInterrupt
            return super().read(timeout)

    channel = HelperChannel(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        channel.resolve("a")
    with pytest.raises(SandboxLost):
        channel.resolve("a")


ASKED: dict[str, Callable[[HelperChannel], object]] = {
    "ping": lambda channel: channel.ping(),
    "resolve": lambda channel: channel.resolve("a"),
    "read": lambda channel: channel.read("a", max_bytes=1),
    "list": lambda channel: channel.list("a", max_entries=1),
    "write": lambda channel: channel.write("a", b""),
    "delete": lambda channel: channel.delete("a"),
    "search": lambda channel: channel.search(SearchRequest("a")),
    "spawn": _spawn,
    "scan": lambda channel: channel.scan(max_entries=1),
    "posture": lambda channel: channel.guest_posture(),
}


@pytest.mark.parametrize("fault", FileFault)
@pytest.mark.parametrize("op", ASKED)
def test_a_refusal_that_the_operation_cannot_have_is_the_end_of_the_run(op: str, fault: FileFault) -> None:
    told = answer({"id": 2, "kind": "fault", "fault": str(fault), "detail": "why", "size": None})
    if fault not in REFUSALS.get(op, ()):
        return _lost(ASKED[op], told)
    channel, stream = _channel(told)
    with pytest.raises(FileRefused) as refused:
        ASKED[op](channel)
    assert refused.value.fault is fault
    assert not stream.closed


def test_a_refusal_in_the_place_of_the_scan_after_a_program_is_the_end_of_the_run() -> None:
    refused = answer({"id": 2, "kind": "fault", "fault": "denied", "detail": "", "size": None})
    _lost(lambda channel: _spawn(channel, scan_entries=1), answer(ENDING), refused)


def test_a_refusal_does_not_end_the_channel() -> None:
    fault = {"id": 2, "kind": "fault", "fault": "too_large", "detail": "", "size": 7}
    channel, _ = _channel(answer(fault), answer({**RESOLVED, "id": 3}))
    with pytest.raises(FileRefused) as refused:
        channel.read("a", max_bytes=1)
    assert (refused.value.fault, refused.value.size) == (FileFault.TOO_LARGE, 7)
    assert channel.resolve("a").path == "a"


@pytest.mark.parametrize(
    "change",
    [
        {"id": 3}, {"id": True}, {"kind": "data"}, {"kind": "nonsense"}, {"path": "../x"}, {"path": "a/../b"},
        {"path": "/etc"}, {"path": "a\0"}, {"path": "\ud800"}, {"path": "\udcc3\udca9"}, {"path": "a" * 5000},
        {"path": 7}, {"size": True}, {"size": -1}, {"size": 2**63}, {"size": "1"}, {"size": None}, {"mode": 0o10000},
        {"type": "link"}, {"type": None}, {"type": "symlink"}, {"exists": 1}, {"exists": False}, {"extra": 1},
        {"via_link": 0}, {"links": 10**400},
    ],
    ids=str,
)  # fmt: skip
def test_a_malformed_field_is_the_end(change: dict[str, Any]) -> None:
    head = {**RESOLVED, **change}
    _lost(lambda channel: channel.resolve("a"), answer(head))


def test_a_fraction_or_nan_is_the_end() -> None:
    for number in ("1.0", "NaN", "Infinity", "1e3", "9" * 5000):
        head = b'{"id":2,"kind":"ok","size":' + number.encode() + b"}"
        _lost(lambda channel: channel.resolve("a"), struct.pack("!II", len(head), 0) + head)


@pytest.mark.parametrize("fault", ["no_such_fault", "", None, 1])
def test_an_unknown_fault_is_the_end(fault: object) -> None:
    head = {"id": 2, "kind": "fault", "fault": fault, "detail": "", "size": None}
    _lost(lambda channel: channel.resolve("a"), answer(head))


def test_a_bug_of_the_helper_is_the_end() -> None:
    _lost(lambda channel: channel.resolve("a"), answer({"id": 2, "kind": "failed", "detail": "KeyError"}))


def test_more_content_than_asked_for_is_the_end() -> None:
    data = answer({"id": 2, "kind": "data"}, b"x" * 6)
    _lost(lambda channel: channel.read("a", max_bytes=10), data, data)


def test_content_of_another_length_than_said_is_the_end() -> None:
    _lost(lambda channel: channel.read("a", max_bytes=10), answer({"id": 2, "kind": "ok", "size": 3, "mode": 0}, b"ab"))


def test_a_listing_that_is_unsorted_too_long_or_names_a_path_is_the_end() -> None:
    head = {"id": 2, "kind": "ok", "truncated": False}
    bodies = [b"file 0 b\0file 0 a\0", b"file 0 a\0file 0 a\0", b"file 0 a\0file 0 b\0file 0 c\0", b"file 0 a/b\0"]
    bodies += [
        b"file 0 ..\0",
        b"file 0 a",
        b"fifo 0 a\0",
        b"file -1 a\0",
        b"file 1_0 a\0",
        b"file 0 " + b"a" * 256 + b"\0",
    ]
    for body in bodies:
        _lost(lambda channel: channel.list(".", max_entries=2), answer(head, body))


def test_matches_beyond_what_was_asked_for_are_the_end() -> None:
    head = {"id": 2, "kind": "ok", "truncated": False, "timed_out": False}
    one = struct.pack("!IHI", 1, 1, 1) + b"ax"
    bodies = [one * 3, one[:-1], struct.pack("!IHI", 0, 1, 1) + b"ax", struct.pack("!IHI", 1, 1, 2**31) + b"ax"]
    bodies += [struct.pack("!IHI", 1, 1, 11) + b"a" + b"x" * 11, struct.pack("!IHI", 1, 2, 1) + b"..x"]
    for body in bodies:
        request = SearchRequest("x", max_results=2, max_line_bytes=10)
        _lost(lambda channel, request=request: channel.search(request), answer(head, body))  # type: ignore[misc]


def test_more_of_a_scan_than_asked_for_or_malformed_is_the_end() -> None:
    record = b"f 3 644 " + b"0" * 72 + b" a\0"
    bodies = [
        record * 3,
        record[:-1],
        record.replace(b" a\0", b" ../a\0"),
        b"x /etc\0",
        b"y a\0",
        record.replace(b"f", b"q"),
    ]
    for body in bodies:
        _lost(lambda channel: channel.scan(max_entries=2), answer({"id": 2, "kind": "ok", "truncated": False}, body))


def test_more_paths_gone_than_were_ever_listed_is_the_end() -> None:
    done = {"kind": "ok", "truncated": False}
    gone = b"x a\0x b\0x c\0"
    _lost(lambda channel: channel.scan(max_entries=9), answer({"id": 2, **done}, gone))
    channel, _ = _channel(answer({"id": 2, **done}), answer({"id": 3, **done}, gone))
    channel.scan(max_entries=3)
    assert channel.scan(max_entries=3).removed == ("a", "b", "c")


def test_output_beyond_the_cap_is_the_end() -> None:
    out = answer({"id": 2, "kind": "out", "stream": 1}, b"x" * 6)
    _lost(_spawn, out, out)


@pytest.mark.parametrize(
    "change",
    [
        {"exit": None}, {"exit": 256}, {"exit": -9}, {"killed_by": "deadline"}, {"killed_by": "kernel"},
        {"limits": None}, {"limits": ["all"]}, {"limits": [1]}, {"limits": ["pids"] * 9},
        {"stdout_bytes": 5}, {"started": False}, {"started": False, "exit": 127, "killed_by": "memory"},
        {"survivors": -1}, {"detail": "x" * 1001},
    ],
    ids=str,
)  # fmt: skip
def test_an_ending_that_contradicts_itself_is_the_end(change: dict[str, Any]) -> None:
    _lost(_spawn, answer({**ENDING, **change}))


def _want(pieces: object) -> bytes:
    return answer({"id": 2, "kind": "want", "pieces": pieces})


def test_as_much_input_as_is_asked_for_is_sent_and_its_end_said_once() -> None:
    channel, stream = _channel(_want(2), _want(1), _want(1), answer(ENDING))
    assert _spawn(channel, stdin=[b"abc", b"", b"d"]).exit == 0
    request, *pieces = stream.sent()
    assert request.body == b"true\0A=1\0"
    said = [(piece.body, piece.head.boolean("eof")) for piece in pieces]
    assert said == [(b"abc", False), (b"d", False), (b"", True)]


def test_input_of_any_size_travels_in_pieces_of_one_size() -> None:
    channel, stream = _channel(_want(4), answer(ENDING))
    _spawn(channel, stdin=[b"x" * (STDIN_PIECE_BYTES + 1)])
    assert [len(piece.body) for piece in stream.sent()[1:]] == [STDIN_PIECE_BYTES, 1, 0]


@pytest.mark.parametrize(
    "wants",
    [[_want(5)], [_want(0)], [_want(-1)], [_want(True)], [_want(4), _want(4)], [answer({"id": 2, "kind": "want"})]],
    ids=str,
)
def test_more_input_asked_for_than_may_be_held_is_the_end(wants: list[bytes]) -> None:
    _lost(lambda channel: _spawn(channel, stdin=[b"abc"]), *wants)


def test_input_asked_for_where_there_is_none_is_the_end() -> None:
    _lost(_spawn, _want(1))


def test_the_time_that_the_callers_sink_takes_does_not_count() -> None:
    now = [0.0]
    out = answer({"id": 2, "kind": "out", "stream": 1}, b"x")
    stream = ScriptedStream([out, answer({**ENDING, "stdout_bytes": 1})])
    channel = HelperChannel(stream, clock=lambda: now[0])

    def slow(_name: str, _data: bytes) -> None:
        now[0] += 3600

    assert _spawn(channel, sink=slow).exit == 0


def test_a_program_stopped_at_its_deadline_has_no_exit_code() -> None:
    channel, _ = _channel(answer({**ENDING, "exit": None, "killed_by": "deadline"}))
    result = _spawn(channel)
    assert (result.exit, result.timed_out, result.killed_by) == (None, True, KilledBy.DEADLINE)


def test_a_closed_channel_says_so() -> None:
    channel, stream = _channel()
    channel.close()
    channel.close()
    channel.cancel()
    assert stream.closed
    with pytest.raises(SandboxLost):
        channel.ping()


def test_text_from_inside_can_be_written_anywhere() -> None:
    fault = {"id": 2, "kind": "fault", "fault": "denied", "detail": "\ud800", "size": None}
    channel, _ = _channel(answer(fault))
    with pytest.raises(FileRefused) as refused:
        channel.resolve("a")
    assert refused.value.detail.encode("utf-8")


SCANNED: dict[str, Any] = {"id": 2, "kind": "ok", "truncated": False}
NEW = b"f 1 644 " + b"0" * 72 + b" new\0"


def test_a_program_and_the_scan_after_it_are_one_request() -> None:
    channel, stream = _channel(answer(ENDING) + answer({"id": 2, "kind": "data"}, NEW) + answer(SCANNED, b"x gone\0"))
    channel._scanned = 1
    scan = _spawn(channel, scan_entries=1).scan
    assert ([entry.path for entry in scan.entries], scan.removed) == (["new"], ("gone",))
    assert [frame.head.text("op") for frame in stream.sent()] == ["spawn"]
    assert stream.reads == 2


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (answer({**SCANNED, "id": 3}),),
        (answer({**SCANNED, "truncated": 1}),),
        (answer({**SCANNED, "exit": 0}),),
        (answer(SCANNED, NEW + NEW),),
        (answer(SCANNED, b"x gone\0x other\0"),),
        (answer(SCANNED, b"f"),),
        (answer(ENDING),),
        (answer({"id": 2, "kind": "out", "stream": 1}, b"x"),),
    ],
)
def test_a_scan_after_a_program_keeps_the_bounds_of_any_other(pieces: tuple[bytes, ...]) -> None:
    def act(channel: HelperChannel) -> None:
        channel._scanned = 1
        _spawn(channel, scan_entries=1)

    _lost(act, answer(ENDING), *pieces)


def test_a_scan_after_a_program_has_the_time_of_a_scan_and_not_of_the_program() -> None:
    now = [0.0]
    pieces = [answer({"id": 1, "kind": "ok", "protocol": 3}), answer(ENDING), answer(SCANNED)]

    class _Slow(ScriptedStream):
        def read(self, timeout: float) -> bytes:
            now[0] += 0.0 if len(self.pieces) > 1 else SCAN_SECONDS - 1
            return super().read(timeout)

    stream = _Slow()
    stream.pieces = pieces
    result = _spawn(HelperChannel(stream, clock=lambda: now[0]), scan_entries=1)
    assert (result.scan, result.duration_ms) == (Scan((), (), truncated=False), 0.0)


def test_what_is_done_meanwhile_is_done_between_the_question_and_its_answer() -> None:
    channel, stream = _channel()

    def meanwhile() -> None:
        assert ([frame.head.text("op") for frame in stream.sent()], stream.reads) == (["posture"], 1)
        raise EngineUnavailable("it does not know it")

    with pytest.raises(EngineUnavailable):
        channel.guest_posture(meanwhile)
    with pytest.raises(SandboxLost, match="interrupted"):  # an answer is still to come
        channel.ping()


def test_what_is_done_meanwhile_takes_nothing_of_the_time_for_the_answer() -> None:
    now = [0.0]
    stream = ScriptedStream([answer({"id": 2, "kind": "failed", "detail": "as told"})])
    channel = HelperChannel(stream, clock=lambda: now[0])
    with pytest.raises(SandboxLost, match="as told"):
        channel.guest_posture(lambda: now.__setitem__(0, 3600.0))
