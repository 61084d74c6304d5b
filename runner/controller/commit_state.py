"""What a commit may disturb, kept in the controller's memory so that hooks cannot reach it, and putting it back.

Kept, before any hook runs:

- git's own state: everything in `.git` but the object store, so HEAD, index, configuration, refs, logs, a merge or
  rebase in progress, and (by not being there) locks;
- the tree of everything that git does not ignore, the content of the files in it that differ from HEAD, and the modes
  of all its files and folders;
- the objects that no branch or tag of the remote holds: local commits and what is staged.

What is put back is read again and compared. `restore` names what is not as it was, so that nobody is told otherwise.
Left out on purpose: what git ignores, empty folders, and the remote's own objects. Like all that happens inside it is
a guard rail; no process of the run lives meanwhile.
"""

from __future__ import annotations

import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from runner.controller.guest_git import GuestGit, hex_name
from runner.engine.contract import SpawnResult

__all__ = ["GIT_STATE", "Everything", "Saved", "TreeFailed", "everything", "restore", "save"]

GIT_STATE = "git's state (HEAD, index, refs, configuration)"
"""How `restore` names it; the other names are below."""

_RESTORE_SECONDS = 20.0  # for all of it together, whatever the run has left: 10,000 files take less than two
_ROUNDS_MAX = 3  # the first mends, the second sees what a changed .gitignore hid, the last proves that all is well
_MODE = re.compile(rb"([0-9a-f]{1,8}) (.+)", re.DOTALL)
_KEEP = ("objects", "lfs")  # stores of content, in .git: large, and only ever added to by honest programs
_TAR = (
    "/usr/bin/tar", "--create", "--file=-", "--format=pax", "--numeric-owner", "--anchored", "--sort=name",
    "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
)  # fmt: skip
_UNTAR = (
    "/usr/bin/tar", "--extract", "--file=-", "--preserve-permissions", "--no-same-owner", "--delay-directory-restore",
)  # fmt: skip
_OPEN = (
    "/usr/bin/find", ".", "(", "-type", "d", "!", "-perm", "-700", "-exec", "/usr/bin/chmod", "u+rwx", "{}", ";", ")",
    "-o", "(", "-type", "f", "!", "-perm", "-400", "-exec", "/usr/bin/chmod", "u+r", "{}", "+", ")",
)  # fmt: skip
_EACH = ("/usr/bin/xargs", "-0", "--no-run-if-empty")
_STAT = (*_EACH, "/usr/bin/stat", "--printf=%f %n\\0", "--")


class TreeFailed(Exception):
    """git could not make a tree of the working tree; `result` is what it said."""

    def __init__(self, result: SpawnResult) -> None:
        super().__init__("no tree")
        self.result = result


@dataclass(frozen=True, slots=True)
class Everything:
    """The working tree: the tree that git would make of it, the paths in it, each ended by NUL, and all other names.

    `others` are what git ignores and empty folders; a folder that holds nothing else is one name.
    """

    tree: str
    paths: bytes
    others: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Saved:
    """What is kept. `objects` and `files` are None where they were too large, or could not be had.

    `reachable` are listings of the objects that must be there, by their arguments; empty when one failed at the start.
    """

    tree: str
    others: frozenset[bytes]
    git_state: bytes
    paths: bytes
    modes: bytes
    changed: bytes
    files: bytes | None
    reachable: tuple[tuple[str, ...], ...]
    objects: bytes | None


def save(git: GuestGit, now: Everything, changed: tuple[str, ...], tips: tuple[str, ...]) -> Saved | None:
    """All that is needed to be as now, None when git's state cannot be kept; nothing is changed.

    Args:
        git: of the workspace.
        now: the working tree as it stands.
        changed: its paths that differ from HEAD's commit and are there.
        tips: commits that must stay, beside those of the branches: HEAD's first, where it has one.
    """
    state = _archive_git_state(git)
    if state is None:
        return None
    paths = _with_folders(now.paths)
    listed = b"".join(b"./" + path.encode("utf-8", "surrogateescape") + b"\0" for path in sorted(changed))
    reachable = _reachable(now.tree, tips)
    listings = [git.run("rev-list", "--objects", "--no-object-names", *arguments) for arguments in reachable]
    if any(names.exit != 0 for names in listings):
        reachable = ()
    return Saved(
        tree=now.tree,
        others=now.others,
        git_state=state,
        paths=paths,
        modes=git.program(*_STAT, stdin=[paths]).stdout,
        changed=listed,
        files=_archive_files(git, listed),
        reachable=reachable,
        objects=_pack(git, listings) if reachable else None,
    )


