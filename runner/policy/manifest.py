"""package.json: which scripts it has, which of them a name runs, and whether this run decided what they are."""

from __future__ import annotations

import json
import posixpath
import re

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_scratch
from runner.policy.scratch import inside_workspace

__all__ = ["around", "judge_manifest", "judge_new_manifests", "scripts_of", "selected_scripts"]

_PLAIN_SELECTOR = re.compile(r"\^?([\w:.-]*?)(?:\.\*)?\$?")


def judge_manifest(call: Call, folder: str) -> Decision | None:
    """Refused when the package.json that decides what the scripts are was made or changed by this run."""
    path = inside_workspace(call, posixpath.join(folder, "package.json"))
    if path is None:
        return deny_scratch("scratch.package", posixpath.join(folder, "package.json"))
    if (call.tree.created_by_run(path) or call.tree.changed_by_run(path)) and not call.policy.scratch_allowed(path):
        return deny_scratch("scratch.package", path)
    return None


def judge_new_manifests(call: Call) -> Decision | None:
    """Refused when going through all packages would find one that this run made outside the full-write paths."""
    for path in call.policy.created_files():
        new = posixpath.basename(path) == "package.json" and "node_modules" not in path.split("/")
        if new and not call.policy.scratch_allowed(path):
            return deny_scratch("scratch.package", path)
    return None


def scripts_of(call: Call, folder: str) -> dict[str, str]:
    """The scripts of the folder's package.json by name; empty where it cannot be read."""
    path = inside_workspace(call, posixpath.join(folder, "package.json"))
    text = None if path is None else call.tree.read_text(path)
    try:
        manifest = json.loads(text.removeprefix("\ufeff")) if text is not None else None
    except (ValueError, RecursionError):
        return {}
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {name: line for name, line in scripts.items() if isinstance(line, str)}


def around(name: str) -> tuple[str, str]:
    """The names of the scripts that run before and after the script."""
    return f"pre{name}", f"post{name}"


def selected_scripts(scripts: dict[str, str], name: str) -> list[str]:
    """The scripts that running `name` runs: itself, those before and after it, or what a selector stands for."""
    if len(name) > 1 and name.startswith("/") and "/" in name[1:]:
        # pnpm takes /regex/. A regex of the caller's is never run here: plain text is looked for, anything else
        # stands for every script.
        plain = _PLAIN_SELECTOR.fullmatch(name[1 : name.rindex("/")])
        return [script for script in scripts if plain is None or plain[1] in script]
    before, after = around(name)
    wanted = [before, name, after]
    if "*" in name:  # npm-run-all takes globs over names
        return [script for script in scripts if script.startswith(name.split("*")[0])]
    return [script for script in wanted if script in scripts]
