"""The helper as a plain process of this machine, on a folder of its own: for tests of the protocol without an engine.

Never with `--contained`: the helper then kills everything that its user may signal, which here is this machine. As
root, the helper runs as a user without rights, so that permission bits mean something.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runner.engine.channel import HelperChannel
from runner.model.errors import SandboxLost

__all__ = ["HELPER", "LocalSandbox", "LocalStream", "local_sandbox"]

HELPER = Path(__file__).parents[2] / "images" / "workspace" / "helper.py"
UNPRIVILEGED_UID = 54_321  # nobody's


def _python() -> str:
    """A Python that an unprivileged user may run: the system's, if there is one."""
    system = Path("/usr/bin/python3")
    return str(system) if system.exists() else sys.executable


class LocalStream:
    """`ByteStream` over the pipes of a subprocess."""

    def __init__(self, argv: list[str], *, user: int | None = None) -> None:
        demote = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd="/", env={"PATH": "/usr/bin:/bin"},
            **demote,  # type: ignore[call-overload]
        )  # fmt: skip
        self._in: int = self.process.stdin.fileno()
        self._out: int = self.process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._closed = False

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._in, view) :]
        except OSError as error:
            raise SandboxLost("the helper has ended") from error

    def read(self, timeout: float) -> bytes:
        if not self._poll.poll(timeout * 1000):
            raise TimeoutError
        return os.read(self._out, 256 * 1024)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class LocalSandbox(HelperChannel):
    """A sandbox's operations on `root`, without any isolation."""

    def __init__(self, root: Path) -> None:
        user = UNPRIVILEGED_UID if os.geteuid() == 0 else None
        if user is not None:
            os.chown(root, user, user)
        self.root = root
        self.local = LocalStream([_python(), "-I", "-S", str(HELPER), str(root)], user=user)
        super().__init__(self.local)


@contextlib.contextmanager
def local_sandbox() -> Iterator[LocalSandbox]:
    """A fresh one, in a folder that is gone afterwards; nothing that ran in it is left."""
    # Not pytest's tmp_path: its parents are closed to other users.
    root = Path(tempfile.mkdtemp(prefix="runner-local-"))
    root.chmod(0o755)
    try:
        sandbox = LocalSandbox(root)
        try:
            yield sandbox
        finally:
            sandbox.close()
    finally:
        shutil.rmtree(root, ignore_errors=True)
