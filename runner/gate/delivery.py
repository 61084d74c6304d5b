"""How the clone is made inside an empty workspace: a plan of commands for the sandbox. Pure.

The steps run as the workspace's user, in the workspace's root, in order; each must exit 0. Nothing that the
repository brings is executed by them: no hook, no filter, no submodule. Links are made as they are, wherever they lead.

`origin` is the address without a credential. Pushes to `origin` go to the outbox, a bare repository inside, from which
the gate takes what it then judges and pushes itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from runner.gate.clone_files import Entry, archive, bare_repository, core, repository
from runner.gate.fetch import Fetched
from runner.gate.refs import HEADS, TAGS, rev_list_input
from runner.gate.shipment import Part, Shipment

__all__ = ["GIT", "Delivered", "DeliveryStep", "branches_of", "collect_step", "delivery_steps", "outbox_steps"]

GIT = "/usr/bin/git"
# One read for a frame's worth. Names are taken as they are: the outbox lies outside the workspace.
_UNPACK = (
    "/usr/bin/tar", "--extract", "--absolute-names", "--no-same-owner", "--blocking-factor=2048", "--file=-",
)  # fmt: skip
_WORKSPACE_OBJECTS = "/workspace/.git/objects"
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")


@dataclass(frozen=True, slots=True)
class DeliveryStep:
    """One program to run. Standard input is an archive of `entries` where there are any, else `stdin`."""

    argv: tuple[str, ...]
    why: str
    stdin: bytes = b""
    entries: tuple[Entry, ...] = ()

    def input(self, shipped: Shipment | None = None) -> Iterable[bytes]:
        """What the program reads, in pieces. `shipped` is what entries take their parts from."""
        return archive(self.entries, shipped) if self.entries else [self.stdin]


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a workspace was given: `fetched` with the refs that it has, and the commits at which its history ends."""

    fetched: Fetched
    shallow: tuple[str, ...] = ()


def branches_of(fetched: Fetched) -> Fetched:
    """The record with its branches alone: a shallow workspace has no tags, each of which would bring a tree along."""
    heads = {full: oid for full, oid in fetched.refs.items() if full.startswith(HEADS)}
    return replace(fetched, refs=MappingProxyType(heads))


def delivery_steps(
    fetched: Fetched,
    pack_name: str,
    *,
    outbox: str,
    name: str,
    email: str,
    workspace_objects: str = _WORKSPACE_OBJECTS,
    shallow: Sequence[str] = (),
) -> tuple[DeliveryStep, ...]:
    """The clone, in steps.

    Args:
        fetched: the run's record of the remote.
        pack_name: the shipment's name.
        outbox: an absolute path inside where nothing is yet.
        name: who commits.
        email: the address that goes with the name.
        workspace_objects: the absolute path inside of the clone's object folder.
        shallow: the commits at which its history ends.
    """
    entries = (
        *_repository(fetched, outbox, name, email, shallow),
        # The index comes last: with it, git finds the pack.
        *(Entry(f".git/objects/pack/pack-{pack_name}.{part}", part) for part in (Part.PACK, Part.INDEX)),
        *bare_repository(outbox, workspace_objects, _as_remote(fetched.refs), shallow),
    )
    return (
        DeliveryStep(_UNPACK, "the repository", entries=entries),
        # HEAD is in its place already, so no branch's name has to be read as an argument.
        DeliveryStep((GIT, *_QUIET, "reset", "--quiet", "--hard"), "the files of the commit"),
    )


def collect_step(fetched: Fetched, commit: str, *, outbox: str) -> DeliveryStep:
    """What writes, on its standard output, the pack of all that `commit` holds and the remote did not have.

    Large files are sent whole: looking for what ten of 10 MB have in common took longer than any limit.
    """
    pack = ("pack-objects", "--revs", "--thin", "--stdout", "--quiet", "--delta-base-offset")
    return DeliveryStep(
        (GIT, f"--git-dir={outbox}", "-c", "core.bigFileThreshold=2m", *pack),
        "the objects that would leave",
        stdin=rev_list_input(commit, fetched.refs),
    )


def _workspace_refs(fetched: Fetched) -> dict[str, str]:
    refs: dict[str, str] = {}
    for full, oid in fetched.refs.items():
        if full.startswith(TAGS):
            refs[full] = oid
        elif full != HEADS + "HEAD":  # its place is taken by the symbolic origin/HEAD
            refs["refs/remotes/origin/" + full.removeprefix(HEADS)] = oid
    if fetched.branch is not None:
        refs[HEADS + fetched.branch] = fetched.base
    return refs


def _repository(fetched: Fetched, outbox: str, name: str, email: str, shallow: Sequence[str]) -> list[Entry]:
    head = fetched.base if fetched.branch is None else f"ref: {HEADS}{fetched.branch}"
    config = core(bare=False) + _config(fetched, outbox, name, email)
    made = repository(".git", head=head, config=config, refs=_workspace_refs(fetched), shallow=shallow)
    if fetched.default_branch is None or HEADS + fetched.default_branch not in fetched.refs:
        return made
    target = f"ref: refs/remotes/origin/{fetched.default_branch}\n".encode("utf-8", "surrogateescape")
    folders = [Entry(".git/refs/remotes"), Entry(".git/refs/remotes/origin")]
    return [*made, *folders, Entry(".git/refs/remotes/origin/HEAD", target)]


def _config(fetched: Fetched, outbox: str, name: str, email: str) -> str:
    sections: list[tuple[str, Mapping[str, str]]] = [
        ("user", {"name": name, "email": email}),
        (
            'remote "origin"',
            {"url": fetched.address.url, "pushurl": outbox, "fetch": "+refs/heads/*:refs/remotes/origin/*"},
        ),
    ]
    if fetched.branch is not None:
        tracked = {"remote": "origin", "merge": HEADS + fetched.branch}
        sections.append((f"branch {_quoted(fetched.branch)}", tracked))
    lines: list[str] = []
    for header, values in sections:
        lines += [f"[{header}]", *(f"\t{key} = {_quoted(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    """A value, or the name of a subsection, as a git config file writes it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def outbox_steps(
    refs: Mapping[str, str],
    *,
    outbox: str,
    workspace_objects: str = _WORKSPACE_OBJECTS,
    shallow: Sequence[str] = (),
) -> list[DeliveryStep]:
    """A fresh bare repository that borrows the workspace's objects and has these branches and tags of the remote.

    What was at its place is gone: a push that was refused after it, a lock, a graft, a setting.
    """
    entries = bare_repository(outbox, workspace_objects, _as_remote(refs), shallow)
    return [
        DeliveryStep(("/bin/rm", "-rf", "--", outbox), "no outbox of before"),
        DeliveryStep(_UNPACK, "the outbox for pushes", entries=tuple(entries)),
    ]


def _as_remote(refs: Mapping[str, str]) -> dict[str, str]:
    return {full: oid for full, oid in refs.items() if full.startswith((HEADS, TAGS))}
