"""Which versions of which tools a repository was made with, and whether the image has them. Pure.

The word of `.os/workspace.yml` comes first, then `packageManager`, then mise's and the version managers' files; the
first that names a tool is the one that is compared. A difference is a note and never an error, and nothing is fetched:
most repositories work with a neighbouring version, and a download would be an act that no policy asked for. What is no
plain version (`lts/*`, a range of ranges) is not compared, and is said to be so in the report.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runner.policy.mise_argv import CONFIGS
from runner.setup.plan import SetupFiles
from runner.setup.workspace_yml import WORKSPACE_FILE

__all__ = ["Fit", "ToolFinding", "ToolWish", "compare", "fits", "image_versions", "wishes"]

_MAX_WISHES = 32
_OTHER_NAMES = {"nodejs": "node", "core:node": "node", "python": "python3", "npm:npm": "npm", "npm:pnpm": "pnpm"}
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_WISH = re.compile(r"(\^|~|>=|=)?\s*v?([0-9]{1,9})(?:\.([0-9]{1,9}|[xX*]))?(?:\.([0-9]{1,9}|[xX*]))?")
_HAS = re.compile(r"(?:[0-9]+:)?v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?")  # Debian's have an epoch


class Fit(StrEnum):
    """How a wish and the image go together."""

    FITS = "fits"
    DIFFERS = "differs"
    MISSING = "missing"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True, slots=True)
class ToolWish:
    """A tool, the version as it is written, and the file that says so."""

    tool: str
    wanted: str
    source: str


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """A wish beside what the image has; `has` is None where it has none."""

    wish: ToolWish
    has: str | None
    fit: Fit

    @property
    def note(self) -> str | None:
        """For people; None when there is nothing to say."""
        wish = self.wish
        asked = f"{wish.source} asks for {wish.tool} {wish.wanted}"
        if self.fit is Fit.MISSING:
            return f"{asked}, and the image has no {wish.tool}"
        return f"{asked}, and the image has {self.has}" if self.fit is Fit.DIFFERS else None


def image_versions(label: str) -> Mapping[str, str]:
    """Tool to version by the image's own label; nothing for an image that was built elsewhere."""
    try:
        versions = json.loads(label)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(versions, dict):
        return {}
    return {tool: version for tool, version in versions.items() if isinstance(version, str)}


def wishes(tools: Mapping[str, str], package: Mapping[str, Any], files: SetupFiles) -> tuple[ToolWish, ...]:
    """What the repository asks for, one wish for each tool. `tools` is the workspace file's word."""
    found: dict[str, ToolWish] = {}
    for wish in _all_wishes(tools, package, files):
        if _NAME.fullmatch(wish.tool) and wish.wanted and len(found) < _MAX_WISHES:
            found.setdefault(wish.tool, wish)
    return tuple(found.values())


def compare(wished: Sequence[ToolWish], versions: Mapping[str, str]) -> tuple[ToolFinding, ...]:
    """Each wish beside the image's `versions`; an image that says nothing about itself is not compared."""
    findings = []
    for wish in wished:
        has = versions.get(wish.tool)
        if has is None:
            fit = Fit.MISSING if versions else Fit.NOT_COMPARED
        else:
            same = fits(wish.wanted, has)
            fit = Fit.NOT_COMPARED if same is None else Fit.FITS if same else Fit.DIFFERS
        findings.append(ToolFinding(wish, has, fit))
    return tuple(findings)


def fits(wanted: str, has: str) -> bool | None:
    """Whether `has` is what `wanted` asks for; None when that cannot be told. `22` is asked for by any 22.x.y."""
    wish, there = _WISH.fullmatch(wanted.strip()), _HAS.match(has)
    if wish is None or there is None:
        return None
    sign = wish[1]
    parts = [int(part) for part in wish.groups()[1:] if part is not None and part.isdigit()]
    have = [int(part or 0) for part in there.groups()]
    if sign == ">=":
        return have >= parts
    if sign == "^":
        fixed = next((place for place, part in enumerate(parts) if part), len(parts) - 1) + 1
        return have[:fixed] == parts[:fixed] and have >= parts
    if sign == "~":
        return have[: min(2, len(parts))] == parts[:2] and have >= parts
    return have[: len(parts)] == parts


def _all_wishes(tools: Mapping[str, str], package: Mapping[str, Any], files: SetupFiles) -> Iterator[ToolWish]:
    for tool, version in tools.items():
        yield ToolWish(_OTHER_NAMES.get(tool, tool), version, WORKSPACE_FILE)
    manager = package.get("packageManager")
    if isinstance(manager, str):
        name, _, version = manager.partition("@")
        yield ToolWish(name, version.partition("+")[0][:64], "packageManager")
    for path in CONFIGS:
        text = files.read_text(path)
        found = _mise(text or "") if path.endswith(".toml") else _tool_versions(text or "")
        yield from (ToolWish(_OTHER_NAMES.get(tool, tool), version[:64], path) for tool, version in found)
    for path in (".node-version", ".nvmrc"):
        lines = (files.read_text(path) or "").splitlines()
        yield from (ToolWish("node", line.partition("#")[0].strip()[:64], path) for line in lines[:1])


def _tool_versions(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines()[:200]:
        words = line.partition("#")[0].split()
        if len(words) > 1:
            yield words[0], words[1]


def _mise(text: str) -> Iterator[tuple[str, str]]:
    """Names and first versions of `[tools]`; a file that cannot be understood asks for nothing."""
    try:
        table = tomllib.loads(text).get("tools")
    except (ValueError, RecursionError):
        return
    for tool, said in table.items() if isinstance(table, dict) else ():
        first = said[0] if isinstance(said, list) and said else said
        version = first.get("version") if isinstance(first, dict) else first
        if isinstance(version, str):
            yield tool, version
