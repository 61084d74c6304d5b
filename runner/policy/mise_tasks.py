"""Tasks of mise's config files: a command's extra words end up at the last line of the task, as with package scripts.

A task as it stands is never refused: it is the repository's own, and `mise run <task>` is the way that refusals point
to. Only what the caller's words make of it is judged, and never as a typecheck.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterable, Sequence

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.argv_values import Call, deny_scratch
from runner.policy.scratch import inside_workspace, judge_loaded
from runner.policy.scripts import judge_appended

__all__ = ["judge_file_tasks", "judge_task_words"]

_NEXT_TASK = ":::"
_PATTERN = re.compile(r"[*?\[{!]|\.\.\.")
_ALIAS = re.compile(r"MISE\b[^\n]*\balias")


def judge_file_tasks(call: Call, words: Sequence[str], folders: Iterable[str]) -> Decision | None:
    """Refused when one of the tasks, `TASK WORDS ::: TASK WORDS`, is a file of this run."""
    names = [name for name, _ in _split(words)]
    for name in names:
        refused = _judge_path(call, name) if "/" in name else None
        if refused is not None:
            return refused
    here = [inside_workspace(call, folder) for folder in folders]
    held = [f"{folder}/" for folder in here if folder is not None and call.tree.kind(folder) is not None]
    for path in call.policy.created_files() if held and names else ():
        inside = next((path.removeprefix(folder) for folder in held if path.startswith(folder)), None)
        if inside is not None and _is_named(call, path, inside, names):
            refused = judge_loaded(call, path, "scratch.task")
            if refused is not None:
                return refused
    return None


def _judge_path(call: Call, name: str) -> Decision | None:
    """A name with a slash may be a file's path, and mise runs one from anywhere: what lies outside, a run can make."""
    if name.startswith("//"):
        return None  # a task of a package below the root, never a path
    path = inside_workspace(call, name)
    return deny_scratch("scratch.task", name) if path is None else judge_loaded(call, path, "scratch.task")


def _is_named(call: Call, path: str, inside: str, names: Sequence[str]) -> bool:
    """Whether one of the names means the file; it may be a pattern, or an alias that the head of the file gives."""
    whole = inside.replace("/", ":")
    own = {whole, posixpath.splitext(whole)[0], whole.removesuffix(":_default")}
    if any(name.lstrip("/:") in own or _PATTERN.search(name) for name in names):
        return True
    text = call.tree.read_text(path)
    return text is None or _ALIAS.search(text) is not None


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
