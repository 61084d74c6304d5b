"""A call as a calls file has it, and what it asks of the policy: translation by the tools' own schemas, no rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.doors.calls import Call
from runner.model.errors import ErrorCode, ToolError
from runner.policy.answers import Unrecorded
from runner.policy.argv import split_git_args
from runner.policy.budget import Ground
from runner.policy.document import Policy
from runner.policy.explain import Asked, PushFacts, explain, refusal
from runner.policy.facts_file import DescribedTree
from runner.policy.redaction import is_digest
from runner.policy.steps import Explanation
from runner.policy.writes import WriteOp
from runner.tools.base import parse_arguments
from runner.tools.registry import TOOLS

__all__ = ["asked_of", "explain_call", "ground_of"]

_OPS = {
    "workspace.write_file": WriteOp.WRITE,
    "workspace.edit": WriteOp.EDIT,
    "workspace.delete_file": WriteOp.DELETE,
}


def explain_call(policy: Policy, call: Call, tree: DescribedTree, push: PushFacts) -> Explanation:
    """What the policy would say to the call, whatever the call is like."""
    try:
        if call.error is not None:
            raise call.error
        asked = asked_of(call.tool, call.arguments)
    except ToolError as error:
        return refusal(error)
    return explain(policy, asked, tree, push)


def asked_of(name: str, arguments: object) -> Asked:
    """What the call asks of the policy.

    Raises:
        ToolError: as the tool itself would, for arguments that do not fit it, and for a tool that there is not.
    """
    tool = TOOLS.get(name)
    if tool is None:
        hint = f"The tools are: {', '.join(TOOLS)}."
        raise ToolError(ErrorCode.UNKNOWN_TOOL, f"There is no tool {name[:100]!r}.", hint=hint)
    parsed = parse_arguments(tool, arguments)
    said = parsed.model_dump()
    if name == "workspace.run_command":
        return Asked(name, argv=tuple(said["argv"]))
    if name == "git":
        return Asked(name, argv=("git", *split_git_args(said["args"])))
    ground = None if tool.ground is None else tool.ground(parsed)
    return Asked(name, path=said.get("path"), op=_OPS.get(name), ground=ground, after=lambda text: _after(said, text))


def ground_of(name: str, arguments: Mapping[str, Any] | None) -> Ground | None:
    """The ground that a recorded call covers; None for a call that explores nothing.

    Raises:
        Unrecorded: for a call that explores, whose recorded arguments are not the whole ones.
    """
    tool = TOOLS.get(name)
    if tool is None or tool.ground is None:
        return None
    if arguments is None or is_digest(arguments) or any(is_digest(value) for value in arguments.values()):
        raise Unrecorded("the whole arguments of the call")
    try:
        return tool.ground(parse_arguments(tool, dict(arguments)))
    except ToolError:
        return None  # refused by the tool's schema, under any policy


def _after(said: Mapping[str, Any], text: str) -> str | None:
    """The text that a write or an edit leaves, None where the call would fail on the text as it is."""
    if "content" in said:
        return str(said["content"])
    old, new = said.get("oldString"), said.get("newString")
    if not isinstance(old, str) or not isinstance(new, str) or old not in text:
        return None
    return text.replace(old, new) if said.get("replaceAll") else text.replace(old, new, 1)
