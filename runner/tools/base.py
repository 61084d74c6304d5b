"""What a tool is: its name, its arguments, its effect on the workspace, whether a call may be repeated, its act."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from runner.model.errors import ErrorCode, ToolError
from runner.policy.budget import Ground
from runner.tools.results import Result
from runner.tools.workspace import ToolWorkspace

__all__ = ["Arguments", "Effect", "Retry", "Text", "Tool", "parse_arguments"]

_SHOWN_NAME_CHARS = 64  # an unknown field's name is the caller's own text, and may be as long as the whole call


class Arguments(BaseModel):
    """Arguments of a tool call: strict types, no unknown fields, camelCase as the contract spells them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _utf8(text: str) -> str:
    if text.isascii():  # which is known of a text without a look at it
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"holds a lone surrogate at character {error.start}, which is not UTF-8") from None
    return text


Text = Annotated[str, AfterValidator(_utf8)]
"""Text that is written somewhere or searched for. JSON can spell halves of characters; no file can hold them."""


class Effect(StrEnum):
    """What a call may do to the workspace."""

    READ = "read"
    WRITE = "write"


class Retry(StrEnum):
    """Whether repeating a call is harmless."""

    SAFE = "safe"
    IDEMPOTENT = "idempotent"
    NOT_RETRY_SAFE = "not_retry_safe"


@dataclass(frozen=True, slots=True)
class Tool:
    """One entry of the registry.

    `first_check` raises the contract's own codes (such as `argv_required`) that win over `invalid_arguments`.
    `result` says what a successful call answers, `answer` is its type. `errors` are its own codes, beside those that
    any call may have. `ground` names what a reading call covers, for the exploration budget; None for tools that don't
    explore.
    """

    name: str
    description: str
    arguments: type[Arguments]
    effect: Effect
    retry: Retry
    retry_note: str
    result: str
    errors: tuple[ErrorCode, ...]
    answer: type[Result] | type[str]
    act: Callable[[ToolWorkspace, Any], Any]
    first_check: Callable[[Mapping[str, Any]], None] | None = None
    ground: Callable[[Any], Ground] | None = None


def parse_arguments(tool: Tool, raw: object) -> Arguments:
    """The validated arguments of a call.

    Raises:
        ToolError: `invalid_arguments` naming field and reason, or a code of the tool's own that wins over it.
    """
    if not isinstance(raw, Mapping):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"The arguments of {tool.name} must be a JSON object.",
            details={"problems": [{"field": "", "reason": "not an object"}]},
        )
    if tool.first_check is not None:
        tool.first_check(raw)
    try:
        return tool.arguments.model_validate(dict(raw))
    except ValidationError as error:
        raise _invalid(tool, error) from None


def _invalid(tool: Tool, error: ValidationError) -> ToolError:
    # Field and reason only: values are not echoed, they may be large or hostile.
    problems = [
        {
            "field": ".".join(str(part)[:_SHOWN_NAME_CHARS] for part in problem["loc"]),
            "reason": problem["msg"].removeprefix("Value error, "),
        }
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ][:20]
    # A fault of several fields together has no field's name.
    said = "; ".join(": ".join(filter(None, (problem["field"], problem["reason"]))) for problem in problems)
    known = ", ".join(field.alias or name for name, field in tool.arguments.model_fields.items())
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{tool.name} got arguments that do not fit: {said}.",
        hint=f"Its fields are: {known or 'none'}.",
        details={"problems": problems},
    )
