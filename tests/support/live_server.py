"""`runner serve` in a process of its own, as a user starts it, and how to speak to it."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.support.cli import run_cli

__all__ = ["LiveServer", "make_token", "refused"]

_SECONDS = 60


def make_token(*options: str) -> str:
    """The text of a new token of tenant a, for every local repository."""
    made = subprocess.run(
        [sys.executable, "-m", "runner.doors.cli", "token", "create", "--tenant", "a", "--repo", "file:///*", *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
    )
    return made.stdout.strip()


class LiveServer:
    """The process. Leaving the block kills what is left of it."""

    def __init__(self, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runner.doors.cli", "serve", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.place = self._listening()

    def _listening(self) -> str:
        assert self.process.stderr is not None
        told = []
        for line in self.process.stderr:
            told.append(line)
            if "listening on " in line:
                return line.split("listening on ", 1)[1].strip()
        self.__exit__()
        raise AssertionError("".join(told))

    def __enter__(self) -> LiveServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    @property
    def port(self) -> int:
        return int(self.place.rpartition(":")[2])

    def client(self, token: str = "", *, ca: Path | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if self.place.startswith("unix:"):
            transport = httpx.HTTPTransport(uds=self.place.removeprefix("unix:"))
            return httpx.Client(transport=transport, base_url="http://server", headers=headers, timeout=_SECONDS)
        verify = ssl.create_default_context(cafile=ca)
        return httpx.Client(base_url=self.place, headers=headers, timeout=_SECONDS, verify=verify, trust_env=False)

    def stop(self) -> tuple[int, str]:
        """It was asked to end and has: its exit code, and what it said."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=_SECONDS)
        return self.process.returncode, said


def refused(*options: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """A server that does not start: exit code, and what it said."""
    ended = run_cli("serve", *options, environment=environment)
    return ended.exit_code, ended.stderr
