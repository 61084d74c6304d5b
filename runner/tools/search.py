"""`workspace.search`: lines that match, across the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from runner.model.errors import ErrorCode, ToolError
from runner.policy.budget import Ground
from runner.tools.base import Arguments, Effect, Retry, Text, Tool
from runner.tools.results import Matches
from runner.tools.workspace import SearchQuery, ToolWorkspace

__all__ = ["DEFAULT_RESULTS", "MAX_RESULTS", "TOOL"]

DEFAULT_RESULTS, MAX_RESULTS = 100, 500
"""From the tool contract: the default and the ceiling of `maxResults`; more is answered with the ceiling."""

_MAX_TEXT_BYTES = 64 * 1024
"""Of pattern and globs together; a program can be given twice as much in one argument."""

_MAX_GLOBS = 256
"""Each path of the tree is compared with all of them."""


def _globs(globs: list[str] | None) -> list[str] | None:
    if globs is not None and len(globs) > _MAX_GLOBS:
        raise ValueError(f"has more than {_MAX_GLOBS} entries")
    if globs is not None and any("\0" in glob for glob in globs):
        raise ValueError("has an entry with a NUL, which no path has")
    return globs


class SearchArguments(Arguments):
    """What to look for, and where."""

    pattern: Annotated[Text, Field(description="Text to find, taken literally unless regex is set.")]
    globs: Annotated[
        list[Text] | None,
        AfterValidator(_globs),
        Field(default=None, description="Only files that match one of these; !glob excludes."),
    ]
    ignoreCase: Annotated[bool, Field(default=False, description="Upper and lower case are the same.")]
    regex: Annotated[bool, Field(default=False, description="The pattern is a POSIX extended regular expression.")]
    maxResults: Annotated[
        int, Field(default=DEFAULT_RESULTS, ge=1, description=f"At most this many matches; {MAX_RESULTS} is the most.")
    ]

    @model_validator(mode="after")
    def _can_be_handed_on(self) -> Self:
        if sum(len(text.encode("utf-8")) for text in (self.pattern, *(self.globs or ()))) > _MAX_TEXT_BYTES:
            raise ValueError(f"pattern and globs are larger than {_MAX_TEXT_BYTES} bytes; search for a shorter piece")
        return self


def _first_check(raw: Mapping[str, Any]) -> None:
    pattern = raw.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise ToolError(
            ErrorCode.SEARCH_PATTERN_REQUIRED,
            "pattern is missing or empty.",
            hint="Give the text to look for; use workspace.list_dir to look around.",
        )


def _act(workspace: ToolWorkspace, arguments: SearchArguments) -> dict[str, Any]:
    query = SearchQuery(
        pattern=arguments.pattern,
        globs=tuple(arguments.globs or ()),
        ignore_case=arguments.ignoreCase,
        regex=arguments.regex,
        max_results=min(arguments.maxResults, MAX_RESULTS),
    )
    found, truncated = workspace.search(query)
    return {
        "matches": [{"path": one.path, "line": one.line, "text": one.text} for one in found],
        "truncated": truncated,
    }


TOOL = Tool(
    name="workspace.search",
    description=(
        "Find lines in the workspace's files. Links are not followed, `.git` and binary files are left out, ignored "
        "files are searched. Answers at most maxResults matches and says whether there are more."
    ),
    arguments=SearchArguments,
    effect=Effect.READ,
    retry=Retry.SAFE,
    retry_note="safe",
    result='`{"matches": [{"path", "line", "text"}], "truncated"}`',
    errors=(
        ErrorCode.SEARCH_PATTERN_REQUIRED,
        ErrorCode.EXPLORATION_BUDGET_EXCEEDED,
        ErrorCode.SEARCH_PATTERN_INVALID,
        ErrorCode.SEARCH_TIMED_OUT,
    ),
    answer=Matches,
    act=_act,
    first_check=_first_check,
    ground=lambda a: Ground.of_search(a.model_dump()),
)
