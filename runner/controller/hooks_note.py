"""Which of the repository's hooks a run's commits and pushes will really start, and a word when there are none.

A clone has no hooks but those that set-up switches on: git's local settings and `.git/hooks` are not cloned, and
`prepare` scripts are not run by a frozen install. Whoever relies on a hook should not learn that from a bad commit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runner.engine.contract import Sandbox, SpawnRequest
from runner.model.tree import EntryKind, TreeView

__all__ = ["active_hooks", "note_on_missing_hooks"]

_SECONDS = 10.0
_OUTPUT_BYTES = 64 * 1024
_USUAL_FOLDERS = (".githooks", ".husky", ".hooks")
_MEND = "switch them on in set-up, for example `setup: [[git, config, core.hooksPath, .githooks]]`"


def active_hooks(sandbox: Sandbox, hooks_path: str, environment: Mapping[str, str]) -> list[str]:
    """The names of the executable files in the hooks folder, samples left out, sorted."""
    find = ("/usr/bin/find", f"{hooks_path}/", "-maxdepth", "1", "-type", "f", "-executable", "-printf", "%f\\0")
    listed = sandbox.spawn(SpawnRequest(find, environment, _SECONDS, _OUTPUT_BYTES))
    names = listed.stdout.decode("utf-8", "replace").split("\0") if listed.exit == 0 else []
    return sorted(name for name in names if name and not name.endswith(".sample"))


def note_on_missing_hooks(tree: TreeView) -> str | None:
    """A line for people when the clone seems to have hooks and none is active; None when it has none."""
    folder = next((name for name in _USUAL_FOLDERS if tree.kind(name) is EntryKind.DIR), None)
    if folder is not None:
        return f"hooks: none is active, though {folder} is there; {_MEND}"
    if _has_prepare_script(tree.read_text("package.json")):
        return f"hooks: none is active, and package.json's prepare script was not run; {_MEND}"
    return None


def _has_prepare_script(text: str | None) -> bool:
    try:
        manifest: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    return isinstance(scripts, dict) and "prepare" in scripts
