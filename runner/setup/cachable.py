"""Whether an install may be kept: only when nothing of the repository, and nobody else's code, could run in it. Pure.

A kept cache is used by later runs of the same repository and lock file, so what one commit could plant there would
reach the others. The install runs no scripts, but package managers load code by other ways: hook files, settings that
name programs or other places, packages that are built from git. So this is a closed world: every setting in the files
is one that is known to neither start a program nor move the cache, and every package comes from a registry or an https
address, with its digest in the lock file. What is not known is not kept, and said.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any

from runner.policy.bounded_yaml import YamlRefused, read_yaml
from runner.setup.plan import Manager

__all__ = ["settings_files", "uncachable", "unkept_file"]

_WORKSPACE = "pnpm-workspace.yaml"
_SHRINKWRAP = "npm-shrinkwrap.json"
_DIGEST = re.compile(r"sha(?:1|256|384|512)-[A-Za-z0-9+/=]{20,200}")
_HOOK_FILE = re.compile(r"\.?pnpmfile\.[cm]?js", re.IGNORECASE)
# Left out on purpose, among others: what makes pnpm fetch another pnpm, what makes either ignore the lock file or read
# others, patches, and every folder and program.
_KNOWN = frozenset(
    """
    registry save-exact save-prefix engine-strict fund audit legacy-peer-deps strict-peer-dependencies
    auto-install-peers shamefully-hoist hoist hoist-pattern public-hoist-pattern node-linker
    prefer-workspace-packages link-workspace-packages save-workspace-protocol dedupe-peer-dependents
    resolve-peers-from-workspace-root resolution-mode update-notifier progress loglevel color include-workspace-root
    always-auth prefer-offline fetch-retries fetch-timeout network-concurrency
    minimum-release-age minimum-release-age-exclude
    packages catalog catalogs overrides only-built-dependencies ignored-built-dependencies never-built-dependencies
    allow-builds peer-dependency-rules package-extensions allowed-deprecated-versions ignored-optional-dependencies
    catalog-mode supported-architectures
    """.split()
)
_NO_SCRIPTS = "ignore-scripts"  # which some repositories ask for themselves; only as true
_SCOPED = re.compile(r"@[\w.-]{1,200}:registry|//[^\s=]{1,500}:_(?:authToken|auth|password)|//[^\s=]{1,500}:username")
_ALIAS = re.compile(r"(?:^|[\s\[{,:])[&*]\w")  # under another name, a key passes for another key
_SOURCE_KEY = re.compile(r"resolution[\"']?\s*:")
_PNPM_RESOLUTION = re.compile(
    r"""resolution:\ \{integrity:\ sha(?:1|256|384|512)-[A-Za-z0-9+/=]+(?:,\ tarball:\ https://[^\s,}]+)?\}"""
)


def settings_files(listed: Iterable[str], lock: str) -> tuple[str, ...]:
    """Of the paths, those that an install reads its packages and settings from; sorted."""
    root = {"package.json", _WORKSPACE, lock}
    return tuple(sorted(path for path in listed if path in root or posixpath.basename(path) == ".npmrc"))


def unkept_file(listed: Iterable[str], lock: str) -> str | None:
    """Why a file of the tree keeps the install from being kept, in words; None when none does."""
    for path in listed:
        if path == _SHRINKWRAP and lock != path:
            return f"npm reads {path} and not {lock}"  # also where it is a link that leads out of the tree
        if _HOOK_FILE.fullmatch(path.rpartition("/")[2]):
            return f"{path} runs during the install"
        if path.startswith("node_modules/"):
            return "node_modules is in the repository"  # it tells pnpm of stores and of what is installed already
    return None


def uncachable(manager: Manager, lock: str, contents: Mapping[str, bytes]) -> str | None:
    """Why the install may not be kept, in words; None when it may. `contents` are the settings files'."""
    for path, data in contents.items():
        reason = None
        if path == lock:
            reason = _pnpm_lock(data) if manager == "pnpm" else _npm_lock(data)
        elif posixpath.basename(path) == ".npmrc":
            reason = _npmrc(data)
        elif path == _WORKSPACE:
            reason = _workspace(data)
        elif path == "package.json":
            reason = _package(data)
        if reason is not None:
            return f"{path} {reason}"
    return None


def _npmrc(data: bytes) -> str | None:
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if not text or text[0] in "#;":
            continue
        key, _, value = text.partition("=")
        key = key.strip().removesuffix("[]").strip()
        if not _is_known(key, value.strip()) and not _SCOPED.fullmatch(key):
            return f"sets {key[:60]!r}"
    return None


def _workspace(data: bytes) -> str | None:
    try:
        document = read_yaml(data).data
    except YamlRefused:
        return "is not plain YAML"
    return _keys(document)


def _package(data: bytes) -> str | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return "is not JSON"
    return _keys(document.get("pnpm", {})) if isinstance(document, dict) else "is not an object"


def _keys(document: Any) -> str | None:
    if not isinstance(document, dict):
        return None if document is None else "is not a map"
    other = next((key for key, value in document.items() if not _is_known(_kebab(key), value)), None)
    return None if other is None else f"sets {other[:60]!r}"


def _is_known(key: str, value: object) -> bool:
    return key in _KNOWN or (key == _NO_SCRIPTS and value in (True, "true"))


def _pnpm_lock(data: bytes) -> str | None:
    """Line by line: pnpm writes one line for each package's source. Other spellings of the same YAML are not read."""
    for line in data.decode("utf-8", "replace").splitlines():
        if "\\" in line or line.lstrip().startswith("?") or _ALIAS.search(line):
            return "is not written as pnpm writes it"
        if _SOURCE_KEY.search(line) and not _PNPM_RESOLUTION.fullmatch(line.strip()):
            return "has a package that comes without a digest, from git or from a folder"
    return None


def _npm_lock(data: bytes) -> str | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return "is not JSON"
    packages = document.get("packages") if isinstance(document, dict) else None
    if not isinstance(packages, dict):
        return "is of an old form"
    return next((reason for path, each in packages.items() if (reason := _npm_package(path, each)) is not None), None)


def _npm_package(path: str, entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "is not of npm's form"
    source, digest = entry.get("resolved"), entry.get("integrity")
    if entry.get("link") is True:
        return None
    # The repository's own packages have no source; an address in the place of a version is npm's older form.
    if "node_modules" not in path and source is None and ":" not in str(entry.get("version", "")):
        return None
    from_registry = isinstance(source, str) and source.startswith("https://")
    if from_registry and isinstance(digest, str) and _DIGEST.fullmatch(digest):
        return None
    return "has a package that comes without a digest, from git or from a folder"


def _kebab(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", name)
