"""`workspace.git_push`: the current branch goes to the bound remote, through the gate."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from runner.model.errors import ErrorCode
from runner.tools.base import Arguments, Effect, Retry, Tool
from runner.tools.results import Pushed
from runner.tools.workspace import ToolWorkspace

__all__ = ["TOOL"]


class GitPushArguments(Arguments):
    """None are needed; the contract accepts any object."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


def _act(workspace: ToolWorkspace, arguments: GitPushArguments) -> dict[str, Any]:
    outcome = workspace.push()
    return {"branch": outcome.branch, "commit": outcome.commit, "pushed": outcome.pushed}


TOOL = Tool(
    name="workspace.git_push",
    description=(
        "Push the current branch to the remote that the run was started with. The repository's pre-push hook runs. "
        "The remote's default branch is refused, history is never rewritten, and every outgoing commit is judged by "
        "the policy."
    ),
    arguments=GitPushArguments,
    effect=Effect.WRITE,
    retry=Retry.IDEMPOTENT,
    retry_note="idempotent (nothing new: nothing changes, pushed=false)",
    result='`{"branch", "commit", "pushed"}`',
    errors=(
        ErrorCode.DEFAULT_BRANCH_REFUSED,
        ErrorCode.PUSH_CREDENTIAL_MISSING,
        ErrorCode.PUSH_POLICY_VIOLATION,
        ErrorCode.WORKSPACE_APPEND_ONLY,
        ErrorCode.GIT_PUSH_FAILED,
    ),
    answer=Pushed,
    act=_act,
)
