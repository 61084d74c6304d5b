"""The one registry: every tool that there is. Schemas, doors, help and the reference page all come from it.

Adding a tool is one module and one line here.
"""

from __future__ import annotations

from runner.model.errors import ErrorCode
from runner.tools import (
    delete_file,
    edit,
    git,
    git_commit,
    git_push,
    list_dir,
    read_file,
    run_command,
    search,
    write_file,
)
from runner.tools.base import Tool

__all__ = ["ANY_CALL", "TOOLS"]

_ALL: tuple[Tool, ...] = (
    read_file.TOOL,
    list_dir.TOOL,
    write_file.TOOL,
    delete_file.TOOL,
    edit.TOOL,
    search.TOOL,
    run_command.TOOL,
    git_commit.TOOL,
    git_push.TOOL,
    git.TOOL,
)

ANY_CALL = (
    ErrorCode.INVALID_ARGUMENTS,
    ErrorCode.UNKNOWN_TOOL,
    ErrorCode.TOOL_NOT_DECLARED,
    ErrorCode.RUN_ENDED,
    ErrorCode.RUN_LIMIT_EXCEEDED,
)
"""Codes that any call may answer with."""

TOOLS: dict[str, Tool] = {tool.name: tool for tool in _ALL}
