"""The repositories that are worked on: the same bytes each time, written by `git fast-import`."""

from __future__ import annotations

import base64
import random
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = [
    "FOUR_KIB",
    "LARGE_FILES",
    "LARGE_FILE_BYTES",
    "NEEDLE",
    "QUICK_FILE_BYTES",
    "SMALL_MODULES",
    "large_files",
    "make_repository",
    "small_files",
]

LARGE_FILES = 5_000
SMALL_MODULES = 20
FOUR_KIB = "data/four-kib.txt"
NEEDLE = "needle-in-a-haystack"

LARGE_FILE_BYTES = 8_400
"""Times 5,000, and hardly to be compressed: a pack of about 42 MB."""

QUICK_FILE_BYTES = 400
"""For a quick bench: as many files, and 2 MB."""

_LARGE_FOLDERS = 100
_NEEDLES = 20  # below every default of a search, so that no answer is cut
_SEED = 20


def small_files() -> dict[str, bytes]:
    """A small project: a readme, modules of about a kilobyte, and a file of 4 KiB."""
    random_ = random.Random(_SEED)  # noqa: S311 - filler, not a secret
    files = {"README.md": b"# Small\n\nA project to measure with.\n", FOUR_KIB: _text(random_, 4096)}
    for number in range(SMALL_MODULES):
        files[_module(number)] = b"export const value = %d;\n" % number + _text(random_, 1000)
    return files


def large_files(file_bytes: int = LARGE_FILE_BYTES) -> dict[str, bytes]:
    """A project of 5,000 text files in 100 folders; 20 of them hold the needle, once each."""
    random_ = random.Random(_SEED)  # noqa: S311 - filler, not a secret
    files: dict[str, bytes] = {}
    for number in range(LARGE_FILES):
        text = _text(random_, file_bytes * 4 // 3)
        if number % (LARGE_FILES // _NEEDLES) == 0:
            text += f"{NEEDLE} {number}\n".encode()
        files[f"part{number % _LARGE_FOLDERS:03}/file{number:05}.txt"] = text
    return files


def make_repository(path: Path, files: Mapping[str, bytes], git: str, environment: Mapping[str, str]) -> Path:
    """A bare repository with one commit of `files` on main, in one pack."""
    for arguments, stdin in (
        (["init", "--quiet", "--bare", "--initial-branch=main", str(path)], b""),
        (["-C", str(path), "fast-import", "--quiet"], b"".join(_fast_import(files))),
    ):
        subprocess.run([git, *arguments], input=stdin, env=dict(environment), check=True)
    return path


def _fast_import(files: Mapping[str, bytes]) -> Iterator[bytes]:
    yield b"commit refs/heads/main\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata 6\nfirst\n\n"
    for name, content in files.items():
        yield f"M 100644 inline {name}\ndata {len(content)}\n".encode()
        yield content + b"\n"


def _module(number: int) -> str:
    return f"src/module{number:02}.ts"


def _text(random_: random.Random, size: int) -> bytes:
    """`size` bytes of text in lines of 76 characters that does not compress below three quarters."""
    return base64.encodebytes(random_.randbytes(size))[: size - 1] + b"\n"
