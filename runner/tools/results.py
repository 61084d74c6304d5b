"""What each tool answers, as types: for Python's callers, and for the schemas that protocols publish.

The pipeline's answers are plain JSON, made by the tools; a test holds them to these models. `read_file` answers text.
Everything in them that came from the workspace is untrusted.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "CommandResult",
    "Committed",
    "Done",
    "Edited",
    "Entry",
    "GitResult",
    "Listing",
    "Match",
    "Matches",
    "Pushed",
    "Result",
]


class Result(BaseModel):
    """An answer with fields. Strict: a field more or less is a fault of ours."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Entry(Result):
    """One name in a folder."""

    name: str
    kind: Literal["file", "dir", "symlink", "other"]
    size: Annotated[int, Field(description="Bytes; of a link, the length of its target.")]


class Listing(Result):
    """A folder's entries by name."""

    entries: list[Entry]
    truncated: Annotated[bool, Field(description="There are more than were listed.")]


class Done(Result):
    """It was done."""

    ok: Literal[True]


class Edited(Result):
    """How often the text was replaced."""

    ok: Literal[True]
    replacements: int


class Match(Result):
    """One line that matched."""

    path: str
    line: Annotated[int, Field(ge=1)]
    text: str


class Matches(Result):
    """Matching lines, by path and line."""

    matches: list[Match]
    truncated: Annotated[bool, Field(description="There may be more.")]


class CommandResult(Result):
    """How a program ended, and what it wrote. A failing program is a result like any other."""

    code: Annotated[int | None, Field(description="Exit code; null when a limit or a cancellation ended it.")]
    stdout: str
    stderr: str
    truncated: Annotated[bool, Field(description="Output beyond the policy's cap was dropped.")]
    timed_out: bool
    timeout_secs: float
    duration_ms: float
    killed_by: Annotated[
        Literal["deadline", "output", "memory", "caller"] | None, Field(description="Who ended it, if not itself.")
    ]
    limits_hit: Annotated[list[str], Field(description="Limits of the policy that it met, each with its bound.")]
    outside_writes: Annotated[list[str], Field(description="Paths that it changed outside the write globs.")]
    reverted: Annotated[list[str], Field(description="Those of them that were put back.")]
    not_reverted: Annotated[list[str], Field(description="Those that could not be.")]


class GitResult(Result):
    """How git ended."""

    cmd: Literal["git"]
    args: list[str]
    stdout: str
    stderr: str
    exit: Annotated[int | None, Field(description="Exit code; null when a limit or a cancellation ended it.")]
    duration_ms: float
    timed_out: bool
    timeout_secs: float


class Committed(Result):
    """The commit that was made."""

    commit: Annotated[str, Field(description="Its full name, in hex.")]
    files: list[str]


class Pushed(Result):
    """Where the branch stands on the remote."""

    branch: str
    commit: str
    pushed: Annotated[bool, Field(description="False when the remote had it already.")]
