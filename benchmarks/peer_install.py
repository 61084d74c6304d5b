"""SWE-ReX as its package is published: its client in a virtual environment of its own, its server as a folder.

Both lie below build/ and stay there for the next bench. They never touch .venv: a peer's pins are not ours.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.failure import PeerMissing

__all__ = ["SWEREX_VERSION", "swerex_client_python", "swerex_server"]

SWEREX_VERSION = "1.4.0"
_PACKAGE = f"swe-rex=={SWEREX_VERSION}"
_CLIENT_NEEDS = "aiohttp>=3.9,<4"  # its client imports it, and its package does not ask for it
_FOLDER = Path(__file__).resolve().parents[1] / "build" / "bench-peers" / f"swe-rex-{SWEREX_VERSION}"
_PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")


def swerex_client_python(seconds: float, folder: Path = _FOLDER) -> Path:
    """A Python that has the client. Raises PeerMissing when it cannot be installed in its time."""
    made = folder / "client"
    if not made.is_dir():
        fresh = _fresh(folder / "client.part")
        venv.create(fresh, with_pip=False)
        _pip(seconds, "--python", str(fresh / "bin" / "python"), "install", _PACKAGE, _CLIENT_NEEDS)
        fresh.rename(made)
    return made / "bin" / "python"


def swerex_server(python: str, seconds: float, folder: Path = _FOLDER) -> Path:
    """A folder with a folder `server` of modules for that Python (`3.11`) of an image.

    Raises:
        PeerMissing: when it cannot be installed in its time.
    """
    made = folder / f"image-{python}"
    if not made.is_dir():
        fresh = _fresh(folder / "image.part")
        wheels = ("--only-binary=:all:", *(f"--platform={platform}" for platform in _PLATFORMS))
        _pip(seconds, "install", _PACKAGE, f"--target={fresh / 'server'}", f"--python-version={python}", *wheels)
        fresh.rename(made)
    return made


def _fresh(folder: Path) -> Path:
    """What an interrupted install left is gone. A rename makes a folder whole at once."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def _pip(seconds: float, *arguments: str) -> None:
    argv = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", *arguments)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise PeerMissing(f"{_PACKAGE} could not be installed in {seconds:g} s.") from None
    if done.returncode != 0:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "pip said nothing")
        raise PeerMissing(f"{_PACKAGE} could not be installed: {last.strip()[:200]}")