def restore(git: GuestGit, saved: Saved, clock: Callable[[], float] = time.monotonic) -> tuple[str, ...]:
    """HEAD, index, refs, configuration and files are as they were; returned is what is not. Takes 20 s at most."""
    give_up = clock() + _RESTORE_SECONDS
    git = replace(git, deadline_seconds=_RESTORE_SECONDS, remaining=lambda: max(0.1, give_up - clock()))
    git.program(*_OPEN)
    left = []
    if _archive_git_state(git) != saved.git_state and not _put_back_git_state(git, saved.git_state):
        left.append(GIT_STATE)
    if not _put_back_objects(git, saved):
        left.append("git's objects")
    if not _put_back_tree(git, saved) or not _put_back_files(git, saved):
        left.append("the working tree")
    if not _put_back_modes(git, saved):
        left.append("modes of files")
    return tuple(left)


@contextmanager
def _scratch_index(git: GuestGit) -> Iterator[str]:
    """The name of a copy of the index, whose stamp stays so that git still sees which entries are too fresh to trust.

    Raises:
        TreeFailed: the index is there and cannot be copied.
    """
    name = f"/tmp/runner-scratch-{secrets.token_hex(8)}"  # noqa: S108 - inside the container
    index = ".git/index"
    try:
        copied = git.program("/usr/bin/cp", "--preserve=timestamps", "--", index, name)
        if copied.exit != 0 and git.program("/usr/bin/test", "-e", index).exit == 0:
            raise TreeFailed(copied)
        yield name
    finally:
        git.program("/usr/bin/rm", "-f", "--", name, f"{name}.lock")


def everything(git: GuestGit) -> Everything:
    """What `git add -A` on top of the present index would make; the present index stays.

    Raises:
        TreeFailed: with git's own words.
    """
    with _scratch_index(git) as scratch:
        tree = _add_everything(git, scratch)
        listed = git.run("ls-files", "-z", index=scratch)
        if listed.exit != 0 or listed.truncated:
            raise TreeFailed(listed)
        return Everything(tree, listed.stdout, _others(git, scratch))


def _others(git: GuestGit, scratch: str) -> frozenset[bytes]:
    """What is there and not in the scratch index, whatever is ignored: a hook may have said that everything is."""
    listed = git.run("ls-files", "--others", "--directory", "-z", index=scratch)
    if listed.exit != 0 or listed.truncated:
        raise TreeFailed(listed)
    return frozenset(filter(None, listed.stdout.split(b"\0")))


def _add_everything(git: GuestGit, scratch: str) -> str:
    added = git.run("add", "-A", index=scratch)
    if added.exit != 0:
        raise TreeFailed(added)
    written = git.run("write-tree", index=scratch)
    tree = hex_name(written.stdout.decode("ascii", "replace"))
    if written.exit != 0 or tree is None:
        raise TreeFailed(written)
    return tree


def _with_folders(tracked: bytes) -> bytes:
    """The paths and every folder above them, each once and ended by NUL, folders before what is in them."""
    found: set[str] = set()
    for path in tracked.decode("utf-8", "surrogateescape").split("\0"):
        if path:
            found.add(path)
            found.update(str(above) for above in PurePosixPath(path).parents)
    return b"".join(b"./" + path.encode("utf-8", "surrogateescape") + b"\0" for path in sorted(found))


