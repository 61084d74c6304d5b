"""The socket of a held run: where it is, and one JSON object a line over it.

The socket lies in the state folder, which is its owner's alone, and the holder asks the kernel who has connected. The
path is taken through a descriptor of the folder, since a socket's path may have 107 bytes and a state folder's more.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from runner.doors.calls import MAX_LINE_BYTES
from runner.model.errors import UsageError
from runner.policy.strict_json import read_call, read_json

__all__ = [
    "NotHeld",
    "Stream",
    "connect",
    "folder_of",
    "held_runs",
    "listening",
    "peer_is_us",
    "read_message",
    "send_message",
]


class NotHeld(UsageError):
    """No process holds a run of that name: it has ended, was never opened so, or never was."""


class Stream(Protocol):
    """Both directions of a connection, or a pipe's one."""

    def readline(self, size: int = -1, /) -> bytes:
        """Up to and with the next line's end, or `size` bytes."""

    def write(self, data: bytes, /) -> int:
        """How much was taken: all."""

    def flush(self) -> None:
        """What was written is on its way."""


_PEER = struct.Struct("3i")  # pid, uid, gid: `struct ucred` of socket(7)


def folder_of(state_dir: Path) -> Path:
    """Where the sockets are."""
    folder = state_dir / "held"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def held_runs(state_dir: Path) -> list[str]:
    """The names of runs that have a socket, answering or not."""
    return sorted(path.stem for path in folder_of(state_dir).glob("*.sock"))


@contextmanager
def _short(path: Path) -> Iterator[str]:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def listening(state_dir: Path, run_id: str) -> socket.socket:
    """A listening socket for the run. It has its name once it listens: what refuses a connection has no holder."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = folder_of(state_dir)
    draft = folder / f".{run_id}.new"
    before = os.umask(0o177)
    try:
        with _short(draft) as path:
            made.bind(path)
    finally:
        os.umask(before)
    made.listen()
    draft.rename(folder / f"{run_id}.sock")
    return made


def connect(state_dir: Path, run: str) -> socket.socket:
    """A connection to the holder of the run; the beginning of a name will do where only one run begins so.

    Raises:
        NotHeld: no such run is held.
        UsageError: several are.
    """
    names = [name for name in held_runs(state_dir) if name.startswith(run)] if run else []
    if len(names) > 1:
        raise UsageError(f"several held runs begin with {run[:40]!r}", hint=f"Say one of {', '.join(names)}.")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short(folder_of(state_dir) / f"{names[0] if names else '-'}.sock") as path:
            made.connect(path)
    except OSError as error:
        made.close()
        if names and isinstance(error, ConnectionRefusedError):  # nothing else says that its holder is gone
            (folder_of(state_dir) / f"{names[0]}.sock").unlink(missing_ok=True)
        known = ", ".join(held_runs(state_dir)) or "none"
        raise NotHeld(
            f"no held run is called {run[:40]!r}", hint=f"Held runs: {known}. `runner open` opens one."
        ) from None
    return made


def peer_is_us(connection: socket.socket) -> bool:
    """Whether the other end is of this process's user."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return bool(_PEER.unpack(peer)[1] == os.geteuid())


def send_message(stream: Stream, **message: Any) -> None:
    """The message is on its way."""
    stream.write(json.dumps(message, ensure_ascii=True).encode("ascii") + b"\n")
    stream.flush()


def read_message(stream: Stream, *, from_caller: bool = False) -> dict[str, Any] | None:
    """The next message; None at the end. One from a caller has no more values than a call may have.

    Raises:
        ValueError: it is none.
    """
    line = stream.readline(MAX_LINE_BYTES + 1)
    if not line:
        return None
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"it is longer than {MAX_LINE_BYTES} bytes")
    value = (read_call if from_caller else read_json)(line)
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value
