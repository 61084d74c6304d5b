"""Removing and mending folders that a room of the gate wrote: nothing in them is followed, and no depth stops it.

A room that was taken over may leave links in the place of files, and folders a thousand deep, which the standard
library's own removal answers with an error of recursion.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

__all__ = ["make_plain", "remove_tree"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_STRANGE = ("config.worktree", "commondir", "shallow", "hooks", "FETCH_HEAD")


def remove_tree(path: Path) -> None:
    """Nothing is at `path`, as far as its owner can see to that. A link there goes, and what it leads to stays."""
    with suppress(OSError):
        path.unlink()
        return
    try:
        top = os.open(path, _FOLDER)
    except OSError:
        return
    try:
        _empty(top)
    finally:
        os.close(top)
    with suppress(OSError):
        path.rmdir()


def _empty(top: int) -> None:
    """Folders inside folders are moved up first, so that none is ever opened from deep below."""
    fresh = (f".gone-{number}" for number in count())
    while folders := _unlink_files(top):
        before = len(folders)
        for name in folders:
            with suppress(OSError):
                os.chmod(name, 0o700, dir_fd=top)
                inner = os.open(name, _FOLDER, dir_fd=top)
                try:
                    for below in _unlink_files(inner):
                        os.rename(below, next(fresh), src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
                before -= 1
        if before == len(folders):
            return  # none of them could be removed


def _unlink_files(folder: int) -> list[str]:
    """Every entry that is no folder is gone; the names of the others."""
    folders = []
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in listed:
        if is_folder:
            folders.append(name)
        else:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    return folders


def make_plain(repository: Path) -> None:
    """The bare repository has the configuration of a new one, borrows from nobody, and has no lock of its own files.

    A configuration that a room wrote would be obeyed by the next git that works there, and may name another address.

    Raises:
        OSError: it is no folder, or cannot be written.
    """
    top = os.open(repository, _FOLDER)
    try:
        for entry in os.listdir(top):  # noqa: PTH208 - of the open folder, so that no link is followed
            if entry == "config" or entry in _STRANGE or entry.endswith(".lock"):
                _drop(entry, top)
        with os.fdopen(os.open("config", _FILE, 0o600, dir_fd=top), "wb") as file:
            file.write(_CONFIG)
        for inner, names in (("objects/info", ("alternates", "http-alternates")), ("info", ("grafts", "attributes"))):
            _drop_below(top, inner.split("/"), names)
        _drop_drafts(top)
    finally:
        os.close(top)


def _drop(name: str, folder: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)
    with suppress(OSError):
        os.rename(name, f".strange-{os.urandom(6).hex()}", src_dir_fd=folder, dst_dir_fd=folder)  # a folder


def _drop_below(top: int, parts: list[str], names: tuple[str, ...]) -> None:
    folder = _descend(top, parts)
    if folder is not None:
        try:
            for name in names:
                _drop(name, folder)
        finally:
            os.close(folder)


def _drop_drafts(top: int) -> None:
    """Packs that a killed git left unfinished only fill the disk."""
    folder = _descend(top, ["objects", "pack"])
    if folder is not None:
        try:
            for name in os.listdir(folder):  # noqa: PTH208 - of the open folder
                if name.startswith("tmp_"):
                    _drop(name, folder)
        finally:
            os.close(folder)


def _descend(top: int, parts: list[str]) -> int | None:
    current = os.dup(top)
    for part in parts:
        try:
            below = os.open(part, _FOLDER, dir_fd=current)
        except OSError:
            os.close(current)
            return None
        os.close(current)
        current = below
    return current
