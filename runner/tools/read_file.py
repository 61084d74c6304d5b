"""`workspace.read_file`: a file's text, whole or a numbered window of it."""

from __future__ import annotations

from posixpath import normpath
from typing import Annotated

from pydantic import Field

from runner.model.errors import ErrorCode, ToolError
from runner.policy.budget import Ground
from runner.tools.base import Arguments, Effect, Retry, Tool
from runner.tools.workspace import ToolWorkspace

__all__ = ["DEFAULT_LIMIT_LINES", "TOOL", "numbered_window"]

DEFAULT_LIMIT_LINES = 200
"""From the tool contract: the window's length when only its start is given."""


class ReadFileArguments(Arguments):
    """Where to read, and which window."""

    path: Annotated[str, Field(description="Path relative to the workspace root.")]
    startLine: Annotated[int | None, Field(default=None, ge=1, description="First line of the window, from 1.")]
    limit: Annotated[
        int | None, Field(default=None, ge=1, description=f"Lines in the window; {DEFAULT_LIMIT_LINES} by default.")
    ]


def _act(workspace: ToolWorkspace, arguments: ReadFileArguments) -> str:
    content = workspace.read(arguments.path)
    try:
        text = content.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(
            ErrorCode.FILE_NOT_TEXT,
            f"{arguments.path} is not UTF-8 text (byte {error.start}).",
            hint="Read it with a command, for example node -e, if its bytes matter.",
            details={"size": len(content.data), "kind": "binary" if b"\0" in content.data else "other encoding"},
        ) from None
    if arguments.startLine is None and arguments.limit is None:
        return text
    return numbered_window(text, arguments.startLine or 1, arguments.limit or DEFAULT_LIMIT_LINES)


def numbered_window(text: str, start: int, limit: int) -> str:
    r"""Lines `start` to `start + limit - 1`, each behind its number and a tab, then one line that says the total.

    Lines end at `\n` only; a last line without one counts.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    window = lines[start - 1 : start - 1 + limit]
    numbered = [f"{number:>6}\t{line}" for number, line in enumerate(window, start=start)]
    said = f"lines {start}-{start + len(window) - 1}" if window else f"no line {start}"
    return "\n".join([*numbered, f"({said}, total {len(lines)})"])


TOOL = Tool(
    name="workspace.read_file",
    description=(
        "Read a text file. Without startLine and limit the whole file is returned as it is. With either of them, a "
        "window is returned: each line is prefixed with its number, and a last line tells the file's total."
    ),
    arguments=ReadFileArguments,
    effect=Effect.READ,
    retry=Retry.SAFE,
    retry_note="safe",
    result="the text, or the numbered window as text; its last line is `(lines A-B, total N)`",
    errors=(
        ErrorCode.EXPLORATION_BUDGET_EXCEEDED,
        ErrorCode.READ_FILE_MISSING,
        ErrorCode.READ_FILE_IS_DIRECTORY,
        ErrorCode.FILE_NOT_TEXT,
        ErrorCode.FILE_TOO_LARGE,
        ErrorCode.NOT_A_REGULAR_FILE,
        ErrorCode.PATH_OUTSIDE_WORKSPACE,
        ErrorCode.PATH_INVALID,
        ErrorCode.LINK_LOOP,
        ErrorCode.FILE_CHANGED,
        ErrorCode.PERMISSION_DENIED,
    ),
    answer=str,
    act=_act,
    ground=lambda a: Ground.of_file(normpath(a.path), a.startLine, a.limit),
)
