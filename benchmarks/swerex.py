"""SWE-ReX beside ours: its server preinstalled in an image made from the workspace's, its client in a process.

The server's container has the hardening of a run's, and a network, which it needs. No port is published: the client
asks at the container's own address. Container and image carry the label `LABEL` and are gone when the block ends; a
container whose bench was killed ends itself.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.bare import BareDocker
from benchmarks.failure import BenchFailed, PeerMissing
from benchmarks.peer_install import SWEREX_VERSION, swerex_client_python, swerex_server
from benchmarks.repositories import FOUR_KIB, small_files

__all__ = ["SweRex", "swerex"]

_CLIENT = Path(__file__).with_name("swerex_client.py")
_PORT = 8000
_SECONDS_TO_LIVE = 3600
_ADDRESS_SECONDS = 10
_PYTHON = ("python3", "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
_DOCKERFILE = """FROM {base}
COPY server /opt/swerex
ENV PYTHONPATH=/opt/swerex PYTHONDONTWRITEBYTECODE=1
"""


class SweRex:
    """A client that is connected. Every method answers milliseconds, counted around the client's own call."""

    name = "SWE-ReX"
    version = SWEREX_VERSION

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101 - both are pipes
        self._to, self._back = process.stdin, process.stdout

    def hello(self, token: str) -> None:
        """The server answered. Raises PeerMissing when it does not in its time."""
        try:
            self._say(token)
            self._hear()
        except BenchFailed as error:
            raise PeerMissing(f"the server of SWE-ReX {SWEREX_VERSION} did not start: {error}.") from None

    def run(self, argv: list[str]) -> float:
        """The program ran in the workspace and ended with 0."""
        return self._order({"argv": argv})

    def read(self, path: str, size: int) -> float:
        """A file of the workspace was read, of `size` characters."""
        return self._order({"path": f"/workspace/{path}", "size": size})

    def write(self, path: str, content: str) -> float:
        """A file of the workspace has this content."""
        return self._order({"path": f"/workspace/{path}", "content": content})

    def _order(self, order: dict[str, Any]) -> float:
        self._say(json.dumps(order))
        return self._hear()

    def _say(self, line: str) -> None:
        try:
            self._to.write(f"{line}\n")
            self._to.flush()
        except BrokenPipeError:
            raise BenchFailed("its client has ended") from None

    def _hear(self) -> float:
        line = self._back.readline()
        if not line:
            raise BenchFailed("its client has ended")
        answer = json.loads(line)
        if "ms" not in answer:
            raise BenchFailed(f"SWE-ReX: {answer['wrong']}")
        return float(answer["ms"])


@contextmanager
def swerex(bare: BareDocker, base: str, install_seconds: float) -> Iterator[SweRex]:
    """A server in a fresh container of an image made from `base`, and a client that is connected to it.

    Raises:
        PeerMissing: when it cannot be installed or started here.
    """
    python, token = swerex_client_python(install_seconds), secrets.token_hex(16)
    with (
        _image(bare, base, install_seconds) as image,
        _container(bare, image, token) as address,
        _client(python, address) as process,
    ):
        peer = SweRex(process)
        peer.hello(token)
        peer.write(FOUR_KIB, small_files()[FOUR_KIB].decode("ascii"))
        yield peer


@contextmanager
def _image(bare: BareDocker, base: str, install_seconds: float) -> Iterator[str]:
    with bare.container() as container:
        server = swerex_server(bare.exec(container, _PYTHON).decode("ascii").strip(), install_seconds)
    (server / "Dockerfile").write_text(_DOCKERFILE.format(base=base), encoding="ascii")
    with bare.image(server) as image:
        yield image


@contextmanager
def _container(bare: BareDocker, image: str, token: str) -> Iterator[str]:
    """Where the server of a container is to be reached."""
    # `timeout` ends it when the bench is killed and cannot.
    argv = ["timeout", "--signal=KILL", str(_SECONDS_TO_LIVE), "python3", "-m", "swerex.server", "--auth-token", token]
    container = bare.start(image=image, argv=argv, user="agent", network=True)
    try:
        yield f"http://{_address(bare, container)}:{_PORT}"
    finally:
        bare.remove(container)


def _address(bare: BareDocker, container: str) -> str:
    end = time.monotonic() + _ADDRESS_SECONDS
    while time.monotonic() < end:
        if address := bare.address(container):
            return address
        time.sleep(0.05)
    raise PeerMissing("the engine gives containers no network, which SWE-ReX needs.")


@contextmanager
def _client(python: Path, address: str) -> Iterator[subprocess.Popen[str]]:
    argv = [str(python), "-I", str(_CLIENT), address]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
