"""What a local repository's own files say, read without git: no configuration of the repository's is obeyed for it.

The files are the repository's and may be anything: a link, a pipe, or of any size. What is not an ordinary small file
says nothing.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runner.gate.refs import HEADS

__all__ = ["common_folder", "git_folder", "head_branch", "lenders_of", "small_text"]

_MAX_BYTES = 4096  # a ref's name or a path; PATH_MAX
_MAX_LENDERS = 5  # alternates of alternates; git's own bound
_MAX_LENDERS_IN_ALL = 100  # they may name each other, and then each level multiplies


def git_folder(path: Path) -> Path:
    """The git folder of the repository at `path`: of a work tree, the one that its `.git` is or names."""
    inner = path / ".git"
    if inner.is_dir():
        return inner
    named = small_text(inner)
    # Nothing has a NUL in its name, and asked for such a place Python raises what nobody expects.
    return path if named is None or "\0" in named else path / named.removeprefix("gitdir:").strip()


def common_folder(path: Path) -> Path:
    """The folder with the configuration and hooks: of a linked work tree, the main one's git folder."""
    folder = git_folder(path)
    common = small_text(folder / "commondir")
    return folder if common is None or "\0" in common else folder / common.strip()


def lenders_of(path: Path) -> list[Path]:
    """The folders of objects that the repository at `path` borrows from, and those that they borrow from."""
    found: list[Path] = []
    _add_lenders(common_folder(path) / "objects", found, _MAX_LENDERS)
    return found


def _add_lenders(objects: Path, found: list[Path], depth: int) -> None:
    said = small_text(objects / "info" / "alternates") or ""
    for line in said.splitlines() if depth and len(found) < _MAX_LENDERS_IN_ALL else ():
        if line and not line.startswith("#") and "\0" not in line:
            found.append(objects / line)
            _add_lenders(objects / line, found, depth - 1)


def head_branch(path: Path) -> str | None:
    """The branch that HEAD names, whether it has a commit or not; None when it names a commit, or nothing."""
    head = git_folder(path) / "HEAD"
    try:
        said = f"ref: {head.readlink()}"  # as git made it long ago, and still reads it
    except OSError:
        said = small_text(head) or ""
    target = said.removeprefix("ref:").strip() if said.startswith("ref:") else ""
    return target.removeprefix(HEADS) or None if target.startswith(HEADS) else None


def small_text(path: Path, max_bytes: int = _MAX_BYTES) -> str | None:
    """The beginning of an ordinary file; None for anything else, which is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, max_bytes).decode("utf-8", "surrogateescape")
    finally:
        os.close(descriptor)
