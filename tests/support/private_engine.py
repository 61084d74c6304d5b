"""A second Docker engine, all for the tests: real, remapping users, with runtimes of its own, to be stopped and frozen.

It has its own mount, network, process and IPC namespaces. So it cannot touch the first engine's bridge or the host's
firewall, its `/etc` may say what the host's does not, and whatever it started ends with the process that holds them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import docker
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

__all__ = ["FIRST_HOST_UID", "PrivateEngine"]

FIRST_HOST_UID = 200_000
"""Who user 0 of its containers is on the host."""

_USER = "remapped"
_UP_SECONDS = 60
# The unified folder of a host with control groups of both versions is more than crun starts on. The signal stays
# ignored: what a killed daemon leaves, and ends, is then no zombie, which the next daemon would take for alive.
_HOLD = """set -eu
mount -t overlay -o "lowerdir=/etc,upperdir=$1/etc,workdir=$1/etc.work" overlay /etc
umount /sys/fs/cgroup/unified 2>/dev/null || :
trap '' CHLD
echo ready
exec sleep infinity
"""
_NAMESPACES = ("--mount", "--net", "--pid", "--ipc")
_HELD = ("--fork", "--kill-child", "--mount-proc", "--propagation", "slave")


class PrivateEngine:
    """An engine with these `runtimes`, in the form of the daemon's configuration. Made, it answers."""

    def __init__(self, runtimes: Mapping[str, object]) -> None:
        # Not below pytest's folder, which its containers' users could not pass.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="runner-engine-"))
        folder.chmod(0o711)
        self._cgroup = f"runner-tests-{os.getpid()}"
        self.socket = folder / "e.sock"
        self._lay_out(runtimes)
        self._holder = subprocess.Popen(
            ["unshare", *_NAMESPACES, *_HELD, "sh", "-c", _HOLD, "sh", str(folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._entered: subprocess.Popen[bytes] | None = None
        try:
            assert self._holder.stdout is not None
            assert self._holder.stdout.readline() == "ready\n", "the namespaces could not be made; this needs root"
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """What leads a client to it."""
        return {"DOCKER_HOST": f"unix://{self.socket}"}

    def client(self) -> docker.DockerClient:
        """A client of the SDK."""
        return docker.DockerClient(base_url=f"unix://{self.socket}", version="auto", timeout=30)

    def start(self) -> None:
        """The daemon is up and answers."""
        data, log = self._folder / "data", self._folder / "log"
        flags = [f"--config-file={self._folder / 'daemon.json'}", f"--host=unix://{self.socket}"]
        flags += [f"--data-root={data}", f"--exec-root={self._folder / 'run'}", f"--pidfile={self._folder / 'pid'}"]
        flags += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--log-level=warn"]
        flags += [f"--cgroup-parent={self._cgroup}", f"--userns-remap={_USER}:{_USER}"]
        for left in ("pid", "run/containerd/containerd.pid"):  # one that was killed left them
            (self._folder / left).unlink(missing_ok=True)
        with log.open("ab") as file:
            self._entered = subprocess.Popen(
                ["nsenter", "--target", str(_child(self._holder.pid)), *_NAMESPACES, "dockerd", *flags],
                stdout=file,
                stderr=file,
            )
        self._wait_until_up()
        self._daemon = _child(self._entered.pid)

    def stop(self, how: signal.Signals) -> None:
        """The daemon was sent the signal, and has ended."""
        assert self._entered is not None
        helpers = [int(pid) for file in _children_files(self._daemon) for pid in file.read_text("ascii").split()]
        os.kill(self._daemon, how)
        self._entered.wait(_UP_SECONDS)
        for helper in helpers:  # its containerd: on most hosts a service of its own, here a part of the engine
            with contextlib.suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)

    def freeze(self) -> None:
        """It keeps its connections, and says nothing any more."""
        os.kill(self._daemon, signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on where it was."""
        assert self._entered is not None
        os.kill(self._daemon, signal.SIGCONT)
        self._entered.send_signal(signal.SIGCONT)  # which had stopped with its child

    def take_image(self, name: str) -> None:
        """It has the image of that name, as the first engine has it."""
        with contextlib.closing(docker.from_env(timeout=120)) as first, contextlib.closing(self.client()) as mine:
            mine.api.timeout = 300
            mine.api.load_image(first.images.get(name).save(named=name))  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Nothing of it is left."""
        self._holder.kill()
        self._holder.communicate()
        if self._entered is not None:
            self._entered.kill()
            self._entered.wait(_UP_SECONDS)
        for controller in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()):
            for folder, _, _ in os.walk(controller / self._cgroup, topdown=False):
                with contextlib.suppress(OSError):  # of a process that is still on its way out
                    Path(folder).rmdir()
        shutil.rmtree(self._folder)

    def _lay_out(self, runtimes: Mapping[str, object]) -> None:
        etc = self._folder / "etc"
        for path in (etc, self._folder / "etc.work"):
            path.mkdir()
        (self._folder / "daemon.json").write_text(json.dumps({"runtimes": runtimes}), encoding="utf-8")
        (etc / "passwd").write_text(Path("/etc/passwd").read_text("utf-8") + f"{_USER}:x:64999:64999::/:/bin/false\n")
        (etc / "group").write_text(Path("/etc/group").read_text("utf-8") + f"{_USER}:x:64999:\n")
        for name in ("subuid", "subgid"):
            (etc / name).write_text(f"{_USER}:{FIRST_HOST_UID}:65536\n")

    @retry(
        retry=retry_if_exception_type(OSError), wait=wait_fixed(0.05), stop=stop_after_delay(_UP_SECONDS), reraise=True
    )
    def _wait_until_up(self) -> None:
        assert self._entered is not None
        assert self._entered.poll() is None, (self._folder / "log").read_text("utf-8", "replace")[-2000:]
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket))
            client.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            assert b" 200 OK" in client.recv(4096)


def _child(pid: int) -> int:
    """The one child of a process."""
    (child,) = (child for file in _children_files(pid) for child in file.read_text("ascii").split())
    return int(child)


def _children_files(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").glob("*/children"))
