"""One bare mirror per repository, kept between runs: objects and refs of the remote, and nothing of anybody else's.

A mirror is made beside its place and renamed when complete, so a half-made one is never found. Every writer holds the
mirror's lock. Objects are never pruned: a run that borrows from the mirror needs no lock for that.

What stands in the folder was written by git in the gate's container, from the remote's bytes. On this side its files
are moved and removed by name and never followed: a link there leads nowhere.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.gate.address import Address
from runner.gate.credentials import Secret
from runner.gate.failures import unavailable
from runner.gate.folders import make_plain, remove_tree
from runner.gate.git import Git
from runner.gate.own_folders import folders_of
from runner.gate.refs import HEADS, OBJECT_NAME, TAGS, list_refs
from runner.gate.special_files import require_ordinary_files
from runner.model.errors import RepositoryUnavailable

__all__ = ["FetchLimits", "Progress", "RemoteListing", "list_remote", "locked", "mirror_folder", "refresh"]

Progress = Callable[[str], None]

_SHALLOW = "shallow roots are not allowed to be updated"  # git leaves such refs out and reports success
_LOCK_LEFT = ".lock': File exists"
_WHOLE_HISTORY = 0x7FFFFFFF  # git's own number for "no limit", the one behind --unshallow
_POLL_SECONDS = 0.1  # how often a waiting run looks whether the lock is free


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Bounds of one fetch: seconds for each of waiting, listing and transfer, and the size of one pack in MiB."""

    seconds: float = 600.0
    pack_mib: int = 4096


@dataclass(frozen=True, slots=True)
class RemoteListing:
    """What the remote says it has: branches and tags by full name, its default branch, and what HEAD is."""

    refs: Mapping[str, str]
    default_branch: str | None
    head: str | None


def mirror_folder(mirrors: Path, address: Address) -> Path:
    """The folder of one repository's mirror and of what is made of it; it exists. The gate sees no other."""
    folder = mirrors / address.digest
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def list_remote(git: Git, address: Address, credential: Secret | None, limits: FetchLimits) -> RemoteListing:
    """The remote's own listing.

    Raises:
        RepositoryUnavailable: it could not be asked, or is a local one with a pipe or device among its files.
    """
    if address.path is not None:
        require_ordinary_files(Path(address.path))
        folders_of(Path(address.path))
    result = git.run(
        ["ls-remote", "--symref", *_serving(git, address), "--", address.url],
        address=address,
        credential=credential,
        deadline_seconds=limits.seconds,
    )
    if not result.ok:
        raise unavailable(address, result, "reading")
    return _parse_listing(result.stdout)


def refresh(
    git: Git,
    mirror: Path,
    address: Address,
    credential: Secret | None,
    listing: RemoteListing,
    limits: FetchLimits,
) -> dict[str, str]:
    """The mirror has the remote's branches and tags, and no others; they are returned. The caller holds the lock.

    Raises:
        RepositoryUnavailable: the transfer failed. An older mirror is usable as it was, a new one is not there.
    """
    if _is_usable(mirror):
        if list_refs(git, mirror) == listing.refs:
            return dict(listing.refs)
        with suppress(_Locked):
            _transfer(git, mirror, address, credential, limits)
            return list_refs(git, mirror)
        remove_tree(mirror)
    fresh = mirror.with_suffix(".new")
    remove_tree(fresh)  # a run that was killed may have left it
    try:
        git.output(["init", "--quiet", "--bare", "--template=", "--", str(fresh)])
        _transfer(git, fresh, address, credential, limits)
        refs = list_refs(git, fresh)
        fresh.rename(mirror)
    finally:
        remove_tree(fresh)
    return refs


class _Locked(Exception):
    """A killed git left the lock of a ref, which every later fetch would meet. The mirror is made anew then."""


def _is_usable(mirror: Path) -> bool:
    """Whether a mirror is there, in plain form. One that cannot be brought into it is removed."""
    try:
        make_plain(mirror)
    except OSError:
        remove_tree(mirror)
        return False
    return True


@contextmanager
def locked(mirror: Path, limits: FetchLimits, progress: Progress) -> Iterator[None]:
    """Nobody else writes to the mirror meanwhile.

    Raises:
        RepositoryUnavailable: code `mirror_busy`, when another run held it all the time.
    """
    # Beside the folder that the gate's container may write to.
    descriptor = os.open(mirror.parent.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + limits.seconds
        waiting = False
        while not _try_lock(descriptor):
            if not waiting:
                progress("waiting for another run that fetches the same repository")
                waiting = True
            if time.monotonic() > deadline:
                raise RepositoryUnavailable(
                    "another run keeps this repository's mirror busy", hint="Try again later.", code="mirror_busy"
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)  # which also unlocks


def _transfer(git: Git, mirror: Path, address: Address, credential: Secret | None, limits: FetchLimits) -> None:
    result = git.run(
        [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            *_serving(git, address),
            *_no_single_files(address),
            "--",
            address.url,
            f"+{HEADS}*:{HEADS}*",
            f"+{TAGS}*:{TAGS}*",
        ],
        repository=mirror,
        address=address,
        credential=credential,
        deadline_seconds=limits.seconds,
        max_file_bytes=limits.pack_mib << 20,
    )
    if not result.ok and _reached_bound(mirror, limits):
        raise RepositoryUnavailable(
            f"{address.url} needs a pack of more than {limits.pack_mib} MiB",
            hint="Raise the limit, or use a smaller repository.",
            code="repository_too_large",
        )
    if not result.ok and _LOCK_LEFT in result.stderr:
        raise _Locked
    if not result.ok:
        raise unavailable(address, result, "fetching")
    if (mirror / "shallow").exists():
        remove_tree(mirror)  # its history has a hole now; the next run makes it anew
    if _SHALLOW in result.stderr or not mirror.exists():
        raise RepositoryUnavailable(
            f"{address.url} is a shallow clone: a part of its history is missing",
            hint="Complete it with `git fetch --unshallow`, or name the repository that it was cloned from.",
            code="repository_shallow",
        )


def _no_single_files(address: Address) -> list[str]:
    """Makes git refuse a server that hands out files one by one, whose objects it would take unchecked.

    git has no switch for that, but it cannot ask such a server for a depth. This one stands for the whole history.
    """
    return [] if address.scheme == "file" else [f"--depth={_WHOLE_HISTORY}"]


def _reached_bound(mirror: Path, limits: FetchLimits) -> bool:
    """Whether the pack being written was cut off at its bound; git itself only says that no pack came out."""
    bound = limits.pack_mib << 20
    return any(path.lstat().st_size >= bound for path in (mirror / "objects" / "pack").glob("tmp_pack_*"))


def _serving(git: Git, address: Address) -> list[str]:
    return [f"--upload-pack={git.serving_command('upload-pack')}"] if address.scheme == "file" else []


def _parse_listing(stdout: bytes) -> RemoteListing:
    refs: dict[str, str] = {}
    head: str | None = None
    default: str | None = None
    for line in stdout.decode("utf-8", "surrogateescape").split("\n"):
        value, _, name = line.partition("\t")
        if value.startswith("ref: ") and name == "HEAD":
            target = value.removeprefix("ref: ")
            default = target.removeprefix(HEADS) if target.startswith(HEADS) else None
        elif not OBJECT_NAME.fullmatch(value):
            continue
        elif name == "HEAD":
            head = value
        elif name.startswith((HEADS, TAGS)) and not name.endswith("^{}"):
            refs[name] = value
    return RemoteListing(refs, default, head)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
