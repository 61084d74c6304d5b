"""`workspace.run_command`: run one of the allowed programs, without a shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any

from pydantic import Field

from runner.model.errors import ErrorCode
from runner.policy.argv import validate_command
from runner.tools.base import Arguments, Effect, Retry, Tool
from runner.tools.results import CommandResult
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]


class RunCommandArguments(Arguments):
    """The program and its arguments."""

    argv: Annotated[list[str], Field(description="The program's bare name and its arguments; no shell.")]


def _first_check(raw: Mapping[str, Any]) -> None:
    validate_command(raw.get("argv"))


def _act(workspace: ToolWorkspace, arguments: RunCommandArguments) -> dict[str, Any]:
    outcome = workspace.command(list(arguments.argv), tool="run_command")
    values = {field.name: getattr(outcome, field.name) for field in fields(outcome)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


TOOL = Tool(
    name="workspace.run_command",
    description=(
        "Run one of the allowed programs (git, pnpm, npm, node, mise by default) with the given arguments in the "
        "workspace. No shell: operators, globs and variables are not expanded. A non-zero code is a result, not an "
        "error. Pushing, skipping hooks, running a typechecker directly and running files that this run made outside "
        "the full-write paths are refused."
    ),
    arguments=RunCommandArguments,
    effect=Effect.WRITE,
    retry=Retry.NOT_RETRY_SAFE,
    retry_note="not retry-safe",
    result=(
        '`{"code", "stdout", "stderr", "truncated", "timed_out", "timeout_secs", "duration_ms", "killed_by", '
        '"limits_hit", "outside_writes", "reverted", "not_reverted"}`; `code` is null only when the time limit '
        "ended it; "
        "`limits_hit` names each limit that it met, with its bound, as far as the kernel tells of it"
    ),
    errors=(
        ErrorCode.ARGV_REQUIRED,
        ErrorCode.BIN_NOT_ALLOWLISTED,
        ErrorCode.GIT_PUSH_VIA_RUN_COMMAND,
        ErrorCode.GIT_HOOKS_SKIP_REFUSED,
        ErrorCode.DIRECT_TYPECHECK_REFUSED,
        ErrorCode.SCRATCH_EXECUTION_REFUSED,
    ),
    answer=CommandResult,
    act=_act,
    first_check=_first_check,
)
