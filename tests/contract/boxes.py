"""One way to arrange a tree and run a program, whatever sandbox is behind it.

A real sandbox is arranged by programs that run inside it, the fake one by its tree. A `Script` is a shell text for the
real ones together with what it does, said in Python, for the fake.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from runner.engine.contract import FileFault, FileRefused, SpawnRequest, SpawnResult
from runner.engine.fake import FakeCall, FakeOutcome, FakeSandbox

__all__ = ["ENV", "Box", "FakeBox", "RealBox", "Script", "cancel_when_it_prints", "fault_of"]

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@dataclass(frozen=True)
class Script:
    """The same program twice."""

    text: str
    fake: Callable[[FakeCall], FakeOutcome]


class Box(Protocol):
    """A sandbox and the means to arrange it."""

    @property
    def sandbox(self) -> Any: ...
    def put(self, path: str, data: bytes, mode: int = 0o644) -> None: ...
    def mkdir(self, path: str, mode: int = 0o755) -> None: ...
    def link(self, path: str, target: str) -> None: ...
    def fifo(self, path: str) -> None: ...
    def sparse(self, path: str, size: int) -> None: ...
    def remove(self, path: str) -> None: ...
    def run(self, script: Script, **changes: Any) -> SpawnResult: ...


class FakeBox:
    """The in-memory sandbox; its `sh` knows the scripts it is asked to run."""

    def __init__(self) -> None:
        self.sandbox = FakeSandbox()
        self.tree = self.sandbox.tree

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self.tree.put_file(path, data, mode)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        self.tree.put_dir(path, mode)

    def link(self, path: str, target: str) -> None:
        self.tree.put_link(path, target)

    def fifo(self, path: str) -> None:
        self.tree.put_other(path)

    def sparse(self, path: str, size: int) -> None:
        self.tree.put_file(path, b"", size_claimed=size)

    def remove(self, path: str) -> None:
        self.tree.remove(path)

    def run(self, script: Script, **changes: Any) -> SpawnResult:
        self.sandbox.programs["sh"] = script.fake
        return self.sandbox.spawn(_request(script, changes))


class RealBox:
    """A sandbox with a helper. Whatever is arranged is done by a program inside, as its user."""

    def __init__(self, sandbox: Any) -> None:
        self.sandbox = sandbox

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        folder = path.rpartition("/")[0] or "."
        self._do(
            'mkdir -p -- "$2" && rm -rf -- "$1" && cat >"./$1" && chmod "$3" -- "$1"', path, folder, f"{mode:o}", data
        )

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        self._do('mkdir -p -- "$1" && chmod "$2" -- "$1"', path, f"{mode:o}")

    def link(self, path: str, target: str) -> None:
        self._do('ln -s -- "$2" "$1"', path, target)

    def fifo(self, path: str) -> None:
        self._do('mkfifo -- "$1"', path)

    def sparse(self, path: str, size: int) -> None:
        self._do('truncate -s "$2" -- "$1"', path, str(size))

    def remove(self, path: str) -> None:
        self._do('rm -rf -- "$1"', path)

    def unpack(self, archive: bytes) -> None:
        """Everything in a tar archive, as of now and with its modes: one program for a whole tree."""
        self._do("tar --extract --preserve-permissions --touch --file -", archive)

    def shell(self, text: str, *words: str, **changes: Any) -> SpawnResult:
        """Runs a shell text with arguments."""
        request = {"env": ENV, "deadline_seconds": 20.0, "output_cap_bytes": 1 << 20, **changes}
        result: SpawnResult = self.sandbox.spawn(SpawnRequest(("sh", "-c", text, "sh", *words), **request))
        return result

    def run(self, script: Script, **changes: Any) -> SpawnResult:
        result: SpawnResult = self.sandbox.spawn(_request(script, changes))
        return result

    def _do(self, text: str, *words: str | bytes) -> None:
        names = [word for word in words if isinstance(word, str)]
        stdin = [word for word in words if isinstance(word, bytes)]
        result = self.shell(text, *names, stdin=stdin)
        assert result.exit == 0, result.stderr


def _request(script: Script, changes: dict[str, Any]) -> SpawnRequest:
    fields = {"env": ENV, "deadline_seconds": 20.0, "output_cap_bytes": 1 << 20, **changes}
    return SpawnRequest(("sh", "-c", script.text), **fields)


def fault_of(act: Callable[[], object]) -> FileFault:
    """The fault that the act is refused with."""
    try:
        act()
    except FileRefused as refused:
        return refused.fault
    raise AssertionError("it was not refused")


def cancel_when_it_prints(box: Box, script: Script) -> SpawnResult:
    """The script runs until another thread cancels it, which happens once it has printed."""
    printed = threading.Event()

    def cancel() -> None:
        printed.wait(20)
        box.sandbox.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        return box.run(script, sink=lambda _stream, _data: printed.set())
    finally:
        printed.set()
        thread.join()
