"""Reads the one request that the proxy takes: CONNECT host:port. Pure: bytes in, a target or a refusal out.

Strict on purpose. Anything that two readers could understand in two ways (bare line ends, folded headers, a body,
control characters) is refused, because the clients in the workspace send none of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.egress.rules import parse_authority
from runner.egress.values import Pinned, Verdict

__all__ = [
    "MAX_REQUEST_BYTES",
    "ConnectRequest",
    "RequestRefused",
    "read_pinned_request",
    "read_request",
    "requested_target",
    "response",
]

MAX_REQUEST_BYTES = 8 * 1024
"""Request line and headers together; the common servers' default."""

_END = b"\r\n\r\n"
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110 section 5.6.2
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e]+) HTTP/1\.[01]")
_HEADER_LINE = re.compile(rb"(" + _TOKEN + rb"):[\t\x20-\x7e\x80-\xff]*")
_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})

_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
}


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """A well-formed CONNECT. `size` is how many bytes it took; what follows belongs to the tunnel."""

    host: str
    port: int
    size: int


class RequestRefused(Exception):
    """The bytes are no CONNECT request that is taken. `status` is the answer's."""

    def __init__(self, status: int, rule: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.verdict = Verdict(False, rule, reason)


def read_request(data: bytes | bytearray) -> ConnectRequest | None:
    """The request at the start of `data`; None when more bytes are needed.

    Raises:
        RequestRefused: too long, malformed, another method, or a target that is no host:port.
    """
    head = _read_head(data)
    if head is None:
        return None
    target, size = head
    try:
        host, port = parse_authority(target)
    except ValueError as error:
        raise RequestRefused(403, "egress.target", f"The target cannot be used: {error}.") from None
    return ConnectRequest(host, port, size)


def read_pinned_request(data: bytes | bytearray, target: Pinned) -> int | None:
    """How many bytes the request for `target` took; None when more bytes are needed.

    Raises:
        RequestRefused: too long, malformed, another method, or another target.
    """
    head = _read_head(data)
    if head is None:
        return None
    said, size = head
    if said.lower() != target.authority:
        raise RequestRefused(403, "egress.target", "Only the one target is reached from here.")
    return size


def _read_head(data: bytes | bytearray) -> tuple[str, int] | None:
    """What a whole CONNECT request asks for, and its size."""
    end = data.find(_END, 0, MAX_REQUEST_BYTES)
    if end < 0:
        if len(data) >= MAX_REQUEST_BYTES:
            raise RequestRefused(431, "egress.request", f"The request is longer than {MAX_REQUEST_BYTES} bytes.")
        return None
    line, *headers = bytes(data[:end]).split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise RequestRefused(400, "egress.request", "The request line is malformed.")
    if match[1] != b"CONNECT":
        raise RequestRefused(405, "egress.method", "Only CONNECT is taken: use https.")
    for header in headers:
        _check_header(header)
    return match[2].decode("ascii"), end + len(_END)


def requested_target(data: bytes | bytearray) -> str:
    """The first line of a refused request for the audit: printable ASCII, at most 255 characters."""
    line = bytes(data[:255]).split(b"\r\n")[0].decode("ascii", "backslashreplace")
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)[:255]


def response(status: int, verdict: Verdict) -> bytes:
    """A refusal as an HTTP response whose one line of body names the rule."""
    body = f"{verdict.rule}: {verdict.reason}\n".encode("ascii", "replace")
    allow = "Allow: CONNECT\r\n" if status == 405 else ""
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n{allow}Content-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


def _check_header(line: bytes) -> None:
    match = _HEADER_LINE.fullmatch(line)
    if match is None:
        raise RequestRefused(400, "egress.request", "A header is malformed.")
    if match[1].lower() in _BODY_HEADERS:
        raise RequestRefused(400, "egress.request", "A CONNECT request has no body.")
