"""What a commit may disturb, kept in the controller's memory so that hooks cannot reach it; `commit_restore` undoes.

Kept, before any hook runs:

- git's own state: everything in `.git` but the object store, so HEAD, index, configuration, refs, logs, a merge or
  rebase in progress, and (by not being there) locks;
- the tree of everything that git does not ignore, the content of the files in it that differ from HEAD, and the modes
  of all its files and folders;
- the objects that no branch or tag of the remote holds: local commits and what is staged.

Left out on purpose: what git ignores, empty folders, and the remote's own objects. Like all that happens inside it is
a guard rail; no process of the run lives meanwhile.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.controller.guest_git import GuestGit, hex_name
from runner.engine.contract import SpawnResult

__all__ = [
    "EACH",
    "STAT",
    "STORES",
    "Everything",
    "Saved",
    "TreeFailed",
    "add_everything",
    "archive_files",
    "archive_git_state",
    "everything",
    "list_objects",
    "others_in",
    "save",
    "scratch_index",
]

STORES = ("objects", "lfs")
"""Folders of content in `.git` that are not kept: large, and only ever added to by honest programs."""

_TAR = (
    "/usr/bin/tar", "--create", "--file=-", "--format=pax", "--numeric-owner", "--anchored", "--sort=name",
    "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
)  # fmt: skip

EACH = ("/usr/bin/xargs", "-0", "--no-run-if-empty")
STAT = (*EACH, "/usr/bin/stat", "--printf=%f %n\\0", "--")


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

    `reachable` are listings of the objects that must be there: arguments and names. A listing that failed is left out.
    """

    tree: str
    others: frozenset[bytes]
    git_state: bytes
    paths: bytes
    modes: bytes
    changed: bytes
    files: bytes | None
    reachable: tuple[tuple[tuple[str, ...], bytes], ...]
    objects: bytes | None


def save(git: GuestGit, now: Everything, changed: tuple[str, ...], tips: tuple[str, ...]) -> Saved | None:
    """All that is needed to be as now, None when git's state cannot be kept; nothing is changed.

    Args:
        git: of the workspace.
        now: the working tree as it stands.
        changed: its paths that differ from HEAD's commit and are there.
        tips: commits that must stay, beside those of the branches: HEAD's first, where it has one.
    """
    state = archive_git_state(git)
    if state is None:
        return None
    paths = _with_folders(now.paths)
    listed = b"".join(b"./" + path.encode("utf-8", "surrogateescape") + b"\0" for path in sorted(changed))
    listings = ((arguments, list_objects(git, arguments)) for arguments in _reachable(now.tree, tips))
    reachable = tuple((arguments, names) for arguments, names in listings if names is not None)
    return Saved(
        tree=now.tree,
        others=now.others,
        git_state=state,
        paths=paths,
        modes=git.program(*STAT, stdin=[paths]).stdout,
        changed=listed,
        files=archive_files(git, listed),
        reachable=reachable,
        objects=_pack(git, [names for _, names in reachable]),
    )


@contextmanager
def scratch_index(git: GuestGit) -> Iterator[str]:
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
    with scratch_index(git) as scratch:
        tree = add_everything(git, scratch)
        listed = git.run("ls-files", "-z", index=scratch)
        if listed.exit != 0 or listed.truncated:
            raise TreeFailed(listed)
        return Everything(tree, listed.stdout, others_in(git, scratch))


def others_in(git: GuestGit, scratch: str) -> frozenset[bytes]:
    """What is there and not in the scratch index, whatever is ignored: a hook may have said that everything is.

    Raises:
        TreeFailed: with git's own words.
    """
    listed = git.run("ls-files", "--others", "--directory", "-z", index=scratch)
    if listed.exit != 0 or listed.truncated:
        raise TreeFailed(listed)
    return frozenset(filter(None, listed.stdout.split(b"\0")))


def add_everything(git: GuestGit, scratch: str) -> str:
    """The tree of everything, which the scratch index now holds. Raises TreeFailed."""
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


def archive_git_state(git: GuestGit) -> bytes | None:
    """A tar archive of `.git` without the stores, the same bytes for the same state; None if over 64 MiB or closed."""
    left_out = (f"--exclude=./{name}" for name in STORES)
    return _whole(git.program(*_TAR, "--directory=.git", *left_out, ".", whole=True))


def archive_files(git: GuestGit, listed: bytes) -> bytes | None:
    """A tar archive of the listed paths, the same bytes for the same files; None if over 64 MiB or one is missing."""
    options = ("--no-recursion", "--null", "--verbatim-files-from", "--files-from=-")
    return _whole(git.program(*_TAR, *options, stdin=[listed], whole=True))


def _whole(result: SpawnResult) -> bytes | None:
    return None if result.exit != 0 or result.truncated else result.stdout


def list_objects(git: GuestGit, arguments: tuple[str, ...]) -> bytes | None:
    """The names of the objects that `rev-list ARGUMENTS` finds, a line each; None if one that it meets is missing."""
    return _whole(git.run("rev-list", "--objects", "--no-object-names", *arguments, whole=True))


def _pack(git: GuestGit, names: list[bytes]) -> bytes | None:
    return _whole(git.run("pack-objects", "--stdout", "-q", "--window=0", stdin=names, whole=True))
