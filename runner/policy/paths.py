"""What a caller's path means, as text alone.

A path is checked and cleaned here; where it really leads is the sandbox's to say, since only it can follow links
without a race. So `..` stays in the text: `a/../b` is `b` only when `a` is no link. Nothing here decides a permission.
Back-slashes are ordinary characters.
"""

from __future__ import annotations

import unicodedata

from runner.model.errors import ErrorCode, ToolError
from runner.model.hidden import is_hidden

__all__ = ["MAX_PART_BYTES", "MAX_PATH_BYTES", "lexical_escape", "parse_path", "parse_write_path", "shown"]

MAX_PATH_BYTES = 4096
"""Linux's PATH_MAX."""

MAX_PART_BYTES = 255
"""Linux's NAME_MAX."""

_SHOWN_CHARACTERS = 200


def parse_path(raw: str) -> str:
    """The root-relative POSIX path, without empty and `.` parts and trailing slash; `.` for the root itself.

    Raises:
        ToolError: `path_invalid` for an empty path, a control character, text that is not UTF-8, or too long a name;
            `path_outside_workspace` for an absolute path or one that climbs above the root.
    """
    fault = _fault(raw)
    if fault is not None:
        raise ToolError(
            ErrorCode.PATH_INVALID,
            f"The path {fault}.",
            rule="path.form",
            hint="Give a relative UTF-8 path such as src/app.ts.",
        )
    cleaned = _cleaned(raw)
    if lexical_escape(raw):
        raise ToolError(
            ErrorCode.PATH_OUTSIDE_WORKSPACE,
            f"{shown(raw)} is outside the workspace.",
            rule="path.outside",
            hint="Paths are relative to the workspace root.",
        )
    return cleaned


def parse_write_path(raw: str) -> str:
    """As `parse_path`, for a path that is to be written.

    Raises:
        ToolError: `workspace_write_not_allowed`, whatever is wrong: no place that such a path names may be written.
    """
    try:
        return parse_path(raw)
    except ToolError as error:
        raise ToolError(
            ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED, error.message, rule=error.rule, hint=error.hint
        ) from error


def lexical_escape(path: str) -> bool:
    """Whether the text alone leads out: absolute, or more `..` than folders at some point."""
    if path.startswith("/"):
        return True
    depth = 0
    for part in path.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False


def shown(path: str) -> str:
    """The path for a message: quoted, bounded, and with everything escaped that a terminal could act on."""
    text = path if len(path) <= _SHOWN_CHARACTERS else path[: _SHOWN_CHARACTERS - 1] + "…"
    escaped = "".join(_shown_character(character) for character in text)
    return f"`{escaped}`"


def _shown_character(character: str) -> str:
    if character == "`":  # it closes the quotes around the path
        return "\\x60"
    if character.isprintable() and not is_hidden(character) and character != "\\":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _fault(raw: str) -> str | None:
    if not raw:
        return "is empty"
    if len(raw) > MAX_PATH_BYTES:  # before any work on it: the text is the caller's
        return f"is longer than {MAX_PATH_BYTES} bytes"
    if not raw.isprintable() and any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in raw):
        return "has a NUL, line break or other control character"
    try:
        encoded = raw.encode("utf-8")
    except UnicodeEncodeError:
        return "is not UTF-8"
    if len(encoded) > MAX_PATH_BYTES:
        return f"is longer than {MAX_PATH_BYTES} bytes"
    if any(len(part) > MAX_PART_BYTES for part in encoded.split(b"/")):
        return f"has a name of more than {MAX_PART_BYTES} bytes"
    return None


def _cleaned(raw: str) -> str:
    return "/".join(part for part in raw.split("/") if part not in ("", ".")) or "."
