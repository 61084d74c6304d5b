"""`workspace.write_file`: a file has exactly this content."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from runner.model.errors import ErrorCode
from runner.tools.base import Arguments, Effect, Retry, Text, Tool
from runner.tools.results import Done
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]


class WriteFileArguments(Arguments):
    """Where, and what."""

    path: Annotated[str, Field(description="Path relative to the workspace root. Missing folders are made.")]
    content: Annotated[Text, Field(description="The whole new content.")]


def _act(workspace: ToolWorkspace, arguments: WriteFileArguments) -> dict[str, Any]:
    workspace.write(arguments.path, arguments.content.encode("utf-8"))
    return {"ok": True}


TOOL = Tool(
    name="workspace.write_file",
    description=(
        "Create a file or replace its whole content. Missing folders are made; the mode of an existing file is kept. "
        "Allowed only inside the policy's write globs; a file is never written through a link."
    ),
    arguments=WriteFileArguments,
    effect=Effect.WRITE,
    retry=Retry.IDEMPOTENT,
    retry_note="idempotent",
    result='`{"ok": true}`',
    errors=(
        ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED,
        ErrorCode.WORKSPACE_APPEND_ONLY,
        ErrorCode.WRITE_IS_DIRECTORY,
        ErrorCode.WRITE_PARENT_NOT_A_DIRECTORY,
        ErrorCode.NOT_A_REGULAR_FILE,
        ErrorCode.FILE_TOO_LARGE,
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.RUN_LIMIT_EXCEEDED,
    ),
    answer=Done,
    act=_act,
)
