"""Plain mise configurations of the fresh clone become trusted, so that `mise run` works; all others stay untrusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.controller.environment import command_environment
from runner.controller.tree_view import SandboxTree
from runner.engine.contract import SpawnRequest
from runner.model.tree import EntryKind
from runner.policy.mise_argv import CONFIGS, TASK_FOLDERS
from runner.setup.mise_trust import task_file_refusal, trust_refusal

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["trust_mise_configs"]

_MAX_TASK_FILES = 200  # each is read


def trust_mise_configs(run: Prepared, tree: SandboxTree) -> list[str]:
    """Plain configs of the fresh clone are trusted by mise, by their hash; the answer says which, and why others not.

    Nothing of the repository has run yet, so the files are those of the base commit.
    """
    configs = [path for path in CONFIGS if tree.kind(path) is not None]
    if not configs:
        return []
    tasks = _task_files_refusal(run, tree)
    notes = []
    for path in configs:
        regular = tree.kind(path) is EntryKind.FILE and tree.real_path(path) == path
        refusal = trust_refusal(path, tree.read_text(path) if regular else None) or tasks
        if refusal is None:
            trust = SpawnRequest(("mise", "trust", path), command_environment({}), 60, 4096)
            refusal = None if run.sandbox.spawn(trust).exit == 0 else "mise did not take it"
        notes.append(f"mise trusts {path}" if refusal is None else f"mise does not trust {path}: {refusal}")
    run.audit.append("setup.mise", {"notes": notes})
    return notes


def _task_files_refusal(run: Prepared, tree: SandboxTree) -> str | None:
    """Trust in a config covers the task files beside it, so each of them has a say."""
    listed = run.git.run("ls-files", "-z", "--", *TASK_FOLDERS).stdout.decode("utf-8", "surrogateescape")
    paths = [path for path in listed.split("\0") if path]
    if len(paths) > _MAX_TASK_FILES:
        return f"there are more than {_MAX_TASK_FILES} task files"
    found = ((path, task_file_refusal(tree.read_text(path))) for path in paths)
    return next((f"of the task file {path[:200]!r}: {reason}" for path, reason in found if reason is not None), None)
