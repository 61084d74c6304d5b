"""The cache of an install, detected or listed first in the same words: unpacked before it, packed right after it.

Both happen inside the container. What makes it no way from one run into another:

- Only a frozen install with scripts off is kept, and only where no code of the repository, or of a package, could run
  in it (`runner.setup.cachable`), judged on the host's own mirror. Packing comes before the next program.
- The key holds everything that decides what the cache has in it: the repository, its lock file and settings, the
  command and its variables, the image, and the set-up's network. Another repository has another key.
- It is unpacked by the run's own user in its own container, into a fresh folder, where it could do no more than the
  repository itself. One that is damaged, or with which the install fails, is dropped, and the install runs without it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.controller.base_tree import BaseListing, read_objects
from runner.controller.kept_archive import PACK, UNPACK, KeptArchive, Unpacking, run_in
from runner.egress.registry import Roles
from runner.gate.fetch import Fetched
from runner.gate.git import Git
from runner.setup.cachable import settings_files, uncachable, unkept_file
from runner.setup.plan import SetupPlan

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["CACHE_FOLDERS", "NO_CACHE", "CachePlace", "PackageCache", "place_of_cache"]

_KEY_VERSION = 1
_FOLDERS = {"pnpm": "/home/agent/.pnpm-store", "npm": "/home/agent/.npm/_cacache"}
CACHE_FOLDERS = ("/home/agent/.pnpm-store", "/home/agent/.npm", "/home/agent/.cache")
"""What package managers fill, emptied before the first call. Not ~/.local: mise keeps there what it trusts."""

_MAX_SETTINGS_BYTES = 64 * 1024 * 1024
_MAX_SETTINGS_FILES = 100


@dataclass(frozen=True, slots=True)
class CachePlace:
    """Where an install's cache is inside, and under which key; or why it has none."""

    key: str = ""
    folder: str = ""
    why_not: str = ""


NO_CACHE = CachePlace(why_not="nothing is installed")


def place_of_cache(
    run: Prepared, gate: Git, fetched: Fetched, base: BaseListing, plan: SetupPlan, roles: Roles
) -> CachePlace:
    """The place of the plan's cache, decided on the host before anything ran."""
    if plan.installs is None:
        return NO_CACHE if not plan.steps else CachePlace(why_not="set-up does not begin with an install that is known")
    if not run.host.cache_mib:
        return CachePlace(why_not="this host keeps none")
    if plan.cache is not None and plan.installs not in plan.cache:
        return CachePlace(why_not="the repository wants none")
    unkept = unkept_file(base.objects, plan.lock)
    if unkept is not None:
        return CachePlace(why_not=unkept)
    names = settings_files(base.objects, plan.lock)
    if len(names) > _MAX_SETTINGS_FILES or any(name in base.links for name in names):
        return CachePlace(why_not="its settings are too many files, or links")
    contents = read_objects(gate, fetched.mirror, [base.objects[name] for name in names], _MAX_SETTINGS_BYTES)
    if contents is None:
        return CachePlace(why_not="its lock file is too large")
    files = dict(zip(names, contents, strict=True))
    reason = uncachable(plan.installs, plan.lock, files)
    if reason is not None:
        return CachePlace(why_not=reason)
    return CachePlace(_key(run, fetched, base, plan, roles, files), _FOLDERS[plan.installs])


def _key(
    run: Prepared, fetched: Fetched, base: BaseListing, plan: SetupPlan, roles: Roles, files: Mapping[str, bytes]
) -> str:
    # Attributes can change what a file holds in the workspace, so they count as settings.
    attributes = {path: name for path, name in base.objects.items() if path.rpartition("/")[2] == ".gitattributes"}
    allow = run.policy.network.setup.allow
    material = {
        "version": _KEY_VERSION,
        "repository": fetched.address.url,
        "files": {path: hashlib.sha256(data).hexdigest() for path, data in files.items()},
        "attributes": attributes,
        "install": {"argv": plan.steps[0].argv, "env": dict(plan.steps[0].env)},
        "env": dict(run.policy.env),
        "image": run.facts["image"]["id"],
        "network": {"allow": list(allow), "roles": dict(roles.hosts), "registry": roles.registry_url},
    }
    return hashlib.sha256(json.dumps(material, sort_keys=True).encode("ascii")).hexdigest()


class PackageCache:
    """One install's cache. `hit` says whether the install starts with a kept one."""

    def __init__(self, run: Prepared, place: CachePlace) -> None:
        self._run = run
        self._place = place
        self._archive = KeptArchive(run, place.key)
        self.hit = False
        self.facts: dict[str, Any] = {"outcome": "off", "kept": False, "why": place.why_not, "bytes": 0}

    @property
    def environment(self) -> dict[str, str]:
        """For the install: with a kept cache, what is there is not asked for again."""
        return {"npm_config_prefer_offline": "true"} if self.hit else {}

    def pass_over(self, why: str) -> None:
        """The install does not run, so it needs no cache, and leaves none."""
        if self._place.key:
            self._place = CachePlace(why_not=why)
            self.facts |= {"why": why}

    def restore(self) -> None:
        """The cache is in its folder when one is kept for the key, else the folder is not there."""
        if not self._place.key:
            return
        unpacked = self._archive.bring_in(*UNPACK, folder=self._place.folder)
        if unpacked is Unpacking.DONE:
            self.hit = True
            self.facts |= {"outcome": "hit", "kept": True, "why": "", "bytes": self._archive.bytes}
            return
        self.facts |= {"outcome": "miss", "why": "none is kept for this lock file, image and network"}
        if unpacked is Unpacking.DAMAGED:
            self.facts["why"] = "the kept one was damaged, and is dropped"
            self._clear()

    def give_up(self) -> None:
        """The install failed with the kept cache: it is dropped, inside and outside."""
        self._archive.drop()
        self._clear()
        self.hit = False
        self.facts |= {
            "outcome": "miss",
            "kept": False,
            "why": "the install failed with the kept one, which is dropped",
        }

    def save(self) -> None:
        """The cache as the install left it is kept, unless it was there before or is too large."""
        if not self._place.key or self.hit:
            return
        reason = self._archive.pack(*PACK, f"--directory={self._place.folder}", ".")
        if reason is None:
            self.facts |= {"kept": True, "bytes": self._archive.bytes}
        else:
            self.facts["why"] += f"; not kept: {reason}"

    def _clear(self) -> None:
        run_in(self._run, ("/bin/rm", "-rf", "--", *CACHE_FOLDERS))
