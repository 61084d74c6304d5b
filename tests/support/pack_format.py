"""git's pack format, written by hand: whatever is asked for, valid or not.

A pack is a head with a count, entries, and a checksum; an entry is a type and a size, and deflated bytes.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "BLOB",
    "COMMIT",
    "OFS_DELTA",
    "REF_DELTA",
    "TAG",
    "copies",
    "entry",
    "loose_objects",
    "number",
    "offset",
    "pack",
]

COMMIT, TREE, BLOB, TAG, OFS_DELTA, REF_DELTA = 1, 2, 3, 4, 6, 7
_KINDS = {b"commit": COMMIT, b"tree": TREE, b"blob": BLOB, b"tag": TAG}


def pack(entries: Iterable[bytes], *, count: int | None = None) -> bytes:
    """A whole pack. `count` is announced instead of the number of entries."""
    entries = list(entries)
    body = b"PACK" + struct.pack(">II", 2, len(entries) if count is None else count) + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def entry(kind: int, data: bytes, *, claims: int | None = None, base: bytes = b"") -> bytes:
    """One object. `claims` is a size that it says to have instead of its own; `base` says what a delta stands on."""
    size = len(data) if claims is None else claims
    head = bytearray([(kind << 4) | (size & 15)])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + base + zlib.compress(data, 1)


def number(value: int) -> bytes:
    """A size as a delta begins with."""
    out = bytearray([value & 0x7F])
    while value := value >> 7:
        out[-1] |= 0x80
        out.append(value & 0x7F)
    return bytes(out)


def offset(back: int) -> bytes:
    """How many bytes before its own beginning a delta's base begins."""
    out = bytearray([back & 0x7F])
    while back := back >> 7:
        back -= 1
        out.insert(0, 0x80 | (back & 0x7F))
    return bytes(out)


def copies(source: int, times: int) -> bytes:
    """A delta that is its whole base, of at most 16 MiB, again and again."""
    return number(source) + number(source * times) + (b"\xf0" + source.to_bytes(3, "little")) * times


def loose_objects(repository: Path) -> list[bytes]:
    """An entry for every object that has a file of its own, whatever it holds."""
    return [_loose(path) for path in sorted((repository / "objects").glob("??/*"))]


def _loose(path: Path) -> bytes:
    head, _, data = zlib.decompress(path.read_bytes()).partition(b"\0")
    return entry(_KINDS[head.split()[0]], data)
