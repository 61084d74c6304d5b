r"""`workspace.edit`: replace one exact piece of a file's text. Bytes outside the replaced text never change.

The replacement works on bytes: line ends, a byte order mark, bytes that are not UTF-8 and a missing final newline stay
as they are. The new text is taken literally, whatever `$`, `\` or `&` it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from runner.model.errors import ErrorCode, ToolError
from runner.tools.base import Arguments, Effect, Retry, Text, Tool
from runner.tools.results import Edited
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL", "replace_exactly"]


class EditArguments(Arguments):
    """Where, what stands there, what shall stand there."""

    path: Annotated[str, Field(description="Path relative to the workspace root.")]
    oldString: Annotated[Text, Field(description="The exact text to replace, line ends included.")]
    newString: Annotated[Text, Field(description="The text to put in its place, taken literally.")]
    replaceAll: Annotated[bool, Field(default=False, description="Replace every occurrence instead of exactly one.")]


def _first_check(raw: Mapping[str, Any]) -> None:
    old = raw.get("oldString")
    if not isinstance(old, str) or not old:
        raise ToolError(
            ErrorCode.EDIT_OLD_STRING_REQUIRED,
            "oldString is missing or empty.",
            hint="Give the exact text to replace, or use workspace.write_file for a whole file.",
        )


def _act(workspace: ToolWorkspace, arguments: EditArguments) -> dict[str, Any]:
    old = arguments.oldString.encode("utf-8")
    new = arguments.newString.encode("utf-8")
    before = workspace.read_for_edit(arguments.path)
    after, count = replace_exactly(before.data, old, new, every=arguments.replaceAll)
    workspace.write(arguments.path, after, expect=before.sha256)
    return {"ok": True, "replacements": count}


def replace_exactly(data: bytes, old: bytes, new: bytes, *, every: bool) -> tuple[bytes, int]:
    """`data` with `old` replaced by `new`, and how often; a single pass, so new text is never searched again.

    Raises:
        ToolError: `edit_no_match`, or `edit_not_unique` when there is more than one place and not `every`.
    """
    first = data.find(old)
    if first < 0:
        raise ToolError(ErrorCode.EDIT_NO_MATCH, "oldString is not in the file.", hint=_no_match_hint(data, old))
    if every:
        return data.replace(old, new), data.count(old)
    # The search goes on one byte later, so that overlapping places count as two: either could be meant.
    if data.find(old, first + 1) >= 0:
        raise ToolError(
            ErrorCode.EDIT_NOT_UNIQUE,
            "oldString is in the file more than once.",
            hint="Include more of the text around it, or set replaceAll.",
        )
    return data[:first] + new + data[first + len(old) :], 1


def _no_match_hint(data: bytes, old: bytes) -> str:
    if b"\n" in old and old.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") in data:
        return "The file has CRLF line ends: write \\r\\n in oldString and newString."
    return "Read the file again and copy the text exactly, blanks and line ends included."


TOOL = Tool(
    name="workspace.edit",
    description=(
        "Replace an exact piece of text in a file. It must occur exactly once, unless replaceAll is set. Nothing else "
        "in the file changes, not even line ends. Allowed only inside the policy's write globs."
    ),
    arguments=EditArguments,
    effect=Effect.WRITE,
    retry=Retry.NOT_RETRY_SAFE,
    retry_note="not retry-safe (a repeat fails edit_no_match; the first edit stands)",
    result='`{"ok": true, "replacements": n}`',
    errors=(
        ErrorCode.EDIT_OLD_STRING_REQUIRED,
        ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED,
        ErrorCode.WORKSPACE_APPEND_ONLY,
        ErrorCode.EDIT_FILE_MISSING,
        ErrorCode.EDIT_NO_MATCH,
        ErrorCode.EDIT_NOT_UNIQUE,
        ErrorCode.WRITE_IS_DIRECTORY,
        ErrorCode.NOT_A_REGULAR_FILE,
        ErrorCode.FILE_TOO_LARGE,
        ErrorCode.FILE_CHANGED,
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.RUN_LIMIT_EXCEEDED,
    ),
    answer=Edited,
    act=_act,
    first_check=_first_check,
)