def _reachable(tree: str, tips: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Commits that the remote lacks, with what is in them; then what index and files have beyond HEAD."""
    beyond = [f"^{tips[0]}^{{tree}}"] if tips else []
    return (
        (*tips, "--branches", "--not", "--remotes", "--tags"),
        ("--indexed-objects", tree, *beyond),
    )


def _archive_git_state(git: GuestGit) -> bytes | None:
    left_out = (f"--exclude=./{name}" for name in _KEEP)
    return _whole(git.program(*_TAR, "--directory=.git", *left_out, "."))


def _archive_files(git: GuestGit, listed: bytes) -> bytes | None:
    options = ("--no-recursion", "--null", "--verbatim-files-from", "--files-from=-")
    return _whole(git.program(*_TAR, *options, stdin=[listed]))


def _whole(result: SpawnResult) -> bytes | None:
    return None if result.exit != 0 or result.truncated else result.stdout


def _pack(git: GuestGit, listings: list[SpawnResult]) -> bytes | None:
    if any(names.truncated for names in listings):
        return None
    return _whole(git.run("pack-objects", "--stdout", "-q", "--window=0", stdin=[names.stdout for names in listings]))


def _put_back_git_state(git: GuestGit, state: bytes) -> bool:
    git.program("/usr/bin/find", ".git", "-maxdepth", "0", "!", "-type", "d", "-delete")  # a file or link in its place
    git.program("/usr/bin/mkdir", "-p", ".git/objects")
    spared = [word for name in _KEEP for word in ("!", "-name", name)]
    remove = ("-exec", "/usr/bin/rm", "-rf", "--", "{}", "+")
    git.program("/usr/bin/find", ".git", "-mindepth", "1", "-maxdepth", "1", *spared, *remove)
    git.program(*_UNTAR, "--directory=.git", stdin=[state])
    return _archive_git_state(git) == state


def _put_back_objects(git: GuestGit, saved: Saved) -> bool:
    if _has_objects(git, saved):
        return True
    if saved.objects is None:
        return False
    git.run("unpack-objects", "-q", stdin=[saved.objects])
    return _has_objects(git, saved)


def _has_objects(git: GuestGit, saved: Saved) -> bool:
    """Whether every object of the present files, and every one that the remote lacks, is there."""
    listing = ("rev-list", "--objects", "--quiet")
    return all(git.run(*listing, *arguments).exit == 0 for arguments in (*saved.reachable, (saved.tree,)))


def _put_back_tree(git: GuestGit, saved: Saved) -> bool:
    try:
        for _ in range(_ROUNDS_MAX):
            with _scratch_index(git) as scratch:
                strangers = _remove_strangers(git, scratch, saved)
            with _scratch_index(git) as scratch:
                if _add_everything(git, scratch) == saved.tree and not strangers:
                    return True
                git.run("read-tree", "--reset", "-u", saved.tree, index=scratch)
    except TreeFailed:
        pass
    return False


def _remove_strangers(git: GuestGit, scratch: str, saved: Saved) -> bool:
    """Whether there was anything new; it is gone, before git would store it: it may fill the disk."""
    git.run("read-tree", "--reset", saved.tree, index=scratch)
    strangers = _others(git, scratch) - saved.others
    git.program(*_EACH, "/usr/bin/rm", "-rf", "--", stdin=[b"".join(b"./" + name + b"\0" for name in strangers)])
    return bool(strangers)


def _put_back_files(git: GuestGit, saved: Saved) -> bool:
    """The changed files are the same to the byte, which a tree does not tell where git converts what it stores."""
    if saved.files is None:
        return True
    if _archive_files(git, saved.changed) == saved.files:
        return True
    git.program(*_UNTAR, stdin=[saved.files])
    return _archive_files(git, saved.changed) == saved.files


def _put_back_modes(git: GuestGit, saved: Saved) -> bool:
    wanted, now = _parsed(saved.modes), _parsed(git.program(*_STAT, stdin=[saved.paths]).stdout)
    groups: dict[tuple[bool, int], list[bytes]] = {}
    for path, mode in sorted(wanted.items(), reverse=True):  # what is in a folder before the folder
        if mode != now.get(path) and not stat.S_ISLNK(mode):
            groups.setdefault((stat.S_ISDIR(mode), stat.S_IMODE(mode)), []).append(path)
    for (_, bits), paths in sorted(groups.items()):
        chmod = ("/usr/bin/chmod", f"{bits:o}", "--")
        git.program(*_EACH, *chmod, stdin=[b"".join(path + b"\0" for path in paths)])
    return not groups or git.program(*_STAT, stdin=[saved.paths]).stdout == saved.modes


def _parsed(listing: bytes) -> Mapping[bytes, int]:
    matches = (_MODE.fullmatch(record) for record in listing.split(b"\0"))
    return {match[2]: int(match[1], 16) for match in matches if match is not None}
