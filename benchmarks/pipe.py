"""A local pipe copy: what moving some bytes between two processes of one host costs at least.

The other process is started once and holds the bytes in memory, so that neither a start nor a disk is measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["PipeCopy", "pipe_copy"]

_PIECE_BYTES = 64 * 1024  # what a pipe holds
_OTHER_END = f"""
import os, sys
size = int(sys.argv[1])
content = b"x" * size
while word := os.read(0, 1):
    if word == b"r":
        view = memoryview(content)
        while view:
            view = view[os.write(1, view[:{_PIECE_BYTES}]):]
    else:
        left = size
        while left:
            left -= len(os.read(0, min(left, {_PIECE_BYTES})))
        os.write(1, b"k")
"""


class PipeCopy:
    """Both directions, `size` bytes each time."""

    def __init__(self, to: int, back: int, size: int) -> None:
        self._to = to
        self._back = back
        self._content = b"x" * size

    def read(self) -> bytes:
        """All bytes of the other end."""
        os.write(self._to, b"r")
        return self._take(len(self._content))

    def write(self) -> None:
        """The other end has all of ours, and said so."""
        os.write(self._to, b"w")
        view = memoryview(self._content)
        while view:
            view = view[os.write(self._to, view[:_PIECE_BYTES]) :]
        self._take(1)

    def _take(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            piece = os.read(self._back, _PIECE_BYTES)
            if not piece:
                raise EOFError("the other end of the pipe is gone")
            content += piece
        return bytes(content)


@contextmanager
def pipe_copy(size: int) -> Iterator[PipeCopy]:
    """The other end runs until the block ends. `size` in bytes."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _OTHER_END, str(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 - both are pipes
    try:
        yield PipeCopy(process.stdin.fileno(), process.stdout.fileno(), size)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
