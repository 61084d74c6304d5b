"""Refs of a mirror: listing them, finding the commit that a run asked for, and judging a branch's name.

What a caller or a repository calls a ref is never handed to git as a revision, except an object name in hexadecimal:
names are looked up in the listing. A branch wins over a tag, and both over an object name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.gate.failures import visible
from runner.gate.git import Git
from runner.model.errors import RepositoryUnavailable

__all__ = ["HEADS", "OBJECT_NAME", "TAGS", "FoundRef", "branch_refusal", "find_ref", "list_refs", "rev_list_input"]

HEADS = "refs/heads/"
TAGS = "refs/tags/"
OBJECT_NAME = re.compile(r"[0-9a-f]{40}")

_ABBREVIATED = re.compile(r"[0-9a-f]{4,40}")  # git's own shortest abbreviation
_FORBIDDEN_IN_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(/|$)|(^|/)\.|[./]$|^/")
_NAMESPACES = ("heads", "tags", "remotes", "refs")  # with `heads/main`, git finds `main` too
_MAX_BRANCH_BYTES = 200  # a loose ref is a file: its name, and the lock's beside it, must fit 255
_MAX_SUGGESTED_FROM = 5000  # names that are compared; the search is quadratic in their length


@dataclass(frozen=True, slots=True)
class FoundRef:
    """The commit behind a name; `branch` when the name was a branch's."""

    commit: str
    branch: str | None


def list_refs(git: Git, repository: Path) -> dict[str, str]:
    """Full name to object for every branch and tag. Raises GitFailed."""
    listing = git.output(["for-each-ref", "--format=%(objectname) %(refname)", HEADS, TAGS], repository=repository)
    lines = listing.decode("utf-8", "surrogateescape").split("\n")
    rows = (line.partition(" ") for line in lines)
    # The gate's own room may have been taken over: what is no object name names nothing.
    return {name: oid for oid, _, name in rows if OBJECT_NAME.fullmatch(oid)}


def find_ref(git: Git, repository: Path, refs: Mapping[str, str], ref: str) -> FoundRef:
    """The commit that `ref` names: a branch, a tag, a full ref name, or a commit that one of them holds.

    Raises:
        RepositoryUnavailable: code `ref_not_found`, or `ref_ambiguous` for too short an object name.
    """
    short = ref.removeprefix(HEADS)
    if HEADS + short in refs:
        return FoundRef(refs[HEADS + short], short)  # git lets no branch be anything but a commit
    tag = refs.get(TAGS + ref.removeprefix(TAGS))
    if tag is not None:
        return FoundRef(_commit_of(git, repository, tag, ref), None)
    if _ABBREVIATED.fullmatch(ref):
        commit = _held_commit(git, repository, refs, ref)
        if commit is not None:
            return FoundRef(commit, None)
    raise _not_found(refs, ref)


def rev_list_input(wanted: str, refs: Mapping[str, str]) -> bytes:
    """Input of `rev-list --stdin`: what `wanted` holds and none of `refs` holds."""
    lines = [wanted, *(f"^{oid}" for oid in sorted(set(refs.values())))]
    return "\n".join(lines).encode("ascii") + b"\n"


def branch_refusal(name: str) -> str | None:
    """Why the gate pushes to no branch of this name; None when it would.

    Stricter than `git check-ref-format --branch`: besides what git refuses, names that git or a person could take for
    an option, a refspec, a full ref, an object or HEAD, names under which git also finds another ref, and names that a
    terminal would not show as they are.
    """
    try:
        raw = name.encode("utf-8")
    except UnicodeEncodeError:
        return "it is not UTF-8"
    checks = (
        (not name, "it is empty"),
        (len(raw) > _MAX_BRANCH_BYTES, "it is too long"),
        (name.startswith("-"), "it looks like an option"),
        (name.startswith("+"), "it looks like a refspec"),
        (name in ("HEAD", "@") or name.split("/", 1)[0] in _NAMESPACES, "it names another ref"),
        (OBJECT_NAME.fullmatch(name) is not None, "it looks like an object name"),
        (_FORBIDDEN_IN_NAME.search(name) is not None, "git allows no branch of that name"),
        (not name.isprintable(), "it holds characters that are not shown"),
    )
    return next((why for refused, why in checks if refused), None)


def _commit_of(git: Git, repository: Path, oid: str, ref: str) -> str:
    peeled = git.run(
        ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{oid}^{{commit}}"], repository=repository
    )
    commit = peeled.stdout.decode("ascii", "replace").strip()
    if not peeled.ok or not OBJECT_NAME.fullmatch(commit):
        raise RepositoryUnavailable(
            f"{visible(ref)} names something that is not a commit",
            hint="Name a branch, a tag of a commit, or a commit.",
            code="ref_not_found",
        )
    return commit


def _held_commit(git: Git, repository: Path, refs: Mapping[str, str], prefix: str) -> str | None:
    """The one commit whose name begins with `prefix`, when a branch or tag holds it."""
    listing = git.output(["rev-parse", f"--disambiguate={prefix}"], repository=repository).decode("ascii", "replace")
    kinds = git.output(
        ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
        repository=repository,
        stdin=[f"{oid}\n".encode("ascii") for oid in listing.split() if OBJECT_NAME.fullmatch(oid)],
    )
    rows = [line.partition(" ") for line in kinds.decode("ascii", "replace").splitlines()]
    commits = [oid for oid, _, kind in rows if kind == "commit" and OBJECT_NAME.fullmatch(oid)]
    if len(commits) > 1:
        raise RepositoryUnavailable(
            f"{prefix} is the beginning of {len(commits)} commits' names",
            hint="Give more digits.",
            code="ref_ambiguous",
        )
    if not commits:
        return None
    # The mirror keeps objects of branches that are gone: only what a ref still holds may be asked for.
    beyond = git.output(
        ["rev-list", "--max-count=1", "--stdin"], repository=repository, stdin=[rev_list_input(commits[0], refs)]
    )
    return commits[0] if not beyond.strip() else None


def _not_found(refs: Mapping[str, str], ref: str) -> RepositoryUnavailable:
    names = [name.removeprefix(HEADS).removeprefix(TAGS) for name in list(refs)[:_MAX_SUGGESTED_FROM]]
    nearest = difflib.get_close_matches(ref[:200], names, n=3, cutoff=0.4) or sorted(names)[:3]
    return RepositoryUnavailable(
        f"the repository has no branch, tag or reachable commit {visible(ref[:200])}",
        hint=f"Nearest: {', '.join(visible(name) for name in nearest)}." if nearest else "",
        code="ref_not_found",
    )
