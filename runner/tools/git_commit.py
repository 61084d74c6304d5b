"""`workspace.git_commit`: commit everything that changed, if all of it is within the write policy."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from runner.model.errors import ErrorCode
from runner.tools.base import Arguments, Effect, Retry, Text, Tool
from runner.tools.results import Committed
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]

_MAX_MESSAGE_BYTES = 1024 * 1024
"""As much as a whole command line may have; what is longer belongs into a file."""


def _message(text: str) -> str:
    """Before anything is staged and any hook has run: git itself refuses a NUL only after both."""
    if "\0" in text:
        raise ValueError("holds a NUL, which no commit message can have")
    if len(text.encode("utf-8")) > _MAX_MESSAGE_BYTES:
        raise ValueError(f"is larger than {_MAX_MESSAGE_BYTES} bytes; say it in fewer words, and the rest in a file")
    return text


class GitCommitArguments(Arguments):
    """The message."""

    message: Annotated[Text, AfterValidator(_message), Field(description="The commit message.")]


def _act(workspace: ToolWorkspace, arguments: GitCommitArguments) -> dict[str, Any]:
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
    answer=Committed,
    act=_act,
)
