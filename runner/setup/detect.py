"""Which set-up a fresh clone gets. Pure: a function of the policy's word and of the files at the base commit.

Order, first match decides:

1. the policy says `off`: none;
2. the policy gives a list: that;
3. `.os/workspace.yml` has `run`: what it says, and nothing detected on top;
4. `package.json` with lock files: one install. Of several lock files, the one of the manager that `packageManager`
   names; else pnpm's; else npm's (`npm-shrinkwrap.json` before `package-lock.json`, as npm itself has it). The lock
   file that is there decides over a `packageManager` that names another;
5. `package.json` without a lock file: none, with a note, since what would be installed is written nowhere;
6. otherwise: none. Lock files in folders below are named, and not acted on: which of them belong to the work is the
   repository's to say.

An install runs no build scripts (`--ignore-scripts`) and changes no lock file. A workspace's packages are installed
with its root, by the root's lock file.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner.model.errors import RepositoryUnavailable
from runner.model.tree import EntryKind
from runner.setup.plan import Manager, SetupFiles, SetupPlan, SetupSource, SetupStep
from runner.setup.workspace_yml import WORKSPACE_FILE, WorkspaceFile, parse_workspace_file

__all__ = ["LOCK_FILES", "package_json", "plan_setup"]

PNPM_INSTALL = ("pnpm", "install", "--frozen-lockfile", "--ignore-scripts")
NPM_INSTALL = ("npm", "ci", "--ignore-scripts")
_INSTALLS: Mapping[Manager, tuple[str, ...]] = {"pnpm": PNPM_INSTALL, "npm": NPM_INSTALL}
# A `packageManager` field with a version would make pnpm download and start that version of itself.
_PNPM_ENV: Mapping[str, str] = {"npm_config_manage_package_manager_versions": "false"}
_LOCK_FILES: tuple[tuple[Manager, str], ...] = (
    ("pnpm", "pnpm-lock.yaml"),
    ("npm", "npm-shrinkwrap.json"),
    ("npm", "package-lock.json"),
)
LOCK_FILES = frozenset(lock for _, lock in _LOCK_FILES)
_FOREIGN_LOCKS = {"yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_DEPENDENCY_KEYS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_NAMED_FOLDERS = 3  # of those with a lock file, in a note


def plan_setup(policy_setup: str | Sequence[Sequence[str]], files: SetupFiles, listed: Iterable[str] = ()) -> SetupPlan:
    """The set-up for this tree.

    Args:
        policy_setup: the policy's `setup`: `auto`, `off`, or a list of argv lists.
        files: the tree.
        listed: every path of the base commit, to find lock files in folders.

    Raises:
        RepositoryUnavailable: the tree's `.os/workspace.yml` cannot be used.
    """
    if policy_setup == "off":
        return _none("the policy turns set-up off")
    if not isinstance(policy_setup, str):
        steps = tuple(SetupStep(tuple(argv), {}, "the policy asks for it") for argv in policy_setup)
        return _listed(steps, SetupSource.POLICY, "the policy", files)
    file = _workspace_file(files)
    if file is not None and file.run is not None:
        steps = tuple(SetupStep(argv, {}, f"{WORKSPACE_FILE} asks for it") for argv in file.run)
        plan = _listed(steps, SetupSource.WORKSPACE_FILE, WORKSPACE_FILE, files)
    else:
        plan = _detected(files, listed)
    return plan if file is None else _with_words_of(file, plan)


def package_json(files: SetupFiles) -> Mapping[str, Any]:
    """package.json as far as it can be understood; a broken one is the package manager's to complain about."""
    try:
        package = json.loads(files.read_text("package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _workspace_file(files: SetupFiles) -> WorkspaceFile | None:
    if files.kind(WORKSPACE_FILE) is None:
        return None
    text = files.read_text(WORKSPACE_FILE)
    if text is None:
        raise RepositoryUnavailable(
            f"{WORKSPACE_FILE} is not a readable text file",
            hint="Make it a regular UTF-8 file of at most 64 KiB.",
            code="workspace_file_invalid",
        )
    return parse_workspace_file(text.encode("utf-8", "surrogateescape"))


def _listed(steps: tuple[SetupStep, ...], source: SetupSource, by: str, files: SetupFiles) -> SetupPlan:
    """Commands of others' choice. A first one that is word for word a detected install is known for what it is."""
    plan = SetupPlan(steps, bool(steps), source, f"set-up as {by} lists it")
    for manager, lock in _LOCK_FILES:
        if steps and steps[0].argv == _INSTALLS[manager] and files.kind(lock) is EntryKind.FILE:
            return replace(plan, installs=manager, lock=lock)
    return plan


def _with_words_of(file: WorkspaceFile, plan: SetupPlan) -> SetupPlan:
    steps = tuple(replace(step, env={**file.env, **step.env}) for step in plan.steps)
    return replace(plan, steps=steps, verify=file.verify, cache=file.cache, tools=dict(file.tools))


def _detected(files: SetupFiles, listed: Iterable[str]) -> SetupPlan:
    if files.kind("package.json") is not EntryKind.FILE:
        return _without_package(files, listed)
    package = package_json(files)
    named = _named_manager(package)
    locks = [(manager, lock) for manager, lock in _LOCK_FILES if files.kind(lock) is EntryKind.FILE]
    if not locks:
        return _without_lock(package, named, files, listed)
    preferred = [(manager, lock) for manager, lock in locks if manager == named]
    manager, lock = (preferred or locks)[0]
    note = _choice(manager, lock, named, several=len({name for name, _ in locks}) > 1)
    step = SetupStep(PNPM_INSTALL, _PNPM_ENV, note) if manager == "pnpm" else SetupStep(NPM_INSTALL, {}, note)
    return SetupPlan((step,), True, SetupSource.DETECTED, note, installs=manager, lock=lock)


def _choice(manager: Manager, lock: str, named: str | None, *, several: bool) -> str:
    if several:
        by = "packageManager names it" if manager == named else "pnpm's comes first"
        return f"several lock files, {lock} is used ({by})"
    if named not in (None, manager):
        return f"packageManager names {named}, and the only lock file is {lock}: {manager} installs"
    return f"{lock} is there: {manager} installs"


def _without_package(files: SetupFiles, listed: Iterable[str]) -> SetupPlan:
    orphans = sorted(lock for lock in LOCK_FILES if files.kind(lock) is EntryKind.FILE)
    if orphans:
        return _none(f"{orphans[0]} is there and package.json is not: nothing to install")
    return _none(_below(listed) or "no package.json: nothing to install")


def _without_lock(package: Mapping[str, Any], named: str | None, files: SetupFiles, listed: Iterable[str]) -> SetupPlan:
    if named not in (None, "npm", "pnpm"):
        return _none(f"packageManager names {named}, which is not supported: nothing is installed")
    if any(isinstance(package.get(key), dict) and package[key] for key in _DEPENDENCY_KEYS):
        foreign = next((lock for lock in _FOREIGN_LOCKS if files.kind(lock) is EntryKind.FILE), None)
        if foreign is not None:
            return _none(f"{foreign} is there, and {_FOREIGN_LOCKS[foreign]} is not supported: nothing is installed")
        return _none("package.json has dependencies and no lock file: nothing is installed; commit a lock file")
    return _none(_below(listed) or "package.json has no dependencies: nothing to install")


def _below(listed: Iterable[str]) -> str | None:
    """The note on lock files that are only in folders; None when there are none."""
    folders = sorted(
        {
            posixpath.dirname(path)
            for path in listed
            if posixpath.basename(path) in LOCK_FILES and "node_modules" not in path.split("/")
        }
        - {""}
    )
    if not folders:
        return None
    said = ", ".join(folders[:_NAMED_FOLDERS]) + (" and others" if len(folders) > _NAMED_FOLDERS else "")
    return f"lock files are only in folders ({said}): nothing is installed; list the installs in {WORKSPACE_FILE}"


def _named_manager(package: Mapping[str, Any]) -> str | None:
    """The name before the `@` in `packageManager`, when it is one of the four that there are."""
    field = package.get("packageManager")
    name = field.partition("@")[0] if isinstance(field, str) else None
    return name if name in ("npm", "pnpm", "yarn", "bun") else None


def _none(note: str) -> SetupPlan:
    return SetupPlan((), False, SetupSource.NONE, note)
