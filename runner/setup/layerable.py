"""Whether what an install made may be kept and put in the place of a later install. Pure.

Only asked of installs that `runner.setup.cachable` lets be kept. A cache is read by the package manager, which checks
it against the lock file; what is kept here is used as it is. So whatever an install looks at has to be in the key:
`install_inputs` are the files, beside those of `cachable`, that it reads. Where it may look at more than those, at a
repository's own programs for example, the answer is a reason and nothing is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from runner.setup.plan import SetupPlan

__all__ = ["folders_made", "install_inputs", "no_layer"]

_MANIFEST = "package.json"
_OTHER_MANIFESTS = frozenset({"package.json5", "package.yaml"})  # which pnpm reads in the place of a package.json
_MODULES = "node_modules"
_LINKS_PROGRAMS = ("bin", "directories")


def install_inputs(listed: Iterable[str]) -> tuple[str, ...]:
    """Of the paths, the manifests of packages: an install of a workspace reads each of them; sorted."""
    return tuple(sorted(path for path in listed if _name(path) == _MANIFEST))


def no_layer(plan: SetupPlan, listed: Iterable[str], manifests: Mapping[str, bytes]) -> str | None:
    """Why what the plan's install makes may not be kept, in words; None when it may."""
    if any(step.argv[0] != "git" for step in plan.steps[1:]):
        return "set-up goes on with a command that may need the package cache"
    for path in listed:
        if _MODULES in path.split("/"):
            return "node_modules is in the repository"
        if _name(path) in _OTHER_MANIFESTS:
            return f"{path} is not read here"
    if len(manifests) > 1:  # packages of one repository that depend on each other get each other's programs
        found = next((path for path, data in manifests.items() if _has_programs(data)), None)
        if found is not None:
            return f"{found} has programs, which an install links and makes executable"
    return None


def folders_made(status: bytes) -> tuple[str, ...] | None:
    """The folders of packages that `git status --porcelain -z` tells of, sorted; None when it tells of more."""
    folders: set[str] = set()
    for record in filter(None, status.decode("utf-8", "surrogateescape").split("\0")):
        what, parts = record[:3], record[3:].split("/")
        if what not in ("?? ", "!! ") or _MODULES not in parts[:-1]:
            return None
        folder = parts[: parts.index(_MODULES) + 1]
        if any(part in ("", ".", "..") for part in folder):
            return None
        folders.add("/".join(folder))
    return tuple(sorted(folders))


def _has_programs(data: bytes) -> bool:
    """Whether the manifest names programs, or cannot be read."""
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        return True
    return not isinstance(manifest, dict) or any(key in manifest for key in _LINKS_PROGRAMS)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
