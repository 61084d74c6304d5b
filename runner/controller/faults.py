"""File faults of the sandbox in the words of the tool contract: one table per kind of call."""

from __future__ import annotations

from collections.abc import Mapping

from runner.engine.contract import FileFault, FileRefused
from runner.model.errors import ErrorCode, ToolError
from runner.policy.document import Limits
from runner.policy.paths import shown

__all__ = ["DELETE", "LIST", "READ", "WRITE", "no_room", "tool_error"]

_COMMON: Mapping[FileFault, ErrorCode] = {
    FileFault.OUTSIDE: ErrorCode.PATH_OUTSIDE_WORKSPACE,
    FileFault.LOOP: ErrorCode.LINK_LOOP,
    FileFault.LINK: ErrorCode.FILE_CHANGED,
    FileFault.NOT_REGULAR: ErrorCode.NOT_A_REGULAR_FILE,
    FileFault.TOO_LARGE: ErrorCode.FILE_TOO_LARGE,
    FileFault.CHANGED: ErrorCode.FILE_CHANGED,
    FileFault.NAME_TOO_LONG: ErrorCode.PATH_INVALID,
    FileFault.DENIED: ErrorCode.PERMISSION_DENIED,
    FileFault.NO_SPACE: ErrorCode.RUN_LIMIT_EXCEEDED,
    FileFault.BAD_PATTERN: ErrorCode.SEARCH_PATTERN_INVALID,
    # No honest sandbox answers a call of ours with these, where a table below does not say otherwise. The tables are
    # total all the same: what answers is the untrusted side, and its word must not look like a bug of the controller.
    FileFault.IS_DIRECTORY: ErrorCode.FILE_CHANGED,
    FileFault.NOT_EMPTY: ErrorCode.FILE_CHANGED,
}
READ: Mapping[FileFault, ErrorCode] = {
    **_COMMON,
    FileFault.MISSING: ErrorCode.READ_FILE_MISSING,
    FileFault.NOT_A_DIRECTORY: ErrorCode.READ_FILE_MISSING,
    FileFault.IS_DIRECTORY: ErrorCode.READ_FILE_IS_DIRECTORY,
}
LIST: Mapping[FileFault, ErrorCode] = {
    **_COMMON,
    FileFault.MISSING: ErrorCode.LIST_DIR_MISSING,
    FileFault.NOT_A_DIRECTORY: ErrorCode.LIST_DIR_NOT_A_DIRECTORY,
}
# A write that meets a link or leaves the root is a write that the policy does not allow, however it came about.
WRITE: Mapping[FileFault, ErrorCode] = {
    **_COMMON,
    FileFault.OUTSIDE: ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED,
    FileFault.LOOP: ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED,
    FileFault.LINK: ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED,
    FileFault.NAME_TOO_LONG: ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED,
    FileFault.MISSING: ErrorCode.EDIT_FILE_MISSING,
    FileFault.IS_DIRECTORY: ErrorCode.WRITE_IS_DIRECTORY,
    FileFault.NOT_A_DIRECTORY: ErrorCode.WRITE_PARENT_NOT_A_DIRECTORY,
}
DELETE: Mapping[FileFault, ErrorCode] = {
    **WRITE,
    FileFault.MISSING: ErrorCode.DELETE_FILE_MISSING,
    FileFault.NOT_A_DIRECTORY: ErrorCode.DELETE_FILE_MISSING,
    FileFault.IS_DIRECTORY: ErrorCode.DELETE_FILE_IS_DIRECTORY,
}

_WORDS: Mapping[ErrorCode, tuple[str, str]] = {
    ErrorCode.PATH_OUTSIDE_WORKSPACE: ("{path} leads out of the workspace.", "Only the clone can be read."),
    ErrorCode.LINK_LOOP: ("{path} is a loop of links.", "Name the file itself."),
    ErrorCode.FILE_CHANGED: ("{path} changed while it was being worked on.", "Read it again and repeat the call."),
    ErrorCode.NOT_A_REGULAR_FILE: ("{path} is no regular file.", "FIFOs, sockets and devices are not opened."),
    ErrorCode.FILE_TOO_LARGE: ("{path} is too large for the file tools.", "Use a command on it instead."),
    ErrorCode.PATH_INVALID: ("The path is too long.", "Use a shorter one."),
    ErrorCode.PERMISSION_DENIED: ("{path} is closed to the run by its own mode.", "Change its mode with node first."),
    ErrorCode.RUN_LIMIT_EXCEEDED: ("The workspace is full.", "Delete files."),
    ErrorCode.SEARCH_PATTERN_INVALID: ("The pattern is no valid expression.", "Drop regex to search for it literally."),
    ErrorCode.READ_FILE_MISSING: ("There is no file {path}.", "List its folder with workspace.list_dir."),
    ErrorCode.READ_FILE_IS_DIRECTORY: ("{path} is a folder.", "Use workspace.list_dir."),
    ErrorCode.LIST_DIR_MISSING: ("There is no folder {path}.", "List its parent."),
    ErrorCode.LIST_DIR_NOT_A_DIRECTORY: ("{path} is no folder.", "Use workspace.read_file."),
    ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED: (
        "{path} may not be written: it goes through a link or leaves the workspace.",
        "Name the real path inside the workspace.",
    ),
    ErrorCode.EDIT_FILE_MISSING: ("There is no file {path}.", "Create it with workspace.write_file."),
    ErrorCode.WRITE_IS_DIRECTORY: ("{path} is a folder.", "Name a file in it."),
    ErrorCode.WRITE_PARENT_NOT_A_DIRECTORY: ("A parent of {path} is a file.", "Choose another path."),
    ErrorCode.DELETE_FILE_MISSING: ("There is no file {path}.", "Nothing is to be done."),
    ErrorCode.DELETE_FILE_IS_DIRECTORY: ("{path} is a folder.", "Delete its files one by one."),
}
# No program can be started there any more, so none can open it again.
_ROOT_CLOSED = ("The workspace's own folder is closed to the run by its mode.", "Nothing opens it again: end the run.")


def tool_error(refused: FileRefused, table: Mapping[FileFault, ErrorCode], path: str) -> ToolError:
    """The answer for a file operation that the sandbox refused; `path` as the caller wrote it."""
    code = table[refused.fault]
    message, hint = _WORDS[code]
    if code is ErrorCode.PERMISSION_DENIED and path == ".":
        message, hint = _ROOT_CLOSED
    details: dict[str, object] = {"path": path, "fault": str(refused.fault)}
    if refused.size is not None:
        details["size"] = refused.size
    if refused.fault is FileFault.BAD_PATTERN and refused.detail:
        message = f"{message} {refused.detail}."
    rule = f"path.{refused.fault}".replace("_", "-")
    return ToolError(code, message.replace("{path}", shown(path)), rule=rule, hint=hint, details=details)


def no_room(path: str, limits: Limits) -> ToolError:
    """The answer for a file that found no room. Which of the two bounds it was, the kernel does not say."""
    bounds = [f"limits.workspaceMiB ({limits.workspace_mib})", f"limits.workspaceInodes ({limits.workspace_inodes})"]
    return ToolError(
        ErrorCode.RUN_LIMIT_EXCEEDED,
        f"The workspace is full: {bounds[0]} or {bounds[1]}.",
        rule="path.no-space",
        hint="Delete files, or raise the limit in the policy.",
        details={"path": path, "fault": str(FileFault.NO_SPACE), "limits": bounds},
    )
