"""Putting back what a commit, or its hooks, disturbed, out of what `commit_state` kept.

What is put back is read again and compared; what is not as it was is named, so that nobody is told otherwise. The
order matters: closed folders are opened, git's own state comes before git is asked anything, its objects before files
are taken out of them, and modes come last, when every path is there.

The programs are the image's own, by absolute path. A hook cannot lead them elsewhere: no process of the run lives, and
what it left is looked at as what it is, a link being a link.
"""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from runner.controller.commit_state import (
    EACH,
    STAT,
    STORES,
    Saved,
    TreeFailed,
    add_everything,
    archive_files,
    archive_git_state,
    list_objects,
    others_in,
    scratch_index,
)
from runner.controller.guest_git import GuestGit

__all__ = ["restore"]

_RESTORE_SECONDS = 20.0  # for all of it together, whatever the run has left: 10,000 files take less than two
_ROUNDS_MAX = 3  # the first mends, the second sees what a changed .gitignore hid, the last proves that all is well
_MODE = re.compile(rb"([0-9a-f]{1,8}) (.+)", re.DOTALL)
_OPEN = (
    "/usr/bin/find", ".", "(", "-type", "d", "!", "-perm", "-700", "-exec", "/usr/bin/chmod", "u+rwx", "{}", ";", ")",
    "-o", "(", "-type", "f", "!", "-perm", "-400", "-exec", "/usr/bin/chmod", "u+r", "{}", "+", ")",
)  # fmt: skip
_UNTAR = (
    "/usr/bin/tar", "--extract", "--file=-", "--preserve-permissions", "--no-same-owner", "--delay-directory-restore",
)  # fmt: skip


def restore(git: GuestGit, saved: Saved, clock: Callable[[], float] = time.monotonic) -> tuple[str, ...]:
    """HEAD, index, refs, configuration and files are as they were; returned is what is not. Takes 20 s at most."""
    give_up = clock() + _RESTORE_SECONDS
    git = replace(git, deadline_seconds=_RESTORE_SECONDS, remaining=lambda: max(0.1, give_up - clock()))
    git.program(*_OPEN)
    left = []
    if archive_git_state(git) != saved.git_state and not _put_back_git_state(git, saved.git_state):
        left.append("git's state (HEAD, index, refs, configuration)")
    if not _put_back_objects(git, saved):
        left.append("git's objects")
    if not _put_back_tree(git, saved) or not _put_back_files(git, saved):
        left.append("the working tree")
    if not _put_back_modes(git, saved):
        left.append("modes of files")
    return tuple(left)


def _put_back_git_state(git: GuestGit, state: bytes) -> bool:
    git.program("/usr/bin/find", ".git", "-maxdepth", "0", "!", "-type", "d", "-delete")  # a file or link in its place
    git.program("/usr/bin/mkdir", "-p", ".git/objects")
    spared = [word for name in STORES for word in ("!", "-name", name)]
    remove = ("-exec", "/usr/bin/rm", "-rf", "--", "{}", "+")
    git.program("/usr/bin/find", ".git", "-mindepth", "1", "-maxdepth", "1", *spared, *remove)
    git.program(*_UNTAR, "--directory=.git", stdin=[state])
    return archive_git_state(git) == state


def _put_back_objects(git: GuestGit, saved: Saved) -> bool:
    if saved.objects is not None:
        git.run("unpack-objects", "-q", stdin=[saved.objects])  # what is there already is not written again
    # The listings are compared whole: git passes over a branch whose commit is missing.
    same = all(list_objects(git, arguments) == names for arguments, names in saved.reachable)
    return same and git.run("rev-list", "--objects", "--quiet", saved.tree).exit == 0


def _put_back_tree(git: GuestGit, saved: Saved) -> bool:
    try:
        for _ in range(_ROUNDS_MAX):
            with scratch_index(git) as scratch:
                strangers = _remove_strangers(git, scratch, saved)
            with scratch_index(git) as scratch:
                if add_everything(git, scratch) == saved.tree and not strangers:
                    return True
                git.run("read-tree", "--reset", "-u", saved.tree, index=scratch)
    except TreeFailed:
        pass
    return False


def _remove_strangers(git: GuestGit, scratch: str, saved: Saved) -> bool:
    """Whether there was anything new; it is gone, before git would store it: it may fill the disk."""
    git.run("read-tree", "--reset", saved.tree, index=scratch)
    strangers = others_in(git, scratch) - saved.others
    git.program(*EACH, "/usr/bin/rm", "-rf", "--", stdin=[b"".join(b"./" + name + b"\0" for name in strangers)])
    return bool(strangers)


def _put_back_files(git: GuestGit, saved: Saved) -> bool:
    """The changed files are the same to the byte, which a tree does not tell where git converts what it stores."""
    if saved.files is None:
        return True
    if archive_files(git, saved.changed) == saved.files:
        return True
    git.program(*_UNTAR, stdin=[saved.files])
    return archive_files(git, saved.changed) == saved.files


def _put_back_modes(git: GuestGit, saved: Saved) -> bool:
    wanted, now = _parsed(saved.modes), _parsed(git.program(*STAT, stdin=[saved.paths]).stdout)
    groups: dict[tuple[bool, int], list[bytes]] = {}
    for path, mode in sorted(wanted.items(), reverse=True):  # what is in a folder before the folder
        if mode != now.get(path) and not stat.S_ISLNK(mode):
            groups.setdefault((stat.S_ISDIR(mode), stat.S_IMODE(mode)), []).append(path)
    for (_, bits), paths in sorted(groups.items()):
        chmod = ("/usr/bin/chmod", f"{bits:o}", "--")
        git.program(*EACH, *chmod, stdin=[b"".join(path + b"\0" for path in paths)])
    return not groups or git.program(*STAT, stdin=[saved.paths]).stdout == saved.modes


def _parsed(listing: bytes) -> Mapping[bytes, int]:
    matches = (_MODE.fullmatch(record) for record in listing.split(b"\0"))
    return {match[2]: int(match[1], 16) for match in matches if match is not None}
