"""What an install made, kept as a layer: unpacked into a fresh workspace in the place of the install (ADR 0016).

A run gets a copy of its own. What makes it no way from one run into another is what `package_cache` says, and more,
because no package manager looks at a layer again:

- The key holds the package cache's whole key, every manifest of the repository, its links, and the branch. So a branch
  gets back what itself had made, from the same inputs, and from no other branch.
- It holds folders named `node_modules` and nothing else, none of which the repository has. An install that left
  anything else in the work tree is not kept. Unpacking replaces no file.
- Whenever something about it is not as it should be, the install runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.controller.base_tree import BaseListing, read_objects
from runner.controller.kept_archive import PACK, UNPACK, KeptArchive, Unpacking
from runner.controller.package_cache import CachePlace
from runner.gate.fetch import Fetched
from runner.gate.git import Git
from runner.setup.layerable import folders_made, install_inputs, no_layer
from runner.setup.plan import SetupPlan

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["InstallLayer", "LayerPlace", "place_of_layer"]

_KEY_VERSION = 1
_MAX_MANIFESTS = 2000
_MAX_MANIFEST_BYTES = 32 * 1024 * 1024
_ROOT = "--directory=/workspace"
# Untracked and ignored alike, each folder in one line; a changed file shows as well.
_STATUS = ("status", "--porcelain", "-z", "--untracked-files=normal", "--ignored=matching", "--ignore-submodules=all")


@dataclass(frozen=True, slots=True)
class LayerPlace:
    """Under which key the layer of an install is kept; or why there is none."""

    key: str = ""
    why_not: str = ""


def place_of_layer(gate: Git, fetched: Fetched, base: BaseListing, plan: SetupPlan, cache: CachePlace) -> LayerPlace:
    """The place of the plan's layer, decided on the host before anything ran. `cache` is that of its package cache."""
    if not cache.key:
        return LayerPlace(why_not=cache.why_not)
    names = install_inputs(base.objects)
    if len(names) > _MAX_MANIFESTS or any(name in base.links for name in names):
        return LayerPlace(why_not="its manifests are too many files, or links")
    contents = read_objects(gate, fetched.mirror, [base.objects[name] for name in names], _MAX_MANIFEST_BYTES)
    if contents is None:
        return LayerPlace(why_not="its manifests are too large")
    manifests = dict(zip(names, contents, strict=True))
    reason = no_layer(plan, base.objects, manifests)
    return LayerPlace(why_not=reason) if reason else LayerPlace(_key(fetched, base, cache, manifests))


def _key(fetched: Fetched, base: BaseListing, cache: CachePlace, manifests: Mapping[str, bytes]) -> str:
    material = {
        "version": _KEY_VERSION,
        "layer of": cache.key,
        "branch": fetched.base if fetched.branch is None else f"refs/heads/{fetched.branch}",
        "manifests": {path: hashlib.sha256(data).hexdigest() for path, data in manifests.items()},
        "links": {path: base.objects[path] for path in base.links},
        "submodules": sorted(base.gitlinks),
    }
    return hashlib.sha256(json.dumps(material, sort_keys=True).encode("ascii")).hexdigest()


class InstallLayer:
    """One install's layer. `hit` says that the workspace has it, so that the install need not run."""

    def __init__(self, run: Prepared, place: LayerPlace) -> None:
        self._run = run
        self._place = place
        self._archive = KeptArchive(run, place.key)
        self.hit = False
        self.facts: dict[str, Any] = {"outcome": "off", "kept": False, "why": place.why_not, "bytes": 0}

    def restore(self) -> None:
        """The workspace is as the install would leave it when a layer is kept, else as it was."""
        if not self._place.key:
            return
        unpacked = self._archive.bring_in(*UNPACK, "--keep-old-files", folder="/workspace")
        self.hit = unpacked is Unpacking.DONE
        if self.hit:
            self.facts |= {"outcome": "hit", "kept": True, "why": "", "bytes": self._archive.bytes}
            return
        self.facts |= {"outcome": "miss", "why": "none is kept for this branch, its manifests, lock file and image"}
        if unpacked is Unpacking.DAMAGED:
            self.facts["why"] = "the kept one was damaged, and is dropped"
            self._run.git.run("clean", "-ffdxq")  # set-up has not begun: the clone is all that belongs there

    def save(self) -> None:
        """What the install made is kept, unless that is more than folders of packages, or too large."""
        if not self._place.key or self.hit:
            return
        reason, folders = self._made()
        if reason is None:
            stdin = ["".join(f"./{folder}\0" for folder in folders).encode("utf-8", "surrogateescape")]
            files_from = ("--null", "--verbatim-files-from", "--files-from=-")
            reason = self._archive.pack(*PACK, _ROOT, *files_from, stdin=stdin)
        if reason:
            self.facts["why"] += f"; not kept: {reason}"
        else:
            self.facts |= {"kept": True, "bytes": self._archive.bytes}

    def _made(self) -> tuple[str | None, tuple[str, ...]]:
        """The folders that the install made; or why they cannot be all that it made."""
        result = self._run.git.run(*_STATUS, whole=True)
        if result.exit != 0 or result.truncated:
            return "git could not tell what the install made", ()
        folders = folders_made(result.stdout)
        if folders is None:
            return "the install changed more than its folders of packages", ()
        return (None, folders) if folders else ("the install made nothing", ())
