"""How the clone is made inside an empty workspace: a plan of commands for the sandbox. Pure.

The steps run as the workspace's user, in the workspace's root, in order; each must exit 0. Nothing that the
repository brings is executed by them: no hook, no filter, no submodule. Links are made as they are, wherever they lead.

`origin` is the address without a credential. Pushes to `origin` go to the outbox, a bare repository inside, from which
the gate takes what it then judges and pushes itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from runner.gate.fetch import Fetched
from runner.gate.refs import HEADS, TAGS, rev_list_input
from runner.gate.shipment import Part

__all__ = ["GIT", "Delivered", "DeliveryStep", "branches_of", "collect_step", "delivery_steps", "outbox_steps"]

GIT = "/usr/bin/git"
_WRITE = ("/usr/bin/dd", "bs=1M", "status=none")  # standard input into a file, and nothing on standard output
_WORKSPACE_OBJECTS = "/workspace/.git/objects"
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
_LOOSE_REFS = 200  # more than these are packed: each loose ref is a file, and files are bounded


@dataclass(frozen=True, slots=True)
class DeliveryStep:
    """One program to run. Standard input is that part of the shipment when `takes` names one, else `stdin`."""

    argv: tuple[str, ...]
    why: str
    stdin: bytes = b""
    takes: Part | None = None


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
    start = fetched.branch or fetched.default_branch or "main"
    refs = _workspace_refs(fetched)
    steps = [
        DeliveryStep((GIT, "init", "--quiet", f"--initial-branch={start}", "."), "an empty repository"),
        DeliveryStep(
            (*_WRITE, "oflag=append", "conv=notrunc", "of=.git/config"),
            "who commits, and where origin is",
            stdin=_config(fetched, outbox, name, email).encode("utf-8", "surrogateescape"),
        ),
        *_shallow(".git", shallow),
        # The index comes last: with it, git finds the pack.
        *(
            DeliveryStep((*_WRITE, f"of=.git/objects/pack/pack-{pack_name}.{part}"), "the objects", takes=part)
            for part in (Part.PACK, Part.INDEX)
        ),
        DeliveryStep((GIT, *_QUIET, "update-ref", "-z", "--stdin"), "the refs", stdin=_created(refs)),
        *_default_branch(fetched),
        _check_out(fetched),
        *outbox_steps(fetched.refs, outbox=outbox, workspace_objects=workspace_objects, shallow=shallow),
    ]
    if len(refs) > _LOOSE_REFS:
        steps.append(DeliveryStep((GIT, "pack-refs", "--all"), "one file for many refs"))
    return tuple(steps)


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


def _created(refs: Mapping[str, str]) -> bytes:
    commands = (f"create {name}\0{oid}\0" for name, oid in refs.items())
    return "".join(commands).encode("utf-8", "surrogateescape")


def _default_branch(fetched: Fetched) -> list[DeliveryStep]:
    if fetched.default_branch is None or HEADS + fetched.default_branch not in fetched.refs:
        return []
    target = f"refs/remotes/origin/{fetched.default_branch}"
    argv = (GIT, *_QUIET, "symbolic-ref", "refs/remotes/origin/HEAD", target)
    return [DeliveryStep(argv, "what origin's default branch is")]


def _check_out(fetched: Fetched) -> DeliveryStep:
    """The work tree. HEAD is on the branch already, so no branch's name has to be read as an argument."""
    if fetched.branch is not None:
        return DeliveryStep((GIT, *_QUIET, "reset", "--quiet", "--hard"), "the files of the branch")
    return DeliveryStep((GIT, *_QUIET, "checkout", "--quiet", "--detach", fetched.base), "the files of the commit")


def _shallow(git_folder: str, shallow: Sequence[str]) -> list[DeliveryStep]:
    """Without this file, git takes the missing parents for damage."""
    if not shallow:
        return []
    stdin = "".join(f"{name}\n" for name in shallow).encode("ascii")
    return [DeliveryStep((*_WRITE, f"of={git_folder}/shallow"), "where history ends", stdin=stdin)]


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
    heads = {full: oid for full, oid in refs.items() if full.startswith((HEADS, TAGS))}
    git = (GIT, f"--git-dir={outbox}")
    steps = [
        DeliveryStep(("/bin/rm", "-rf", "--", outbox), "no outbox of before"),
        DeliveryStep((GIT, "init", "--quiet", "--bare", "--template=", outbox), "the outbox for pushes"),
        DeliveryStep(
            (*_WRITE, f"of={outbox}/objects/info/alternates"),
            "the outbox borrows the workspace's objects",
            stdin=f"{workspace_objects}\n".encode(),
        ),
        *_shallow(outbox, shallow),
        DeliveryStep((*git, *_QUIET, "update-ref", "-z", "--stdin"), "what the remote has", stdin=_created(heads)),
    ]
    if len(heads) > _LOOSE_REFS:
        steps.append(DeliveryStep((*git, "pack-refs", "--all"), "one file for many refs"))
    return steps
