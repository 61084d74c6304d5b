"""mise in the closed world: one task of the base commit's configuration, and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runner.policy.argv_values import Call
from runner.policy.mise_argv import CONFIGS, TASK_FOLDERS
from runner.policy.strict_pins import require_pinned
from runner.policy.strict_values import closed, did_you_mean

__all__ = ["canonical_mise"]

_TASK = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:./@-]{0,199}")
_FLAGS = {
    **{"-q": "--quiet", "-S": "--silent", "-n": "--dry-run", "-f": "--force", "-c": "--continue-on-error"},
    **{name: name for name in ("--quiet", "--silent", "--dry-run", "--force", "--continue-on-error", "--no-timings")},
}
_JOBS = re.compile(r"\d{1,3}")
_CONFIG = re.compile(r"(?:\.config/)?(?:\.?mise(?:\.[^/]+)?\.toml|\.?mise/.+|\.?miserc\.toml|\.?mise-tasks/.+)")
_LISTS = {
    **{"ls": ("ls",), "list": ("ls",), "tasks": ("tasks",), "version": ("version",), "-v": ("version",)},
    "--version": ("version",),
}
_LIST_FLAGS = frozenset({"--json", "--current", "--installed", "--missing", "--no-header", "--hidden"})


def canonical_mise(call: Call, words: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs for `mise words`. Behind a task's name all words are the task's own.

    Raises:
        NotAllowed: the verb, an option or the task is outside the closed world.
    """
    verb, args = (words[0], list(words[1:])) if words else ("", [])
    if verb in ("tasks", "task", "t") and args[:1] in (["run"], ["r"]):
        verb, args = "run", args[1:]
    elif verb in ("tasks", "task", "t"):
        verb, args = "tasks", args[1:] if args[:1] in (["ls"], ["list"]) else args
    if verb in ("run", "r"):
        return _run(call, args)
    if call.phase == "setup" and (verb, args) in (("install", []), ("trust", [])):
        return ("mise", verb)
    if verb not in _LISTS:
        hint = did_you_mean(verb, ("run", "tasks", "ls", "version"), dashes="mise ")
        raise closed("strict.mise.verb", f"mise {verb[:80]} is not among the verbs", hint)
    for word in args:
        if word not in _LIST_FLAGS:
            raise closed("strict.mise.option", f"{word[:80]!r} is not known", did_you_mean(word, _LIST_FLAGS))
    _pinned(call, ())
    return ("mise", *_LISTS[verb], *args)


def _run(call: Call, args: list[str]) -> tuple[str, ...]:
    options: list[str] = []
    index = 0
    while index < len(args) and args[index].startswith("-"):
        word = args[index]
        index += 1
        name, equals, value = word.partition("=")
        if name in ("-j", "--jobs"):
            value, index = (value, index) if equals else ("".join(args[index : index + 1]), index + 1)
            if not _JOBS.fullmatch(value):
                raise closed("strict.mise.option", "--jobs takes a number", "Write --jobs=4.")
            options.append(f"--jobs={value}")
        elif word in _FLAGS:
            options.append(_FLAGS[word])
        else:
            raise closed("strict.mise.option", f"{word[:80]!r} is not known", did_you_mean(word, _FLAGS))
    if index >= len(args) or not _TASK.fullmatch(args[index]):
        raise closed("strict.mise.task", "mise run needs the name of a task", "mise tasks lists them.")
    task, rest = args[index], args[index + 1 :]
    if ":::" in rest:
        raise closed("strict.mise.task", "`:::` begins another task", "Run one task in a call.")
    _pinned(call, (task,))
    return ("mise", "run", *options, task, *rest)


def _pinned(call: Call, tasks: Sequence[str]) -> None:
    files = [f"{folder}/{task.replace(':', '/')}" for folder in TASK_FOLDERS for task in tasks]
    made = [path for path in call.policy.created_files() if _CONFIG.fullmatch(path)] if call.phase == "run" else []
    require_pinned(call, (".",), (*CONFIGS, *files, *made))
