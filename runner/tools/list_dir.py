"""`workspace.list_dir`: the entries of a folder."""

from __future__ import annotations

from posixpath import normpath
from typing import Annotated, Any

from pydantic import Field

from runner.model.errors import ErrorCode
from runner.policy.budget import Ground
from runner.tools.base import Arguments, Effect, Retry, Tool
from runner.tools.results import Listing
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]


class ListDirArguments(Arguments):
    """Which folder."""

    path: Annotated[str, Field(default=".", description="Folder relative to the workspace root; the root by default.")]


def _act(workspace: ToolWorkspace, arguments: ListDirArguments) -> dict[str, Any]:
    entries, truncated = workspace.list_dir(arguments.path)
    return {
        "entries": [{"name": entry.name, "kind": str(entry.kind), "size": entry.size} for entry in entries],
        "truncated": truncated,
    }


TOOL = Tool(
    name="workspace.list_dir",
    description=(
        "List a folder: name, kind (file, dir, symlink, other) and size of each entry, sorted by name. `.git` is not "
        "listed. Links are listed as links."
    ),
    arguments=ListDirArguments,
    effect=Effect.READ,
    retry=Retry.SAFE,
    retry_note="safe",
    result='`{"entries": [{"name", "kind", "size"}], "truncated"}`',
    errors=(
        ErrorCode.EXPLORATION_BUDGET_EXCEEDED,
        ErrorCode.LIST_DIR_MISSING,
        ErrorCode.LIST_DIR_NOT_A_DIRECTORY,
        ErrorCode.PATH_OUTSIDE_WORKSPACE,
        ErrorCode.PATH_INVALID,
        ErrorCode.LINK_LOOP,
        ErrorCode.PERMISSION_DENIED,
    ),
    answer=Listing,
    act=_act,
    ground=lambda a: Ground.of_folder(normpath(a.path)),
)
