"""`workspace.delete_file`: a file or link is gone."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from runner.model.errors import ErrorCode
from runner.tools.base import Arguments, Effect, Retry, Tool
from runner.tools.results import Done
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]


class DeleteFileArguments(Arguments):
    """Which file."""

    path: Annotated[str, Field(description="Path relative to the workspace root.")]


def _act(workspace: ToolWorkspace, arguments: DeleteFileArguments) -> dict[str, Any]:
    workspace.delete(arguments.path)
    return {"ok": True}


TOOL = Tool(
    name="workspace.delete_file",
    description="Delete a file or a link (not a folder). Allowed only inside the policy's write globs.",
    arguments=DeleteFileArguments,
    effect=Effect.WRITE,
    retry=Retry.NOT_RETRY_SAFE,
    retry_note="not retry-safe (a repeat fails delete_file_missing; the file stays deleted)",
    result='`{"ok": true}`',
    errors=(
        ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED,
        ErrorCode.WORKSPACE_APPEND_ONLY,
        ErrorCode.DELETE_FILE_MISSING,
        ErrorCode.DELETE_FILE_IS_DIRECTORY,
        ErrorCode.PERMISSION_DENIED,
    ),
    answer=Done,
    act=_act,
)
