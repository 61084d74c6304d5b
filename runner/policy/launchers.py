"""Launchers (`npm exec`, `pnpm exec`, `mise x`, `git bisect run`): the program behind them is judged."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.argv_values import Call, deny_program
from runner.policy.scratch import inside_workspace, judge_loaded
from runner.policy.scripts import SHELLS, judge_command, judge_shell_line, program_name, unwrap

__all__ = ["judge_shell_option", "judge_target"]

_BIN = "node_modules/.bin"


def judge_target(call: Call, words: Sequence[str], by: str) -> Decision | None:
    """Refused unless `words` start an allowed program, or a tool that the repository itself installed.

    Names decide before files do: a local `.bin/git` is judged as git, a local `.bin/sh` is a shell.
    """
    if not words:
        return deny_program("launcher.shell", f"{by} without a program starts a shell")
    refused = judge_command(call.deeper(), words)
    if refused is not None:
        return refused
    _, inner = unwrap(words)
    if program_name(words[0]) in SHELLS or (inner and program_name(inner[0]) in SHELLS):
        return deny_program("launcher.shell", f"{by} would start the shell {(inner or list(words))[0]!r}")
    if words[0] in call.policy.bins:
        return call.judge(call.deeper(), list(words))
    installed = _installed(call, words[0])
    if installed is not None:
        return _judge_installed(call, installed)
    hint = "Run an allowed program, or a tool that the repository has installed under node_modules/.bin."
    return deny_program("launcher.unlisted", f"{by} would run {words[0]!r}, which is not installed here", hint)


def judge_shell_option(call: Call, option: str, text: str) -> Decision:
    """Always refused; as a push, a hook skip or the like when the shell text says so."""
    return judge_shell_line(call, text) or deny_program("launcher.shell", f"{option} takes a shell line")


def _judge_installed(call: Call, path: str) -> Decision | None:
    """Refused when the tool came during the run: what an install made cannot be told from what a program wrote."""
    if judge_loaded(call, path, "scratch.tool") is None:
        return None
    return Decision.deny(
        ErrorCode.SCRATCH_EXECUTION_REFUSED,
        "scratch.tool",
        f"Refused by scratch.tool: {path!r} was installed or written during this run, outside the full-write paths.",
        "Have it installed in set-up (commit the lock file, or list the install under `setup` in the policy), or make "
        "`node_modules/**` a full-write path of the policy.",
    )


def _installed(call: Call, name: str) -> str | None:
    """The workspace-relative path of the tool in a node_modules/.bin, in the call's folder first."""
    if "/" in name:
        path = inside_workspace(call, name)
        if path is None or posixpath.dirname(path)[-len(_BIN) :] != _BIN:
            return None
        return path if call.tree.kind(path) is not None else None
    for folder in dict.fromkeys((call.cwd, ".")):
        path = posixpath.normpath(posixpath.join(folder, _BIN, name))
        if name not in (".", "..") and call.tree.kind(path) is not None:
            return path
    return None
