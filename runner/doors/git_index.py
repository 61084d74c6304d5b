"""Which paths git tracks, read from the bytes of an index file (versions 2 to 4), with bounds and without git."""

from __future__ import annotations

import struct

__all__ = ["MAX_INDEX_BYTES", "tracked_paths"]

MAX_INDEX_BYTES = 256 * 1024 * 1024
"""About two million paths; a larger one is not read."""

_FIXED_BYTES = 62  # of an entry before its name: times, mode, owner, size, object name, flags
_EXTENDED = 0x4000
_ALIGNMENT = 8


def tracked_paths(data: bytes) -> frozenset[str] | None:
    """Every tracked path, and every folder above one; None when the bytes are no index that can be read."""
    try:
        names = _names(data)
    except (struct.error, IndexError, ValueError):
        return None
    found: set[str] = set()
    for name in names:
        path = name.decode("utf-8", "surrogateescape")
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
    return frozenset(found)


def _names(data: bytes) -> list[bytes]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4) or len(data) > MAX_INDEX_BYTES:
        raise ValueError("no index that can be read")
    names: list[bytes] = []
    position, previous = 12, b""
    for _ in range(count):
        start = position
        flags = struct.unpack_from(">H", data, start + _FIXED_BYTES - 2)[0]
        position = start + _FIXED_BYTES + (2 if version > 2 and flags & _EXTENDED else 0)
        strip = 0
        if version == 4:
            strip, position = _varint(data, position)
        end = data.index(b"\0", position)
        if strip > len(previous):
            raise ValueError("a name takes more from the one before than that has")
        previous = (previous[: len(previous) - strip] if version == 4 else b"") + data[position:end]
        names.append(previous)
        # Versions 2 and 3 end an entry with one to eight NULs, so that the next one is aligned.
        position = end + 1 if version == 4 else start + (end - start + _ALIGNMENT) // _ALIGNMENT * _ALIGNMENT
    return names


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at the position, in git's offset encoding, and the position after it."""
    byte = data[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = data[position]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position + 1
