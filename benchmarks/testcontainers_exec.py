"""testcontainers' `exec` beside ours, in a container of the workspace image without a network."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from benchmarks.bare import LABEL, to_its_end
from benchmarks.failure import BenchFailed, PeerMissing
from benchmarks.repositories import FOUR_KIB

__all__ = ["TestcontainersExec", "testcontainers_exec"]

_SECONDS_TO_LIVE = 3600
_OPTIONS = "size=64m,uid=1000,gid=1000"  # of the image's user `agent`
_MAKE_FILE = 'mkdir -p "${1%/*}" && head -c 3072 /dev/urandom | base64 -w 76 | head -c 4096 >"$1"'


class TestcontainersExec:
    """A container that is started."""

    __test__ = False  # for pytest, which takes the product's name for a test's
    name = "testcontainers"

    def __init__(self, container: Any) -> None:
        self._container = container
        self.version = version("testcontainers")

    def run(self, argv: list[str]) -> float:
        """Milliseconds until the program had ended with 0. Raises BenchFailed when it ended otherwise."""
        started = time.perf_counter()
        code, output = self._container.exec(argv)
        milliseconds = (time.perf_counter() - started) * 1000
        if code != 0:
            raise BenchFailed(f"{argv[0]} ended with {code}: {output[-300:].decode('utf-8', 'replace')}")
        return milliseconds

    def read(self, path: str, size: int) -> float:
        """Milliseconds until the file's content was here; there is no other way to it than a program."""
        return self.run(["cat", path])


@contextmanager
def testcontainers_exec(image: str) -> Iterator[TestcontainersExec]:
    """A fresh container, gone when the block ends. Raises PeerMissing when the package is not installed."""
    # The reaper is an image that cannot be pulled everywhere; the container ends itself instead.
    os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
    try:
        module = import_module("testcontainers.core.container")
    except ImportError as error:
        raise PeerMissing(f"testcontainers is not installed: {error}.") from None
    container = module.DockerContainer(image).with_command(["sleep", str(_SECONDS_TO_LIVE)])
    container.with_tmpfs_mount("/workspace", _OPTIONS)
    container.with_kwargs(
        labels=LABEL, user="agent", working_dir="/workspace", network_mode="none", init=True, read_only=True,
        cap_drop=["ALL"], security_opt=["no-new-privileges"], auto_remove=True,
    )  # fmt: skip
    try:
        peer = TestcontainersExec(to_its_end(container.start))
        peer.run(["/bin/sh", "-euc", _MAKE_FILE, "sh", FOUR_KIB])
        yield peer
    finally:
        container.stop()
