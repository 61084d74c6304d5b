"""Whatever the helper says, the host gets a value of the contract, a refusal, or SandboxLost. Never anything else."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.engine.channel import HelperChannel
from runner.engine.contract import REFUSALS, FileFault, FileRefused, KilledBy, SearchRequest, SpawnRequest
from runner.engine.frames import BODY_MAX_BYTES, HEAD_MAX_BYTES, Frame, FrameDecoder, checked_path, encode_frame
from runner.model.errors import SandboxLost
from runner.model.tree import EntryKind
from tests.support.examples import examples
from tests.support.scripted_stream import ScriptedStream

OPERATIONS = {
    "ping": lambda channel: channel.ping(),
    "resolve": lambda channel: channel.resolve("a"),
    "read": lambda channel: channel.read("a", max_bytes=100),
    "list": lambda channel: channel.list("a", max_entries=3),
    "write": lambda channel: channel.write("a", b"x"),
    "delete": lambda channel: channel.delete("a"),
    "search": lambda channel: channel.search(SearchRequest("x", max_results=3)),
    "spawn": lambda channel: channel.spawn(SpawnRequest(("true",), {}, 1.0, 100)),
    "scan": lambda channel: channel.scan(max_entries=3),
    "posture": lambda channel: channel.guest_posture(),
}
WORDS = [
    *FileFault,
    *KilledBy,
    *EntryKind,
    "data",
    "out",
    "want",
    "ok",
    "fault",
    "failed",
    ".",
    "a/b",
    "../x",
    "\ud800",
]
FIELDS = (
    "id kind path exists type size mode links via_link truncated timed_out fault detail protocol started exit "
    "stdout_bytes stderr_bytes killed_by survivors limits stream uid"
).split()

values = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2**70), st.sampled_from(WORDS), st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
)  # fmt: skip
refusals = st.fixed_dictionaries(
    {"kind": st.just("fault"), "fault": st.sampled_from([str(fault) for fault in FileFault]), "detail": st.just("")},
    optional={"size": st.one_of(st.none(), st.integers(0, 9)), "id": st.just(2)},
)
heads = st.one_of(st.dictionaries(st.sampled_from(FIELDS), values, max_size=12), refusals)
bodies = st.one_of(
    st.just(b""),
    st.binary(max_size=60),
    st.sampled_from([b"file 3 a\0", b"f 3 644 " + b"0" * 72 + b" a/b\0", b"x a\0", b"dir 0 ..\0", b"\0", b"{}"]),
    st.builds(
        lambda a, b, c: struct.pack("!IHI", a, b, c) + b"ab", st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)
    ),
)


def _drain(decoder: FrameDecoder) -> list[Frame]:
    frames = []
    while (frame := decoder.next()) is not None:
        frames.append(frame)
    return frames


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_garbage_in_any_split_is_frames_or_lost(pieces: list[bytes]) -> None:
    decoder = FrameDecoder()
    try:
        for piece in pieces:
            decoder.feed(piece)
            _drain(decoder)
    except SandboxLost:
        pass


@given(st.lists(st.tuples(heads, bodies), max_size=4), st.integers(1, 30))
def test_frames_arrive_the_same_in_any_split(frames: list[tuple[dict[str, Any], bytes]], width: int) -> None:
    data = b"".join(encode_frame(head, body) for head, body in frames)
    decoder = FrameDecoder()
    seen: list[Frame] = []
    for start in range(0, len(data), width):
        decoder.feed(data[start : start + width])
        seen += _drain(decoder)
    assert [frame.body for frame in seen] == [body for _, body in frames]


@given(st.binary(max_size=200))
def test_a_head_of_any_bytes_is_an_object_or_lost(head: bytes) -> None:
    decoder = FrameDecoder()
    decoder.feed(struct.pack("!II", len(head), 0) + head)
    try:
        frame = decoder.next()
    except SandboxLost:
        return
    assert frame is not None and isinstance(json.loads(head), dict)


@pytest.mark.parametrize("lengths", [(HEAD_MAX_BYTES + 1, 0), (2, BODY_MAX_BYTES + 1), (2**32 - 1, 2**32 - 1)])
def test_a_length_over_the_bounds_is_lost_before_anything_of_it_is_there(lengths: tuple[int, int]) -> None:
    decoder = FrameDecoder()
    decoder.feed(struct.pack("!II", *lengths))
    with pytest.raises(SandboxLost):
        decoder.next()


@settings(max_examples=examples(400))
@given(st.sampled_from(sorted(OPERATIONS)), st.lists(st.tuples(heads, bodies), max_size=4), st.booleans())
def test_no_answer_raises_anything_but_the_contracts_errors(
    operation: str, frames: list[tuple[dict[str, Any], bytes]], ends: bool
) -> None:
    # Most answers carry the right id, so that what lies behind that check is reached.
    stream = ScriptedStream([encode_frame({"id": 2, **head}, body) for head, body in frames], ends=ends)
    channel = HelperChannel(stream)
    try:
        OPERATIONS[operation](channel)
    except FileRefused as refused:
        assert refused.fault in REFUSALS[operation]
    except SandboxLost:
        assert stream.closed


@given(st.text(max_size=20))
def test_a_path_that_passes_is_canonical_and_survives_the_file_system(path: str) -> None:
    try:
        checked_path(path)
    except SandboxLost:
        return
    raw = path.encode("utf-8", "surrogateescape")
    assert raw.decode("utf-8", "surrogateescape") == path
    assert b"\0" not in raw
    assert all(part not in ("", ".", "..") for part in path.split("/"))


@given(st.lists(st.sampled_from(["a", "..", ".", "", "é", "\udce9", "x\n", "\n"]), min_size=1, max_size=5))
def test_only_canonical_paths_pass(parts: list[str]) -> None:
    path = "/".join(parts)
    canonical = all(part not in ("", ".", "..") for part in parts)
    try:
        assert checked_path(path) == path and canonical
    except SandboxLost:
        assert not canonical
