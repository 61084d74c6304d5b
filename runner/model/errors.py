"""Errors, split by whom they blame.

A `ToolError` is an answer: the caller asked for something that the contract or the policy refuses, and can act on
the message. A `RunnerError` ends the run, or keeps it from starting, and carries the exit code of the CLI. What a
program in the workspace does is neither: it is a result.

Codes are fixed and clients depend on them; texts may change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

__all__ = [
    "EngineUnavailable",
    "ErrorCode",
    "ExitCode",
    "HostFull",
    "PolicyInvalid",
    "PostureFailed",
    "QueueLeft",
    "RepositoryUnavailable",
    "RunLimitReached",
    "RunnerError",
    "SandboxLost",
    "ToolError",
    "UsageError",
]


class ErrorCode(StrEnum):
    """Every code that a tool call may answer with, in the order of the tool contract."""

    EXPLORATION_BUDGET_EXCEEDED = "exploration_budget_exceeded"
    WORKSPACE_WRITE_NOT_ALLOWED = "workspace_write_not_allowed"
    WORKSPACE_APPEND_ONLY = "workspace_append_only"
    DELETE_FILE_MISSING = "delete_file_missing"
    DELETE_FILE_IS_DIRECTORY = "delete_file_is_directory"
    EDIT_OLD_STRING_REQUIRED = "edit_old_string_required"
    EDIT_NO_MATCH = "edit_no_match"
    EDIT_NOT_UNIQUE = "edit_not_unique"
    EDIT_FILE_MISSING = "edit_file_missing"
    SEARCH_PATTERN_REQUIRED = "search_pattern_required"
    ARGV_REQUIRED = "argv_required"
    BIN_NOT_ALLOWLISTED = "bin_not_allowlisted"
    GIT_PUSH_VIA_RUN_COMMAND = "git_push_via_run_command"
    GIT_HOOKS_SKIP_REFUSED = "git_hooks_skip_refused"
    DIRECT_TYPECHECK_REFUSED = "direct_typecheck_refused"
    SCRATCH_EXECUTION_REFUSED = "scratch_execution_refused"
    WORKSPACE_COMMIT_NOT_ALLOWED = "workspace_commit_not_allowed"
    GIT_COMMIT_FAILED = "git_commit_failed"
    DEFAULT_BRANCH_REFUSED = "default_branch_refused"
    GIT_PUSH_FAILED = "git_push_failed"
    # Ours, in the same form.
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    TOOL_NOT_DECLARED = "tool_not_declared"
    PATH_OUTSIDE_WORKSPACE = "path_outside_workspace"
    PATH_INVALID = "path_invalid"
    READ_FILE_MISSING = "read_file_missing"
    READ_FILE_IS_DIRECTORY = "read_file_is_directory"
    FILE_NOT_TEXT = "file_not_text"
    FILE_TOO_LARGE = "file_too_large"
    FILE_CHANGED = "file_changed"
    NOT_A_REGULAR_FILE = "not_a_regular_file"
    LINK_LOOP = "link_loop"
    PERMISSION_DENIED = "permission_denied"
    LIST_DIR_MISSING = "list_dir_missing"
    LIST_DIR_NOT_A_DIRECTORY = "list_dir_not_a_directory"
    WRITE_IS_DIRECTORY = "write_is_directory"
    WRITE_PARENT_NOT_A_DIRECTORY = "write_parent_not_a_directory"
    SEARCH_PATTERN_INVALID = "search_pattern_invalid"
    SEARCH_TIMED_OUT = "search_timed_out"
    PUSH_CREDENTIAL_MISSING = "push_credential_missing"
    PUSH_POLICY_VIOLATION = "push_policy_violation"
    RUN_ENDED = "run_ended"
    RUN_LIMIT_EXCEEDED = "run_limit_exceeded"
    ENGINE_UNAVAILABLE = "engine_unavailable"


class ToolError(Exception):
    """A refused or failed tool call: an answer that the caller can act on. It leaves the workspace as it was."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        rule: str | None = None,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.rule = rule
        self.hint = hint
        self.details: Mapping[str, Any] = MappingProxyType(dict(details or {}))

    def as_json(self) -> dict[str, Any]:
        """The error in the contract's form: code, message and details, with rule and hint in the details.

        The hint is in both on purpose. The contract's message says what to do instead, for a reader that sees nothing
        else; a door that shows the hint apart takes it from the details, and the text before it from `message`.
        """
        details = dict(self.details)
        if self.rule is not None:
            details["rule"] = self.rule
        if self.hint is not None:
            details["hint"] = self.hint
        message = self.message if self.hint is None else f"{self.message} {self.hint}"
        return {"code": str(self.code), "message": message, "details": details}


class ExitCode(IntEnum):
    """Exit codes of the CLI. They are part of its contract."""

    COMPLETED = 0
    BUG = 1
    USAGE = 2
    ENGINE = 3
    REPOSITORY = 4
    LIMIT = 5
    POSTURE = 6
    BROKEN = 7  # of `runner audit`: a record that is not as it was sealed
    UNSEALED = 8  # of `runner audit`: a log without a receipt, whole as far as it goes
    INTERRUPTED = 130


class RunnerError(Exception):
    """Something that keeps a run from starting or ends it. One line says what is wrong, `hint` names the mend."""

    exit_code: ExitCode = ExitCode.BUG
    code: str = "internal_error"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


class UsageError(RunnerError):
    """The caller's fault: an option, a spec or a calls file that cannot be used. Nothing was started."""

    exit_code = ExitCode.USAGE
    code = "usage"


class PolicyInvalid(RunnerError):
    """The operator's policy cannot take effect as written. Nothing was started. `faults` are all that its file has."""

    exit_code = ExitCode.USAGE
    code = "policy_invalid"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None, faults: Sequence[str] = ()) -> None:
        super().__init__(message, hint=hint, code=code)
        self.faults = tuple(faults)


class EngineUnavailable(RunnerError):
    """The engine does not answer, or the image is not there."""

    exit_code = ExitCode.ENGINE
    code = "engine_unavailable"


class HostFull(RunnerError):
    """As many runs go on as this host may have, and none ended in time. Nothing was started."""

    exit_code = ExitCode.ENGINE
    code = "host_full"


class QueueLeft(RunnerError):
    """Whoever asked for the run gave it up while it waited for a place. Nothing was started."""

    exit_code = ExitCode.INTERRUPTED
    code = "interrupted"


class RepositoryUnavailable(RunnerError):
    """The repository could not be fetched or set up."""

    exit_code = ExitCode.REPOSITORY
    code = "repository_unavailable"


class RunLimitReached(RunnerError):
    """The run used up one of its limits and was ended."""

    exit_code = ExitCode.LIMIT
    code = "run_limit_exceeded"


class PostureFailed(RunnerError):
    """A control that the policy asks for was not found active inside the workspace."""

    exit_code = ExitCode.POSTURE
    code = "posture_failed"


class SandboxLost(RunnerError):
    """The workspace container is gone, or its helper no longer speaks the protocol. The run cannot go on."""

    exit_code = ExitCode.LIMIT
    code = "run_ended"
