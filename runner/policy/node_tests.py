"""Which files `node --test` executes, by name, by glob, in a folder, or found by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from runner.model.decision import Decision
from runner.model.tree import EntryKind
from runner.policy.argv_values import Call, deny_scratch
from runner.policy.scratch import inside_workspace, judge_file

__all__ = ["judge_discovery", "judge_test_argument"]

# node's own patterns for a bare `--test`: names that say test, and everything beneath a folder called test.
_DISCOVERED = re.compile(r"(?:.*/)?(?:(?:[^/]*[.\-_]test|test(?:-[^/]*)?)|test/.*)\.[cm]?[jt]s")
_SCRIPT = re.compile(r".*\.[cm]?[jt]s")


def judge_discovery(call: Call) -> Decision | None:
    """Refused when a bare `node --test` would pick up scratch of this run."""
    return _judge_created(call, (path for path in call.policy.created_files() if _DISCOVERED.fullmatch(path)))


def judge_test_argument(call: Call, pattern: str) -> Decision | None:
    """Refused when a file, folder or glob given to `node --test` holds scratch of this run."""
    refused = judge_file(call, pattern, "scratch.node.test")
    path = inside_workspace(call, pattern)
    if refused is not None or path is None:
        return refused
    beneath = "" if path == "." else f"{path}/"
    if call.tree.kind(path) is EntryKind.DIR:
        files = (file for file in call.policy.created_files() if file.startswith(beneath) and _SCRIPT.fullmatch(file))
        return _judge_created(call, files)
    if not re.search(r"[*?\[{]", path):
        return None
    # Only the fixed folder before the first wildcard is compared: a caller's glob is not run over the tree's names.
    fixed = re.split(r"[*?\[{!+@(]", path)[0]
    tail = re.search(r"(\.[A-Za-z0-9]+)$", path)
    files = (
        file
        for file in call.policy.created_files()
        if file.startswith(fixed) and _SCRIPT.fullmatch(file) and (tail is None or file.endswith(tail[1]))
    )
    return _judge_created(call, files)


def _judge_created(call: Call, files: Iterable[str]) -> Decision | None:
    for file in files:
        if "node_modules/" not in file and not call.policy.scratch_allowed(file):
            return deny_scratch("scratch.node.test", file)
    return None
