"""Frames, the CONNECT request and the ClientHello, as bytes."""

from __future__ import annotations

import struct

import pytest

from runner.egress.frames import MAX_PAYLOAD_BYTES, Frame, FrameKind, FrameReader, encode, encode_window
from runner.egress.hello import HelloRefused, read_server_name
from runner.egress.request import MAX_REQUEST_BYTES, RequestRefused, read_request
from runner.model.errors import SandboxLost
from tests.unit.egress.harness import client_hello

NAME_EXTENSION = struct.pack(">HHHBH", 0, 17, 15, 0, 12) + b"allowed.test"


def hello(extensions: bytes, *, tail: bytes = b"") -> bytes:
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0"
    body += struct.pack(">H", len(extensions)) + extensions + tail
    return records(b"\x01" + len(body).to_bytes(3, "big") + body)


def records(message: bytes, size: int = 16384) -> bytes:
    pieces = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(piece)) + piece for piece in pieces)


def extension(kind: int, body: bytes) -> bytes:
    return struct.pack(">HH", kind, len(body)) + body


# --- frames


def test_frames_come_out_as_they_went_in_however_they_are_cut() -> None:
    wire = encode(FrameKind.OPEN, 1) + encode(FrameKind.DATA, 1, b"abc") + encode_window(1, 70_000)
    reader = FrameReader()
    frames = [frame for byte in wire for frame in reader.feed(bytes([byte]))]
    assert frames[:2] == [Frame(FrameKind.OPEN, 1), Frame(FrameKind.DATA, 1, b"abc")]
    assert frames[2].number == 70_000


@pytest.mark.parametrize(
    "header",
    [(0, 1, 0), (7, 1, 0), (255, 1, 0), (2, 1, 1), (3, 1, 0), (3, 1, MAX_PAYLOAD_BYTES + 1), (5, 1, 9), (6, 1, 3)],
)
def test_a_bad_header_is_refused_before_its_payload_is_waited_for(header: tuple[int, int, int]) -> None:
    with pytest.raises(SandboxLost):
        FrameReader().feed(struct.pack(">BII", *header))


def test_a_frame_of_the_largest_size_is_taken() -> None:
    assert len(FrameReader().feed(encode(FrameKind.DATA, 1, bytes(MAX_PAYLOAD_BYTES)))) == 1


def test_a_frame_that_does_not_fit_its_kind_is_not_made() -> None:
    with pytest.raises(ValueError, match="cannot carry"):
        encode(FrameKind.DATA, 1, bytes(MAX_PAYLOAD_BYTES + 1))


# --- request


def test_a_connect_is_read_and_what_follows_is_left() -> None:
    head = b"CONNECT Example.com:443 HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n\r\n"
    request = read_request(head + b"rest")
    assert request is not None
    assert (request.host, request.port) == ("example.com", 443)
    assert request.size == len(head)


def test_an_unfinished_request_needs_more() -> None:
    assert read_request(b"") is None
    assert read_request(b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n") is None


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 405),
        (b"connect example.com:443 HTTP/1.1\r\n\r\n", 405),
        (b"CONNECT example.com:443 HTTP/2\r\n\r\n", 400),
        (b"CONNECT example.com:443\r\n\r\n", 400),
        (b"CONNECT  example.com:443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1 \r\n\r\n", 400),
        (b"CONNECT example.com:443\tHTTP/1.1\r\n\r\n", 400),
        (b"\r\nCONNECT example.com:443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\nHost: x\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nA: b\nC: d\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nA : b\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nA: \0\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 400),
        (b"CONNECT exa\xffmple.com:443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT https://example.com:443 HTTP/1.1\r\n\r\n", 403),
        (b"CONNECT example.com HTTP/1.1\r\n\r\n", 403),
        (b"a" * MAX_REQUEST_BYTES, 431),
        (b"CONNECT example.com:443 HTTP/1.1\r\nA: " + b"b" * MAX_REQUEST_BYTES + b"\r\n\r\n", 431),
    ],
)
def test_what_is_no_plain_connect_is_refused(data: bytes, status: int) -> None:
    with pytest.raises(RequestRefused) as caught:
        read_request(data)
    assert caught.value.status == status


# --- hello


def test_the_name_of_a_real_client_is_read_however_it_is_cut() -> None:
    wire = client_hello("Allowed.test")
    assert read_server_name(wire) == "allowed.test"
    assert all(read_server_name(wire[:size]) is None for size in range(len(wire)))


def test_a_hello_over_many_records_is_put_together() -> None:
    message = client_hello("allowed.test")[5:]
    assert read_server_name(records(message, 7)) == "allowed.test"


def test_what_follows_in_another_record_is_left() -> None:
    assert read_server_name(hello(NAME_EXTENSION) + b"\x17\x03\x03\0\x01x") == "allowed.test"


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param(client_hello(None), id="no name"),
        pytest.param(client_hello("127.0.0.1"), id="an address, which clients leave out"),
        pytest.param(hello(extension(0xFE0D, b"\0")), id="encrypted hello only"),
        pytest.param(hello(NAME_EXTENSION + extension(0xFE0D, b"\0")), id="outer name of an encrypted hello"),
        pytest.param(hello(NAME_EXTENSION + NAME_EXTENSION), id="name extension twice"),
        pytest.param(hello(extension(0, struct.pack(">H", 8) + b"\0\0\x01a" * 2)), id="two names"),
        pytest.param(hello(extension(0, b"\0\x04\x01\0\x01a")), id="a name of another type"),
        pytest.param(hello(extension(0, b"\0\x04\0\0\x01a!")), id="bytes after the name"),
        pytest.param(hello(extension(0, b"\0\x09\0\0\x06a.b\0.c")), id="NUL in the name"),
        pytest.param(hello(extension(0, b"\0\x05\0\0\x02\xc3\xbc")), id="a name that is not ASCII"),
        pytest.param(hello(extension(0, b"\0\xff\0\0\x01a")), id="a length beyond the end"),
        pytest.param(hello(b""), id="no extensions"),
        pytest.param(hello(NAME_EXTENSION, tail=b"x"), id="bytes after the extensions"),
        pytest.param(hello(NAME_EXTENSION)[:3] + b"\0\0", id="an empty record"),
        pytest.param(b"\x16\x03\x01\xff\xff", id="a record beyond the limit"),
        pytest.param(records(b"\x01\xff\xff\xff"), id="a message beyond the limit"),
        pytest.param(records(b"\x02\0\0\x01x"), id="another handshake message"),
        pytest.param(records(client_hello("allowed.test")[5:] * 2), id="a second hello in the record"),
        pytest.param(b"\x80\x2e\x01\x03\x01", id="an SSLv2 hello"),
        pytest.param(b"\x15\x03\x01\0\x02\x02\x28", id="an alert"),
        pytest.param(b"GET / HTTP/1.1\r\n", id="HTTP"),
    ],
)
def test_a_hello_without_exactly_one_readable_name_is_refused(wire: bytes) -> None:
    with pytest.raises(HelloRefused):
        read_server_name(wire)


def test_a_hello_that_never_ends_is_refused() -> None:
    message = b"\x01" + (16_000).to_bytes(3, "big") + bytes(16_000)
    with pytest.raises(HelloRefused):
        read_server_name(records(message, 1))
