"""`workspace.git_commit`: commit everything that changed, if all of it is within the write policy."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from runner.model.errors import ErrorCode
from runner.tools.base import Arguments, Effect, Retry, Tool, encode_text
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]


class GitCommitArguments(Arguments):
    """The message."""

    message: Annotated[str, Field(description="The commit message.")]


def _act(workspace: ToolWorkspace, arguments: GitCommitArguments) -> dict[str, Any]:
    encode_text(arguments.message, "message")
    outcome = workspace.commit(arguments.message)
    return {"commit": outcome.commit, "files": list(outcome.files)}


TOOL = Tool(
    name="workspace.git_commit",
    description=(
        "Commit everything that changed in the workspace (ignored files left out) on the current branch. The "
        "repository's hooks run. If anything outside the write policy would be committed, nothing is."
    ),
    arguments=GitCommitArguments,
    effect=Effect.WRITE,
    retry=Retry.NOT_RETRY_SAFE,
    retry_note="not retry-safe (a repeat makes another commit, even an empty one)",
    result='`{"commit": sha, "files": [path]}`',
    errors=(
        ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED,
        ErrorCode.WORKSPACE_APPEND_ONLY,
        ErrorCode.GIT_COMMIT_FAILED,
    ),
    act=_act,
)
