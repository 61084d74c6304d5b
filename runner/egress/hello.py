"""Reads the server name from a TLS ClientHello. Pure: bytes in, a name or a refusal out.

A parser of our own and not the TLS library's, because that one neither tells whether the hello is encrypted (ECH),
where the name that counts is hidden, nor keeps what is hostile out of a large body of C. It takes what RFC 8446 and
RFC 6066 allow and refuses all that is odd: a name must be there exactly once.

Not covered: a server that lets a second hello, or the HTTP inside the tunnel, name another host than the first. That
stays with the address which was dialled.
"""

from __future__ import annotations

from runner.egress.rules import normalise_host

__all__ = ["MAX_HELLO_BYTES", "HelloRefused", "read_server_name"]

MAX_HELLO_BYTES = 16 * 1024
"""Post-quantum key shares and a resumption ticket stay well below; 2^14 is also the longest TLS record."""

_RECORD_HEADER_BYTES = 5
_MESSAGE_HEADER_BYTES = 4
_HANDSHAKE = 22
_CLIENT_HELLO = 1
_SERVER_NAME = 0
_HOST_NAME = 0
_ENCRYPTED = frozenset({0xFE0D, 0xFFCE})  # ECH, and the ESNI drafts before it


class HelloRefused(Exception):
    """The bytes are no ClientHello with one readable server name."""


class _Cursor:
    """Takes bytes from the front; refuses to take what is not there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at == len(self._data)

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise HelloRefused("a length points beyond the hello")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def block(self, width: int) -> bytes:
        """Bytes that are preceded by their length."""
        return self.take(self.number(width))


def read_server_name(data: bytes | bytearray) -> str | None:
    """The name in the ClientHello at the start of `data`, normalised; None when more bytes are needed.

    Raises:
        HelloRefused: not TLS, no name, more than one, encrypted, an address, malformed, or too long.
    """
    message = _message(bytes(data[: MAX_HELLO_BYTES + _RECORD_HEADER_BYTES]))
    if message is None:
        if len(data) > MAX_HELLO_BYTES:
            raise HelloRefused("the hello is too long")
        return None
    name = _name_in(_extensions(message))
    try:
        return normalise_host(name.decode("ascii"))
    except ValueError:
        raise HelloRefused("the server name is no host name") from None


def _message(data: bytes) -> bytes | None:
    """The body of the first handshake message, put together from its records."""
    message = b""
    at = 0
    while True:
        header = data[at : at + _RECORD_HEADER_BYTES]
        if header[:1] not in (b"", bytes([_HANDSHAKE])) or header[1:2] not in (b"", b"\x03"):
            raise HelloRefused("it is not a TLS handshake")
        if len(header) < _RECORD_HEADER_BYTES:
            return None
        length = int.from_bytes(header[3:], "big")
        if not 0 < length <= MAX_HELLO_BYTES:
            raise HelloRefused("a record has an impossible length")
        message += data[at + _RECORD_HEADER_BYTES : at + _RECORD_HEADER_BYTES + length]
        at += _RECORD_HEADER_BYTES + length
        wanted = _wanted(message)
        if wanted is not None and len(message) > wanted:
            # A second message behind the hello, which another reader might take for the one that counts.
            raise HelloRefused("something follows the hello in its record")
        if at > len(data):
            return None
        if wanted == len(message):
            return message[_MESSAGE_HEADER_BYTES:]


def _wanted(message: bytes) -> int | None:
    """The whole length of the message, once its header is there."""
    if message and message[0] != _CLIENT_HELLO:
        raise HelloRefused("the first handshake message is not a ClientHello")
    if len(message) < _MESSAGE_HEADER_BYTES:
        return None
    length = int.from_bytes(message[1:_MESSAGE_HEADER_BYTES], "big")
    if length > MAX_HELLO_BYTES:
        raise HelloRefused("the hello is too long")
    return _MESSAGE_HEADER_BYTES + length


def _extensions(message: bytes) -> dict[int, bytes]:
    cursor = _Cursor(message)
    cursor.take(2 + 32)  # legacy version, random
    cursor.block(1)  # legacy session id
    cursor.block(2)  # cipher suites
    cursor.block(1)  # legacy compression methods
    extensions = _Cursor(cursor.block(2))
    if not cursor.done:
        raise HelloRefused("something follows the extensions")
    found: dict[int, bytes] = {}
    while not extensions.done:
        kind = extensions.number(2)
        if kind in found:
            raise HelloRefused("an extension is there twice")
        found[kind] = extensions.block(2)
    return found


def _name_in(extensions: dict[int, bytes]) -> bytes:
    if _ENCRYPTED & extensions.keys():
        raise HelloRefused("the hello is encrypted, the name that counts cannot be read")
    if _SERVER_NAME not in extensions:
        raise HelloRefused("the hello has no server name")
    cursor = _Cursor(extensions[_SERVER_NAME])
    names = _Cursor(cursor.block(2))
    kind = names.number(1)
    name = names.block(2)
    if kind != _HOST_NAME or not names.done or not cursor.done:
        raise HelloRefused("the server name is not exactly one host name")
    return name
