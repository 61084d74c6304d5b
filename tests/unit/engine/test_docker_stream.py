"""The held stream: whatever the pieces are cut into, standard output comes out whole, and every wait has an end."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.engine import docker_stream
from runner.engine.docker_stream import DockerStream
from runner.model.errors import SandboxLost

SURE = 60.0  # seconds; a bound that a passing test never uses up


def frame(number: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", number, len(data)) + data


def out(data: bytes) -> bytes:
    return frame(1, data)


def err(data: bytes) -> bytes:
    return frame(2, data)


class Pair:
    """Our end as a stream, and the engine's end as a socket."""

    def __init__(self) -> None:
        ours, self.engine = socket.socketpair()
        self.stream = DockerStream(ours)

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.engine.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    with Pair() as made:
        yield made


def read_all(stream: DockerStream) -> bytes:
    """Everything up to the end."""
    pieces = []
    while piece := stream.read(SURE):
        pieces.append(piece)
    return b"".join(pieces)


WIRE = out(b"one") + err(b"noise") + out(b"") + err(b"") + out(b"two\0\x01\x00") + out(b"three")


@pytest.mark.parametrize("cut", range(len(WIRE) + 1))
def test_output_is_whole_wherever_the_wire_is_cut(pair: Pair, cut: int) -> None:
    pair.engine.sendall(WIRE[:cut])
    got = b""
    while len(got) < WIRE[:cut].count(b"one") * 3:  # make it read before the rest is there
        got += pair.stream.read(SURE)
    pair.engine.sendall(WIRE[cut:])
    pair.engine.shutdown(socket.SHUT_WR)
    assert got + read_all(pair.stream) == b"onetwo\0\x01\x00three"
    assert pair.stream.stderr_tail == b"noise"


def test_output_is_whole_byte_by_byte(pair: Pair) -> None:
    def send() -> None:
        for position in range(len(WIRE)):
            pair.engine.sendall(WIRE[position : position + 1])
        pair.engine.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    assert read_all(pair.stream) == b"onetwo\0\x01\x00three"
    sender.join()


@given(
    frames=st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=20)), max_size=8),
    cuts=st.lists(st.integers(1, 30), max_size=6),
)
def test_any_frames_cut_anyhow_give_standard_output_in_order(frames: list[tuple[int, bytes]], cuts: list[int]) -> None:
    wire = b"".join(frame(number, data) for number, data in frames)
    with Pair() as pair:
        got = b""
        for cut in cuts:
            pair.engine.sendall(wire[:cut])
            wire = wire[cut:]
            with contextlib.suppress(TimeoutError):
                got += pair.stream.read(0)
        pair.engine.sendall(wire)
        pair.engine.shutdown(socket.SHUT_WR)
        assert got + read_all(pair.stream) == b"".join(data for number, data in frames if number == 1)


def test_only_the_tail_of_standard_error_is_kept(pair: Pair) -> None:
    def send() -> None:
        for _ in range(64):
            pair.engine.sendall(err(b"x" * 65536))
        pair.engine.sendall(err(b"the reason") + out(b"."))

    sender = threading.Thread(target=send)
    sender.start()
    assert pair.stream.read(SURE) == b"."
    sender.join()
    assert len(pair.stream.stderr_tail) == 4096 and pair.stream.stderr_tail.endswith(b"the reason")


@pytest.mark.parametrize("header", [b"\x00", b"\x03", b"\xff", b"H"])
def test_a_header_out_of_step_is_the_end_of_the_run(pair: Pair, header: bytes) -> None:
    pair.engine.sendall(out(b"good") + header + b"TTP/1.1 500 Internal")
    assert pair.stream.read(SURE) == b"good"
    with pytest.raises(SandboxLost):
        pair.stream.read(SURE)


def test_a_frame_that_claims_much_and_gives_little_is_passed_on_as_it_comes(pair: Pair) -> None:
    pair.engine.sendall(struct.pack(">BxxxL", 1, 0xFFFFFFFF) + b"abc")
    assert pair.stream.read(SURE) == b"abc"
    pair.engine.shutdown(socket.SHUT_WR)
    assert pair.stream.read(SURE) == b""


def test_a_wait_for_nothing_ends(pair: Pair) -> None:
    with pytest.raises(TimeoutError):
        pair.stream.read(0.001)
    with pytest.raises(TimeoutError):
        pair.stream.read(0)
    pair.engine.sendall(out(b"late"))
    assert pair.stream.read(SURE) == b"late"


def test_noise_on_standard_error_does_not_prolong_a_wait(pair: Pair) -> None:
    done = threading.Event()

    def drip() -> None:
        while not done.is_set():
            try:
                pair.engine.sendall(err(b"x" * 1000))
            except OSError:
                return

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with pytest.raises(TimeoutError):
            pair.stream.read(0.05)
    finally:
        done.set()
        pair.stream.close()
        dripping.join()


def test_an_end_of_the_other_side_is_an_empty_read_again_and_again(pair: Pair) -> None:
    pair.engine.close()
    assert [pair.stream.read(SURE) for _ in range(3)] == [b"", b"", b""]


def test_one_thread_reads_while_another_writes_more_than_the_sockets_hold(pair: Pair) -> None:
    size = 8 * 1024 * 1024
    got: list[bytes] = []
    echoed = bytearray()

    def engine() -> None:
        while len(echoed) < size:
            data = pair.engine.recv(65536)
            echoed.extend(data)
            pair.engine.sendall(out(data))

    def reader() -> None:
        while sum(map(len, got)) < size:
            got.append(pair.stream.read(SURE))

    threads = [threading.Thread(target=engine), threading.Thread(target=reader)]
    for thread in threads:
        thread.start()
    pair.stream.write(b"\xa5" * size)
    for thread in threads:
        thread.join()
    assert b"".join(got) == bytes(echoed) == b"\xa5" * size


def test_close_wakes_a_reader_that_waits(pair: Pair) -> None:
    waiting, ended = threading.Event(), threading.Event()
    got: list[bytes] = []

    def read() -> None:
        waiting.set()
        got.append(pair.stream.read(SURE))
        ended.set()

    reader = threading.Thread(target=read)
    reader.start()
    waiting.wait(SURE)
    pair.stream.close()
    assert ended.wait(SURE / 2)
    reader.join()
    assert got == [b""]


def test_a_write_to_a_side_that_is_gone_or_closed_is_the_end_of_the_run(pair: Pair) -> None:
    pair.engine.close()
    with pytest.raises(SandboxLost):
        for _ in range(100):
            pair.stream.write(b"x" * 65536)
    pair.stream.close()
    with pytest.raises(SandboxLost):
        pair.stream.write(b"x")


def test_a_write_that_nobody_reads_ends(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_stream, "_WRITE_TIMEOUT_SECONDS", 0.001)
    with pytest.raises(SandboxLost):
        pair.stream.write(b"x" * (8 * 1024 * 1024))


def test_writing_nothing_is_nothing(pair: Pair) -> None:
    pair.stream.write(b"")
    with pytest.raises(TimeoutError):
        pair.stream.read(0)


def test_closing_twice_is_harmless_and_closes_all_that_belongs_to_it() -> None:
    ours, engine = socket.socketpair()

    class Response:
        closed = False

        def close(self) -> None:
            self.closed = True

    class Attached:
        def __init__(self) -> None:
            self._sock = ours
            self._response = Response()
            self.closed = False

        def close(self) -> None:
            self.closed = True

    attached = Attached()
    stream = DockerStream(attached)
    stream.close()
    stream.close()
    assert (ours.fileno(), attached.closed, attached._response.closed) == (-1, True, True)
    engine.close()
