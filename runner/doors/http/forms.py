"""The forms of requests and answers of `/v1`, from which docs/openapi.json is made."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runner.controller.spec import MAX_DEPTH
from runner.doors.asking import DEFAULT_POLICY
from runner.model.errors import UsageError
from runner.serving.service import Wanted
from runner.store.runs import RunRow

__all__ = ["AnswerForm", "CancelForm", "HealthForm", "ListForm", "RunForm", "RunRequestForm", "run_form"]


MAX_NARROW_CHARACTERS = 4 * 1024
"""Of all that narrows one run's policy. It is the one policy text that callers bring: each write of the run is matched
against its patterns here, where other tenants' runs are judged too."""

_Narrowing = dict[str, Any] | str


class RunRequestForm(BaseModel):
    """A run to open."""

    model_config = ConfigDict(extra="forbid", strict=True)

    repo: Annotated[
        str | None,
        Field(default=None, max_length=2000, description="Address, as `--repo`; or the policy names it."),
    ]
    ref: Annotated[str | None, Field(default=None, max_length=500, description="Branch, tag or commit.")]
    depth: Annotated[int | None, Field(default=None, ge=1, le=MAX_DEPTH, description="Commits of each branch.")]
    policy: Annotated[
        str, Field(default=DEFAULT_POLICY, max_length=500, description="A preset, or a policy file of the server's.")
    ]
    narrow: Annotated[
        _Narrowing | list[_Narrowing] | None,
        Field(default=None, description="What takes away from the policy: keys of one, the text of one, or several."),
    ]
    tools: Annotated[
        list[Annotated[str, Field(max_length=100)]] | None,
        Field(default=None, max_length=50, description="The tools that the task declares; all if left out."),
    ]

    def wanted(self) -> Wanted:
        """The same for the service. Raises UsageError for what is too long to narrow a policy."""
        tools = None if self.tools is None else tuple(self.tools)
        return Wanted(self.repo, self.ref, self.depth, self.policy, tools, _texts(self.narrow))


class RunForm(BaseModel):
    """A run as it stands."""

    id: str
    state: Literal["opening", "open", "completed", "interrupted", "lost", "failed"]
    request: dict[str, Any]
    created_unix: float
    opened_unix: float | None
    ended_unix: float | None
    exit_code: Annotated[int | None, Field(description="As the command line would have ended; null while it is live.")]
    code: Annotated[str | None, Field(description="Why it ended early.")]
    because: Annotated[str, Field(description="The same in words.")]
    progress: Annotated[list[str], Field(description="The last steps of its opening, while it is live.")]


class ListForm(BaseModel):
    """Runs of the tenant, newest first."""

    runs: list[RunForm]


class AnswerForm(BaseModel):
    """The answer of a call, as every door gives it. A refusal is an answer, not an HTTP error."""

    seq: Annotated[int | None, Field(description="Number of the call in its run; null when the run had ended.")]
    tool: str
    ok: bool
    result: Annotated[Any, Field(default=None, description="What the tool answers; there when ok.")]
    error: Annotated[
        dict[str, Any] | None, Field(default=None, description="code, message, details; there when not ok.")
    ]
    duration_ms: float


class CancelForm(BaseModel):
    """Whether a call was in flight and has been ended."""

    cancelled: bool


class HealthForm(BaseModel):
    """Whether the server is well."""

    status: Literal["ok"]


def _texts(said: _Narrowing | list[_Narrowing] | None) -> tuple[str, ...]:
    """The text of each file that narrows the policy, from itself or from its keys."""
    files = said if isinstance(said, list) else [] if said is None else [said]
    try:
        texts = tuple(file if isinstance(file, str) else json.dumps(file, sort_keys=True) for file in files)
    except RecursionError:
        raise UsageError("`narrow` is nested too deeply", hint="It has the form of a policy.") from None
    if sum(map(len, texts)) > MAX_NARROW_CHARACTERS:
        raise UsageError(f"`narrow` has more than {MAX_NARROW_CHARACTERS} characters", hint="Use fewer patterns.")
    return texts


def run_form(row: RunRow, progress: list[str]) -> RunForm:
    """The form of a run."""
    return RunForm(
        id=row.id,
        state=row.state.value,
        request=dict(row.request),
        created_unix=row.created_unix,
        opened_unix=row.opened_unix,
        ended_unix=row.ended_unix,
        exit_code=row.exit_code,
        code=row.code,
        because=row.because,
        progress=progress,
    )
