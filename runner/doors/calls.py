"""The calls file of `runner run`: JSON Lines in, one parsed call or one `invalid_arguments` for each line.

Lines are read one at a time, so a caller can write the next call after it has read the answer to the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from runner.model.errors import ErrorCode, ToolError
from runner.policy.strict_json import read_call

__all__ = ["MAX_LINE_BYTES", "Call", "bounded_lines", "parse_calls"]

MAX_LINE_BYTES = 128 * 1024 * 1024
"""One call: the largest file that the file tools write, escaped, fits. A longer line is refused unparsed."""


@dataclass(frozen=True, slots=True)
class Call:
    """One line: either a tool and its arguments, or the error that the line deserves."""

    id: Any
    tool: str
    arguments: Any
    error: ToolError | None = None


def bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of `stream`; of a line that is too long only the first bytes, one more than the bound."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        rest = line
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES + 1)
        yield line


def parse_calls(lines: Iterable[bytes]) -> Iterator[Call]:
    """The calls in order; blank lines are skipped, a broken line becomes a call that carries its error."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _parse(line, number)


def _parse(line: bytes, number: int) -> Call:
    if len(line) > MAX_LINE_BYTES:
        return _broken(None, "", number, f"it is longer than {MAX_LINE_BYTES} bytes")
    try:
        value = read_call(line)
    except ValueError as error:
        return _broken(None, "", number, str(error))
    if not isinstance(value, dict):
        return _broken(None, "", number, "it is not a JSON object")
    identity, tool = value.get("id"), value.get("tool")
    if not isinstance(tool, str):
        return _broken(identity, "", number, "`tool` is missing or no string")
    unknown = sorted(set(value) - {"id", "tool", "arguments"})
    if unknown:
        return _broken(identity, tool, number, f"unknown key {unknown[0][:40]!r}")
    return Call(identity, tool, value.get("arguments", {}))


def _broken(identity: Any, tool: str, number: int, why: str) -> Call:
    error = ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"Line {number} of the calls is not a call: {why}.",
        hint='A call is one line like {"tool": "workspace.read_file", "arguments": {"path": "README.md"}}.',
        details={"line": number},
    )
    return Call(identity, tool, {}, error)
