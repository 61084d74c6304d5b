"""A commit object as bytes: what it says, why it would not be signed, and its signed form. Pure.

A signature stands for all that an object says, so nothing is signed that was not looked at: the object is read here,
from its bytes alone, in the one form that git writes for a plain commit. Whatever else it holds (another header,
another person, another time) is a reason not to sign it. The message is free, since hooks may write it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

__all__ = ["CommitObject", "Expected", "object_name", "parse_commit", "reason_not_to_sign", "with_signature"]

_MAX_BYTES = 4 << 20  # the message of a call has at most 1 MiB, and hooks may add to it
_CRUD = "".join(map(chr, range(33))) + ".,:;<>\"\\'"  # what git takes off both ends of a name
_HEADER = re.compile(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)"
    rb"author ([^\n<>]*) <([^\n<>]*)> ([0-9]{1,12}) [+-][0-9]{4}\n"
    rb"committer ([^\n<>]*) <([^\n<>]*)> ([0-9]{1,12}) [+-][0-9]{4}\n\n"
)
_SIGNATURE = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n(?:[A-Za-z0-9+/=]{1,100}\n){1,200}-----END SSH SIGNATURE-----\n"
)


@dataclass(frozen=True, slots=True)
class CommitObject:
    """A plain commit. Author and committer are name, address and time in seconds since 1970."""

    name: str
    raw: bytes
    tree: str
    parents: tuple[str, ...]
    author: tuple[str, str, int]
    committer: tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a commit must be so that it is signed: its parents, its person, and when it can have been made."""

    parents: tuple[str, ...]
    name: str
    email: str
    earliest: float
    latest: float


def object_name(raw: bytes) -> str:
    """The name that git gives a commit of these bytes, in a repository of SHA-1."""
    return hashlib.sha1(b"commit %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def parse_commit(raw: bytes) -> CommitObject | None:
    """The commit in `raw`; None for what is none, or has a header beside those of a plain, unsigned one."""
    found = _HEADER.match(raw) if len(raw) <= _MAX_BYTES and b"\0" not in raw else None
    if found is None:
        return None
    tree, parents, *people = found.groups()
    names = tuple(line.removeprefix("parent ") for line in parents.decode("ascii").splitlines())
    author, committer = (_person(*people[start : start + 3]) for start in (0, 3))
    return CommitObject(object_name(raw), raw, tree.decode("ascii"), names, author, committer)


def reason_not_to_sign(commit: CommitObject, expected: Expected) -> str | None:
    """What is not as expected, in words; None when all is."""
    if commit.parents != expected.parents:
        return "its parents are not what the branch and the merge were at"
    wanted = (expected.name.strip(_CRUD), expected.email.strip(_CRUD))
    for role, (name, email, seconds) in (("author", commit.author), ("committer", commit.committer)):
        if (name, email) != wanted:
            return f"its {role} is not the policy's commit.name and commit.email"
        if not expected.earliest <= seconds <= expected.latest:
            return f"its {role}'s time is not the time at which it was made"
    return None


def with_signature(commit: CommitObject, signature: bytes) -> bytes:
    """The commit as git stores it when it is signed: the signature is its last header.

    Raises:
        ValueError: `signature` is no ssh signature in its armoured form.
    """
    if not _SIGNATURE.fullmatch(signature):
        raise ValueError("no ssh signature")
    header, _, message = commit.raw.partition(b"\n\n")
    folded = signature.rstrip(b"\n").replace(b"\n", b"\n ")
    return header + b"\ngpgsig " + folded + b"\n\n" + message


def _person(name: bytes, email: bytes, seconds: bytes) -> tuple[str, str, int]:
    return name.decode("utf-8", "surrogateescape"), email.decode("utf-8", "surrogateescape"), int(seconds)
