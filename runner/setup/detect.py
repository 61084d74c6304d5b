"""Which set-up a fresh clone gets. Pure: a function of the policy's word and of the files at the base commit.

Order, first match decides:

1. the policy says `off`: none;
2. the policy gives a list: that;
3. `.os/workspace.yml` is there: what it says, and nothing detected on top;
4. `package.json` with lock files: one install. Of several lock files, the one of the manager that `packageManager`
   names; else pnpm's; else npm's (`npm-shrinkwrap.json` before `package-lock.json`, as npm itself has it);
5. `package.json` without a lock file: none, with a note, since what would be installed is written nowhere;
6. otherwise: none.

An install runs no build scripts (`--ignore-scripts`) and changes no lock file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from runner.model.errors import RepositoryUnavailable
from runner.model.tree import EntryKind
from runner.setup.plan import SetupPlan, SetupSource, SetupStep
from runner.setup.workspace_yml import WORKSPACE_FILE, parse_workspace_file

__all__ = ["SetupFiles", "plan_setup"]

PNPM_INSTALL = ("pnpm", "install", "--frozen-lockfile", "--ignore-scripts")
NPM_INSTALL = ("npm", "ci", "--ignore-scripts")
# A `packageManager` field with a version would make pnpm download and start that version of itself.
_PNPM_ENV: Mapping[str, str] = {"npm_config_manage_package_manager_versions": "false"}
_LOCK_FILES = (("pnpm", "pnpm-lock.yaml"), ("npm", "npm-shrinkwrap.json"), ("npm", "package-lock.json"))
_DEPENDENCY_KEYS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


class SetupFiles(Protocol):
    """The two questions that detection asks of the tree; `runner.model.tree.TreeView` answers them."""

    def kind(self, path: str) -> EntryKind | None:
        """What is at the path, links followed beneath the root; None when nothing is there."""
        ...

    def read_text(self, path: str) -> str | None:
        """The text of a regular file of bounded size; None for anything else."""
        ...


def plan_setup(policy_setup: str | Sequence[Sequence[str]], files: SetupFiles) -> SetupPlan:
    """The set-up for this tree. `policy_setup` is the policy's `setup`: `auto`, `off`, or a list of argv lists.

    Raises:
        RepositoryUnavailable: the tree's `.os/workspace.yml` cannot be used.
    """
    if policy_setup == "off":
        return _none("the policy turns set-up off")
    if not isinstance(policy_setup, str):
        steps = tuple(SetupStep(tuple(argv), {}, "the policy asks for it") for argv in policy_setup)
        return SetupPlan(steps, bool(steps), SetupSource.POLICY, "set-up as the policy lists it")
    if files.kind(WORKSPACE_FILE) is not None:
        return _from_workspace_file(files)
    return _detected(files)


def _from_workspace_file(files: SetupFiles) -> SetupPlan:
    text = files.read_text(WORKSPACE_FILE)
    if text is None:
        raise RepositoryUnavailable(
            f"{WORKSPACE_FILE} is not a readable text file",
            hint="Make it a regular UTF-8 file of at most 64 KiB.",
            code="workspace_file_invalid",
        )
    file = parse_workspace_file(text.encode("utf-8", "surrogateescape"))
    steps = tuple(SetupStep(argv, dict(file.env), f"{WORKSPACE_FILE} asks for it") for argv in file.run)
    return SetupPlan(steps, bool(steps), SetupSource.WORKSPACE_FILE, f"set-up as {WORKSPACE_FILE} lists it")


def _detected(files: SetupFiles) -> SetupPlan:
    if files.kind("package.json") is not EntryKind.FILE:
        return _none("no package.json: nothing to install")
    package = _package(files)
    named = _named_manager(package)
    locks = [(manager, lock) for manager, lock in _LOCK_FILES if files.kind(lock) is EntryKind.FILE]
    if not locks:
        return _without_lock(package, named)
    preferred = [(manager, lock) for manager, lock in locks if manager == named]
    manager, lock = (preferred or locks)[0]
    note = f"{lock} is there: {manager} installs"
    if len({name for name, _ in locks}) > 1:
        by = "packageManager names it" if preferred else "pnpm's comes first"
        note = f"several lock files, {lock} is used ({by})"
    if manager == "pnpm":
        step = SetupStep(PNPM_INSTALL, _PNPM_ENV, note)
    else:
        step = SetupStep(NPM_INSTALL, {}, note)
    return SetupPlan((step,), True, SetupSource.DETECTED, note)


def _without_lock(package: Mapping[str, Any], named: str | None) -> SetupPlan:
    if named not in (None, "npm", "pnpm"):
        return _none(f"packageManager names {named}, which is not supported: nothing is installed")
    if any(isinstance(package.get(key), dict) and package[key] for key in _DEPENDENCY_KEYS):
        return _none("package.json has dependencies and no lock file: nothing is installed; commit a lock file")
    return _none("package.json has no dependencies: nothing to install")


def _package(files: SetupFiles) -> Mapping[str, Any]:
    """package.json as far as it can be understood; a broken one is the package manager's to complain about."""
    try:
        package = json.loads(files.read_text("package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _named_manager(package: Mapping[str, Any]) -> str | None:
    """The name before the `@` in `packageManager`, when it is one of the four that there are."""
    field = package.get("packageManager")
    name = field.partition("@")[0] if isinstance(field, str) else None
    return name if name in ("npm", "pnpm", "yarn", "bun") else None


def _none(note: str) -> SetupPlan:
    return SetupPlan((), False, SetupSource.NONE, note)
