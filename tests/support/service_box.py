"""A container with one server of the tests' image, started through testcontainers, and how files get in and out of it.

Its configuration is put in after its start, when its address is known, and the server waits for that. Nothing of the
host is mounted, and no port is published: it is reached at its own address on the engine's bridge.
"""

from __future__ import annotations

import io
import os
import socket
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

# The reaper is an image that cannot be pulled everywhere. Ours end by themselves (start.sh); `make clean` finds them.
os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"

from testcontainers.core.container import DockerContainer

__all__ = ["ServiceBox"]

USER = 1000  # the one that the image's servers run as
START_SECONDS = 30
POLL_SECONDS = 0.02


class ServiceBox:
    """One container. Leaving the block removes it."""

    def __init__(self, image: str, command: str | list[str]) -> None:
        self._container = (
            DockerContainer(image)
            .with_command(command)
            .with_kwargs(init=True, cap_drop=["ALL"], security_opt=["no-new-privileges"], pids_limit=256)
        )

    def __enter__(self) -> ServiceBox:
        self._container.start()
        self._container.get_wrapped_container().reload()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._container.stop()

    @property
    def ip(self) -> str:
        """Its address on the engine's bridge, which the host and other containers there reach."""
        return str(self._bridge["IPAddress"])

    @property
    def gateway(self) -> str:
        """This host's address on that bridge."""
        return str(self._bridge["Gateway"])

    @property
    def _bridge(self) -> Any:
        return self._container.get_wrapped_container().attrs["NetworkSettings"]["Networks"]["bridge"]

    def configure(self, files: Mapping[str, bytes], port: int | None = None) -> None:
        """The server has its files (path below /srv/etc to content), and accepts connections at `port`."""
        self.write({f"/srv/etc/{name}": content for name, content in files.items()})
        self.write({"/srv/etc/ready": b""})
        if port is not None:
            self._wait_for(port)

    def write(self, files: Mapping[str, bytes]) -> None:
        """These files are there, readable by the server's user alone. Their folders must be there."""
        with io.BytesIO() as packed:
            with tarfile.open(fileobj=packed, mode="w") as tar:
                for name, content in files.items():
                    entry = tarfile.TarInfo(name.lstrip("/"))
                    entry.size, entry.mode, entry.uid, entry.gid = len(content), 0o600, USER, USER
                    tar.addfile(entry, io.BytesIO(content))
            self._container.get_wrapped_container().put_archive("/", packed.getvalue())

    def put(self, folder: Path, target: str) -> None:
        """The folder is at `target` as it is here: links, modes and names of any bytes. It belongs to the server."""
        with tempfile.TemporaryFile() as packed:
            with tarfile.open(fileobj=packed, mode="w") as tar:
                tar.add(folder, target.lstrip("/"), filter=_owned_by_the_server)
            packed.seek(0)
            self._container.get_wrapped_container().put_archive("/", packed)

    def run(self, *argv: str, environment: Mapping[str, str] | None = None, user: str = "") -> tuple[int, str]:
        """Exit code, and standard output and error in one text, of a program in the container."""
        found = self._container.get_wrapped_container().exec_run(
            list(argv), environment=dict(environment or {}), user=user
        )
        assert isinstance(found.output, bytes)
        return int(found.exit_code or 0), found.output.decode("utf-8", "surrogateescape")

    def output(self, *argv: str) -> str:
        """What a program printed that has to succeed, without the final newline."""
        code, text = self.run(*argv)
        assert code == 0, (argv, code, text)
        return text.rstrip("\n")

    def _wait_for(self, port: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((self.ip, port), timeout=START_SECONDS).close()
                return
            except OSError:
                logs = b"".join(self._container.get_logs()).decode("utf-8", "replace")
                assert time.monotonic() < deadline, f"the server does not answer: {logs}"
                time.sleep(POLL_SECONDS)


def _owned_by_the_server(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = USER
    entry.uname = entry.gname = ""
    return entry
