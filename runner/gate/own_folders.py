"""A local repository is read where it lies, and only there: pointers out of its folder need the other side's consent.

A folder that somebody else made may hold pointers to any repository of this host: a `.git` file, `commondir`, borrowed
objects, links. git follows them, and the content of a private repository would come into the run of an untrusted one.
What a person makes has the pointer in both directions: a linked work tree is known to its main repository, and a
submodule's git folder names its work tree. Borrowed objects have no way to be consented to.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from runner.gate.local import common_folder, git_folder, lenders_of, small_text
from runner.model.errors import RepositoryUnavailable
from runner.policy.paths import shown

__all__ = ["folders_of"]

_INNER = ("HEAD", "config", "config.worktree", "info", "objects", "packed-refs", "refs")
_WORK_TREE = re.compile(r"(?m)^\s*worktree\s*=\s*(.+?)\s*$")
_MAX_CONFIG_BYTES = 1 << 20


def folders_of(path: Path) -> list[Path]:
    """The folders that reading the repository at `path` takes, without those beneath another one.

    Raises:
        RepositoryUnavailable: code `repository_outside_folder`: it leads to a place that does not lead back.
    """
    own, common = _real(git_folder(path)), _real(common_folder(path))
    allowed = [_real(path)]
    if not _within(own, allowed):
        if not _leads_back(path, own):
            raise _outside(path, own, f"Give {shown(str(own))} itself, or run `git worktree repair` in its repository.")
        allowed.append(own)
    if not _within(common, allowed):
        # Where the git folder lies shows that the main repository made it; what it says, it says itself.
        if own.parent != common / "worktrees" or not _leads_back(path, own):
            raise _outside(path, common, f"Give {shown(str(common))} itself, if that is the repository that is meant.")
        allowed.append(common)
    for folder in (own, common):
        for name in _INNER:
            if not _within(_real(folder / name), allowed):
                raise _outside(path, folder / name, "Replace the link by what it leads to.")
    for objects in lenders_of(path):
        if objects.exists() and not _within(_real(objects), allowed):
            hint = "Make it whole: `git repack -a -d`, then remove objects/info/alternates."
            raise _outside(path, objects, hint)
    return _outermost([Path(os.path.normpath(folder)) for folder in (path, *allowed[1:])])


def _leads_back(path: Path, own: Path) -> bool:
    """Whether the git folder says that its work tree is at `path`, as a linked one's and a submodule's does."""
    linked = small_text(own / "gitdir")
    if linked is not None and _real(own / linked.strip()) == _real(path / ".git"):
        return True
    named = _WORK_TREE.search(small_text(own / "config", _MAX_CONFIG_BYTES) or "")
    return named is not None and _real(own / named[1].strip('"')) == _real(path)


def _outermost(folders: list[Path]) -> list[Path]:
    kept: list[Path] = []
    for folder in sorted(set(folders), key=lambda folder: (len(folder.parts), folder)):
        if folder.is_dir() and not _within(folder, kept):
            kept.append(folder)
    return kept


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _within(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _outside(path: Path, leads_to: Path, hint: str) -> RepositoryUnavailable:
    return RepositoryUnavailable(
        f"the repository at {shown(str(path))} leads to {shown(str(leads_to))}, outside its folder",
        hint=hint,
        code="repository_outside_folder",
    )
