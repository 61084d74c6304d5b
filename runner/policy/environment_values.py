"""Environment variables that argv can set, and which of them skip hooks or load code."""

from __future__ import annotations

import shlex

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program

__all__ = ["judge_variable"]

_OFF = frozenset({"0", "false", "no", "off"})
_HOOK_SWITCHES = {  # what turns the common hook managers off
    "HUSKY": _OFF,
    "LEFTHOOK": _OFF,
    "HUSKY_SKIP_HOOKS": None,
    "SKIP_SIMPLE_GIT_HOOKS": None,
    "OVERCOMMIT_DISABLE": None,
}
_GIT_PROGRAMS = frozenset(
    {
        *("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS"),
        *("GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"),
    }
)


def judge_variable(call: Call, name: str, value: str) -> Decision | None:
    """Refused when setting the variable would skip hooks, load scratch code, or name a program for git."""
    if name in _HOOK_SWITCHES:
        switch = _HOOK_SWITCHES[name]
        return deny_hooks("git.hooks.environment", f"{name}={value}") if switch is None or value in switch else None
    if name.startswith("GIT_CONFIG") and name != "GIT_CONFIG_NOSYSTEM":
        return deny_hooks("git.hooks.environment", f"{name} changes git's settings, which")
    if name in _GIT_PROGRAMS and value not in ("", "true", ":", "cat"):
        return deny_program("environment.program", f"{name} names a program for git")
    if name == "NODE_OPTIONS":
        return call.judge(call.deeper(), ["node", *_words(value)])
    return None


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()
