"""The floor: the least that starting a program, and asking another process for some bytes, can cost on this host."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.failure import BenchFailed

__all__ = ["SocketEcho", "socket_echo", "spawn_and_wait"]

_OTHER_END = """
import socket, sys
content = b"x" * int(sys.argv[2])
with socket.socket(fileno=int(sys.argv[1])) as end:
    while end.recv(1):
        end.sendall(content)
"""


def spawn_and_wait(argv: Sequence[str]) -> None:
    """The program ran to its end, by the fewest system calls there are for it; its output is gone.

    Raises:
        BenchFailed: when it did not end with 0.
    """
    quiet = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawn(argv[0], list(argv), dict(os.environ), file_actions=[quiet])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        raise BenchFailed(f"{argv[0]} ended with {code}")


class SocketEcho:
    """One end of a pair of Unix sockets, whose other end answers each byte with `size` bytes."""

    def __init__(self, end: socket.socket, size: int) -> None:
        self._end = end
        self._size = size

    def ask(self) -> bytes:
        """The answer, whole."""
        self._end.sendall(b"?")
        answer = bytearray()
        while len(answer) < self._size:
            piece = self._end.recv(self._size)
            if not piece:
                raise EOFError("the other end of the socket is gone")
            answer += piece
        return bytes(answer)


@contextmanager
def socket_echo(size: int) -> Iterator[SocketEcho]:
    """The other end runs until the block ends. `size` in bytes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours:
        with theirs:
            argv = [sys.executable, "-I", "-S", "-c", _OTHER_END, str(theirs.fileno()), str(size)]
            process = subprocess.Popen(argv, pass_fds=[theirs.fileno()])
        try:
            yield SocketEcho(ours, size)
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            process.wait()
