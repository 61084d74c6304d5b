"""Settings of npm and pnpm whose value is a program, a shell or a file of code, and the files that hold settings."""

from __future__ import annotations

from collections.abc import Iterable

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program
from runner.policy.environment_values import judge_variable
from runner.policy.scratch import inside_workspace, judge_file, judge_loaded

__all__ = ["judge_setting_files", "judge_settings"]

_PROGRAMS = frozenset(
    {
        *("script-shell", "shell", "editor", "git", "node-gyp", "python", "init-module", "init.module", "npm-path"),
        *("onload-script", "node-execpath", "userconfig", "globalconfig", "npmrc-auth-file", "global-pnpmfile"),
    }
)
_CODE_FILES = frozenset({"pnpmfile"})
_SAFE_PAGERS = frozenset({"", "true", "false", "man", "browser"})
_HARMLESS = frozenset({"", "/dev/null"})
_LONGEST_NAME = 100  # no setting of theirs is half as long
_FALSE = frozenset({"false", "0", "no", "off"})


def judge_settings(call: Call, settings: Iterable[tuple[str, str]], by: str) -> Decision | None:
    """Refused when one of the settings names a program, loads code, or switches hooks off."""
    for raw, value in settings:
        if len(raw) > _LONGEST_NAME:
            continue
        name = _kebab(raw.removeprefix("config."))
        refused = _judge(call, name, value, by)
        if refused is not None:
            return refused
    return None


def judge_setting_files(call: Call, folders: Iterable[str], names: Iterable[str]) -> Decision | None:
    """Refused when a file of settings that the program would read was made by this run outside the full-write paths."""
    names = tuple(names)
    for folder in dict.fromkeys(folders):
        for name in names:
            path = inside_workspace(call, f"{folder}/{name}")
            refused = judge_loaded(call, path, "scratch.settings") if path is not None else None
            if refused is not None:
                return refused
    return None


def _judge(call: Call, name: str, value: str, by: str) -> Decision | None:
    if name in _PROGRAMS:
        return (
            None
            if value in _HARMLESS
            else deny_program("package.setting.program", f"{by} {name} names a program or a file of settings")
        )
    if name in ("viewer", "browser"):
        return (
            None if value in _SAFE_PAGERS else deny_program("package.setting.program", f"{by} {name} names a program")
        )
    if name in _CODE_FILES:
        return judge_file(call, value, "scratch.settings") if value else None
    if name == "node-options":
        refused = judge_variable(call, "NODE_OPTIONS", value)
        return refused or (
            deny_program("package.setting.node-options", f"{by} {name} loads code") if "/" in value else None
        )
    if name == "no-commit-hooks" or (name == "commit-hooks" and value in _FALSE):
        return deny_hooks("git.hooks.npm", f"{by} {name}")
    return None


def _kebab(name: str) -> str:
    plain = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)
    return plain.lstrip("-").replace("_", "-")
