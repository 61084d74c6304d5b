"""Fetching: the remote's branches and tags are in a mirror on the host, and the run's own record of them is made.

The record (`Fetched`) holds what later decisions are made on: the address, the default branch, the base commit and the
refs, all as the remote had them when the run started. Nothing in the workspace can change it.

Left out on purpose: submodules, a checkout on the host, and refs that are neither branches nor tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from runner.gate.address import Address
from runner.gate.credentials import CredentialSource
from runner.gate.git import Git, GitFailed
from runner.gate.local import head_branch
from runner.gate.mirror import FetchLimits, Progress, RemoteListing, list_remote, locked, mirror_folder, refresh
from runner.gate.refs import HEADS, FoundRef, find_ref
from runner.model.errors import RepositoryUnavailable

__all__ = ["FetchLimits", "Fetched", "fetch", "mirror_broken", "require_local_folder"]

_DEFAULT_LIMITS = FetchLimits()


@dataclass(frozen=True, slots=True)
class Fetched:
    """The host's record of a repository as it was when the run started.

    `base` is the commit that the workspace starts from. `branch` is None when a tag or a commit was asked for.
    `default_branch` is what the remote's HEAD names, also where that branch has no commit yet; None when HEAD names no
    branch, and for a branch without a commit over http, where git does not tell its name. `refs` maps full names of
    branches and tags to objects; a name that is not UTF-8 holds surrogate escapes.
    """

    address: Address
    mirror: Path
    base: str
    branch: str | None
    default_branch: str | None
    refs: Mapping[str, str]


def fetch(
    git: Git,
    address: Address,
    ref: str | None,
    mirrors: Path,
    *,
    credential: CredentialSource | None = None,
    progress: Progress = lambda _: None,
    limits: FetchLimits = _DEFAULT_LIMITS,
) -> Fetched:
    """The mirror is fresh and `ref` is found in it; None is the remote's default branch.

    Args:
        git: the gate's git.
        address: where the repository is. A local one is only read.
        ref: a branch, a tag, or a commit that one of them holds, whole or abbreviated.
        mirrors: the folder of mirrors, ours alone.
        credential: read once, now, and only for an address that is not local.
        progress: told what is waited for.
        limits: bounds of the transfer.

    Raises:
        RepositoryUnavailable: with one line, a mend and a code of its own for each cause. Nothing half-made is left.
    """
    require_local_folder(address)
    secret = credential.read_for(address) if credential is not None and address.path is None else None
    mirror = mirror_folder(mirrors, address) / "repo.git"
    try:
        with locked(mirror, limits, progress):
            progress(f"reading {address.url}")
            listing = list_remote(git, address, secret, limits)
            if not listing.refs:
                raise RepositoryUnavailable(
                    f"{address.url} has no commits yet", hint="Push a first commit to it.", code="repository_empty"
                )
            refs = refresh(git, mirror, address, secret, listing, limits)
        found = _starting_point(git, mirror, refs, listing, ref)
    except GitFailed as failure:
        raise mirror_broken(mirror, failure) from failure
    default = listing.default_branch
    if default is None and listing.head is None and address.path is not None:
        default = head_branch(Path(address.path))  # a remote that serves no HEAD may still name a branch to be made
    return Fetched(address, mirror, found.commit, found.branch, default, MappingProxyType(refs))


def mirror_broken(mirror: Path, failure: GitFailed) -> RepositoryUnavailable:
    """The error for a mirror on this host that git cannot work with."""
    return RepositoryUnavailable(
        f"the mirror on this host does not work: {failure}",
        hint=f"Remove {mirror.parent}; the next run makes it again.",
        code="mirror_broken",
    )


def _starting_point(
    git: Git, mirror: Path, refs: Mapping[str, str], listing: RemoteListing, ref: str | None
) -> FoundRef:
    if ref is not None:
        return find_ref(git, mirror, refs, ref)
    if listing.default_branch is not None and HEADS + listing.default_branch in refs:
        return find_ref(git, mirror, refs, HEADS + listing.default_branch)
    if listing.head is not None:
        return find_ref(git, mirror, refs, listing.head)
    raise RepositoryUnavailable(
        "the remote's HEAD names no branch that it has", hint="Name a branch with --ref.", code="ref_not_found"
    )


def require_local_folder(address: Address) -> None:
    """A missing folder is said in our words; git would also try the name with `.git` added, which nobody asked for.

    Raises:
        RepositoryUnavailable: the address is local, and there is no folder that may be read.
    """
    if address.path is None:
        return
    try:
        found = Path(address.path).stat()
    except PermissionError:
        raise RepositoryUnavailable(
            f"{address.path} may not be read",
            hint="Let the user that the runner runs as read it.",
            code="repository_permission_denied",
        ) from None
    except (OSError, ValueError):
        raise _no_folder(address.path) from None
    if (found.st_mode & 0o170000) != 0o040000:
        raise _no_folder(address.path)


def _no_folder(path: str) -> RepositoryUnavailable:
    return RepositoryUnavailable(
        f"{path} is not a folder", hint="Give the path of a git repository.", code="repository_not_found"
    )
