"""`git`: a thin, honest proxy for git in the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from runner.model.errors import ErrorCode
from runner.policy.argv import split_git_args
from runner.tools.base import Arguments, Effect, Retry, Tool
from runner.tools.results import GitResult
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]

_CUT = "\n[output cut]\n"


class GitArguments(Arguments):
    """What follows `git`."""

    args: Annotated[list[str] | str, Field(description="Arguments after `git`: a list, or one line in shell quoting.")]


def _first_check(raw: Mapping[str, Any]) -> None:
    split_git_args(raw.get("args"))


def _act(workspace: ToolWorkspace, arguments: GitArguments) -> dict[str, Any]:
    args = split_git_args(arguments.args)
    outcome = workspace.command(["git", *args], tool="git")
    return {
        "cmd": "git",
        "args": args,
        "stdout": outcome.stdout + (_CUT if outcome.truncated else ""),
        "stderr": outcome.stderr,
        "exit": outcome.code,
        "duration_ms": outcome.duration_ms,
        "timed_out": outcome.timed_out,
        "timeout_secs": outcome.timeout_secs,
    }


TOOL = Tool(
    name="git",
    description=(
        "Run git in the workspace; a non-zero exit is a result, not an error. Pushing is refused (use "
        "workspace.git_push), and so is skipping the repository's hooks."
    ),
    arguments=GitArguments,
    effect=Effect.WRITE,
    retry=Retry.NOT_RETRY_SAFE,
    retry_note="not retry-safe",
    result=(
        '`{"cmd", "args", "stdout", "stderr", "exit", "duration_ms", "timed_out", "timeout_secs"}`, every key always; '
        "`exit` is null only when the time limit ended it"
    ),
    errors=(
        ErrorCode.ARGV_REQUIRED,
        ErrorCode.BIN_NOT_ALLOWLISTED,
        ErrorCode.GIT_PUSH_VIA_RUN_COMMAND,
        ErrorCode.GIT_HOOKS_SKIP_REFUSED,
        ErrorCode.SCRATCH_EXECUTION_REFUSED,
    ),
    answer=GitResult,
    act=_act,
    first_check=_first_check,
)
