"""Pipes and devices where git expects a file: opening one may wait for ever, and git opens what it finds by name.

Only what git's serving half reads is looked at, by `stat` alone, which opens nothing. What is a link counts as what it
leads to, since git follows it too. A socket does no harm: it cannot be opened as a file.

Who owns the repository can still put a pipe there a moment later; then the deadline of the transfer ends it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from runner.gate.local import common_folder, git_folder, lenders_of, small_text
from runner.model.errors import RepositoryUnavailable
from runner.policy.paths import shown

__all__ = ["require_ordinary_files"]

MAX_ENTRIES = 1_000_000
"""Of one repository. A look at one takes about a microsecond; who has more has not packed in years."""

_READ_WHOLE = ("objects", "refs", "reftable", "info", "worktrees")
"""Folders of a repository that git reads in, as deep as they go."""

_CONFIGS = ("config", "config.worktree")
_MAX_CONFIG_BYTES = 1 << 20
_MAX_INCLUDED = 100  # files; git itself goes ten deep
_INCLUDED = re.compile(r"(?im)(?:^|[\s\]])path\s*=[ \t]*([^\n]*)")


def require_ordinary_files(path: Path) -> None:
    """Nothing happens when git can read the local repository at `path` without opening a pipe or a device.

    Raises:
        RepositoryUnavailable: code `repository_special_file`, naming the first one; `repository_too_many_files`.
    """
    left = MAX_ENTRIES
    for entry in _files(path):
        left -= 1
        if left < 0:
            raise RepositoryUnavailable(
                f"{path} has more than {MAX_ENTRIES} files for git to read",
                hint="Pack it with `git gc`.",
                code="repository_too_many_files",
            )
        if entry is not None and _waits(entry):
            raise RepositoryUnavailable(
                f"{shown(str(entry))} is a pipe or a device, where git expects a file",
                hint="Remove it, or give the path of another repository.",
                code="repository_special_file",
            )


def _files(path: Path) -> Iterator[str | None]:
    """What git may open, folders among it; None for what is plainly a file or a folder.

    Nothing is opened here but folders and small ordinary files.
    """
    yield str(path / ".git")
    own, common = git_folder(path), common_folder(path)
    seen: set[tuple[int, int]] = set()
    for folder in dict.fromkeys((own, common)):
        yield from _beneath(str(folder), seen, descend=False)
        for name in _READ_WHOLE:
            yield from _beneath(str(folder / name), seen, descend=True)
    for objects in lenders_of(path):
        yield from _beneath(str(objects), seen, descend=True)
    yield from _included([folder / name for folder in (own, common) for name in _CONFIGS])


def _beneath(folder: str, seen: set[tuple[int, int]], *, descend: bool) -> Iterator[str | None]:
    """The folder's entries; with `descend` also theirs, each folder once, through whatever links it is reached."""
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            found = Path(current).stat()
            if descend and (found.st_dev, found.st_ino) in seen:
                continue
            with os.scandir(current) as entries:
                named = list(entries)
        except (OSError, ValueError):
            continue
        if descend:
            seen.add((found.st_dev, found.st_ino))
        for entry in named:
            plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
            yield None if plain else entry.path
            if descend and _is_folder(entry):
                waiting.append(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a loop of links


def _included(configs: list[Path]) -> Iterator[str]:
    """The files that configuration includes, under a condition or not.

    Read too widely rather than too narrowly: a `path` of another section names a file that is merely looked at.
    """
    waiting, taken = list(configs), set[Path]()
    while waiting and len(taken) < _MAX_INCLUDED:
        config = waiting.pop()
        if config in taken:
            continue
        taken.add(config)
        text = (small_text(config, _MAX_CONFIG_BYTES) or "").replace("\\\n", "")
        for value in _INCLUDED.findall(text):
            name = value.split("#")[0].split(";")[0].strip().replace('"', "").replace("\\\\", "\\")
            included = config.parent / Path(name).expanduser() if name.startswith("~/") else config.parent / name
            yield str(included)
            waiting.append(included)


def _waits(path: str) -> bool:
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False  # git finds nothing there either
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
