"""Tasks of mise's config files: a command's extra words end up at the last line of the task, as with package scripts.

A task as it stands is never refused: it is the repository's own, and `mise run <task>` is the way that refusals point
to. Only what the caller's words make of it is judged, and never as a typecheck.
"""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Iterable, Sequence

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.argv_values import Call
from runner.policy.scratch import inside_workspace
from runner.policy.scripts import judge_appended

__all__ = ["judge_task_words"]

_NEXT_TASK = ":::"


def judge_task_words(call: Call, words: Sequence[str], configs: Iterable[str]) -> Decision | None:
    """Refused when a task and the words after it, `TASK WORDS ::: TASK WORDS`, would do what no command may."""
    tasks = _tasks(call, configs)
    for name, extra in _split(words):
        line = _last_line(tasks.get(name))
        if not extra or line is None:
            continue
        refused = judge_appended(call.deeper(), line, extra)
        if refused is not None and refused.code is not ErrorCode.DIRECT_TYPECHECK_REFUSED:
            # Without the words the repository itself would have it so.
            if judge_appended(call.deeper(), line, ()) is None:
                return refused
    return None


def _split(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    start = True
    for word in words:
        if word == _NEXT_TASK:
            start = True
        elif start:
            found.append((word, []))
            start = False
        else:
            found[-1][1].append(word)
    return found


def _tasks(call: Call, configs: Iterable[str]) -> dict[str, object]:
    """The tasks of every config of the folder by name; a config that cannot be read has none."""
    found: dict[str, object] = {}
    for config in configs:
        path = inside_workspace(call, config)
        text = None if path is None or posixpath.splitext(path)[1] != ".toml" else call.tree.read_text(path)
        try:
            tasks = tomllib.loads(text).get("tasks") if text else None
        except (ValueError, RecursionError):
            continue
        if isinstance(tasks, dict):
            found.update(tasks)
    return found


def _last_line(task: object) -> str | None:
    run = task.get("run") if isinstance(task, dict) else task
    last = run[-1] if isinstance(run, list) and run else run
    return last if isinstance(last, str) else None
