"""What may leave: the branch, and the kinds of entries that the policy forbids.

The write policy over the same commits is `changes`' to say; how many commits and how many bytes may leave is counted by
the gate while it takes them in, before anything is judged. Branch names come from the untrusted side; the default
branch is the host's own record from the start of the run. Where the host has no such record, the names that
default branches usually have are refused instead: not to know which branch is protected must not mean that none is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import TreeChange
from runner.policy.changes import GITLINK, SYMLINK, Violation
from runner.policy.document import Policy, Push
from runner.policy.globs import GlobSet, folded
from runner.policy.paths import shown

__all__ = ["CI_PATTERNS", "USUAL_DEFAULT_BRANCHES", "decide_branch", "is_default_branch", "judge_push"]

CI_PATTERNS = (
    ".github/**",
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".gitlab/**",
    ".circleci/**",
    ".forgejo/**",
    ".gitea/**",
    ".woodpecker/**",
    ".woodpecker.y*ml",
    ".drone.y*ml",
    ".travis.y*ml",
    ".cirrus.y*ml",
    ".appveyor.y*ml",
    "appveyor.y*ml",
    ".buildkite/**",
    ".teamcity/**",
    ".semaphore/**",
    ".azure-pipelines/**",
    "azure-pipelines*.y*ml",
    "bitbucket-pipelines.yml",
    "buildspec.y*ml",
    "cloudbuild.y*ml",
    "Jenkinsfile*",
)
"""Files that a CI service of a code host acts on by itself, with credentials that the run must not reach."""

USUAL_DEFAULT_BRANCHES = frozenset({"main", "master", "trunk"})
"""What code hosts and version control systems call the first branch of a repository."""

_CI = GlobSet.denying(CI_PATTERNS)

_REFUSED_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|\.$|/$|^/|^\.|^-|^@$|^$")
"""What git's check-ref-format refuses, and a leading hyphen, which would be read as an option."""

_MAX_BRANCH_BYTES = 244
"""A ref's last file name is bounded by NAME_MAX (255); `refs/heads/` takes eleven."""

_NAMESPACES = frozenset({"heads", "tags", "remotes", "refs"})
"""First parts of a name with which git would also find it as another ref: `heads/main` is `main` too."""


def is_default_branch(branch: str, default_branch: str | None) -> bool:
    """Whether `branch` is the default one, in any case; where that is not known, whether it usually is."""
    known = USUAL_DEFAULT_BRANCHES if default_branch is None else {default_branch}
    return folded(branch) in {folded(name) for name in known}


def decide_branch(policy: Policy, branch: str, default_branch: str | None) -> Decision:
    """Whether the current branch may be pushed. None is a default branch that is not known."""
    if _malformed(branch):
        return Decision.deny(
            ErrorCode.GIT_PUSH_FAILED,
            "push.branch.malformed",
            f"{shown(branch)} is not a branch name that can be pushed.",
            "Check out a branch with an ordinary name and push that.",
        )
    if is_default_branch(branch, default_branch):
        return _default_branch(branch, known=default_branch is not None)
    found = _in_patterns(policy.push, branch)
    for number, reading in policy.narrower:
        if found.allowed:
            found = _in_patterns(reading.push, branch).by(number)
    return found


def _in_patterns(push: Push, branch: str) -> Decision:
    if GlobSet.granting(push.branches).match(branch) is not None:
        return Decision.allow("push.branch.allow")
    allowed = ", ".join(shown(pattern) for pattern in push.branches[:8]) or "none"
    return Decision.deny(
        ErrorCode.PUSH_POLICY_VIOLATION,
        "push.branch.none",
        f"{shown(branch)} is matched by no pattern of push.branches.",
        f"Branches that may be pushed: {allowed}.",
    )


def judge_push(push: Push, changes: Sequence[TreeChange]) -> tuple[Violation, ...]:
    """Everything that `push.forbid` refuses in the changes of a commit, in its order."""
    violations: list[Violation] = []
    for kind in push.forbid:
        says, message = _FORBIDDEN[kind]
        violations += [_violation(change.path, f"push.forbid.{kind}", message) for change in changes if says(change)]
    return tuple(violations)


def _is_ci(change: TreeChange) -> bool:
    return _CI.match(change.path) is not None


_FORBIDDEN: dict[str, tuple[Callable[[TreeChange], bool], str]] = {
    "symlink": (lambda change: change.new_mode == SYMLINK, "a symbolic link may not leave"),
    "gitlink": (lambda change: change.new_mode == GITLINK, "a submodule link may not leave"),
    "ci": (_is_ci, "a CI service would act on this file"),
}


def _default_branch(branch: str, *, known: bool) -> Decision:
    hint = "Make a branch with `git switch -c NAME` and push that."
    if known:
        message = f"{shown(branch)} is the remote's default branch."
        return Decision.deny(ErrorCode.DEFAULT_BRANCH_REFUSED, "push.branch.default", message, hint)
    return Decision.deny(
        ErrorCode.DEFAULT_BRANCH_REFUSED,
        "push.branch.default-unknown",
        f"The remote does not say which branch is its default, and {shown(branch)} usually is.",
        f"{hint} Or let the remote's HEAD name its default branch.",
    )


def _malformed(branch: str) -> bool:
    try:
        length = len(branch.encode("utf-8"))
    except UnicodeEncodeError:
        return True
    if branch.split("/", 1)[0] in _NAMESPACES:
        return True
    return length > _MAX_BRANCH_BYTES or _REFUSED_IN_REFS.search(branch) is not None


def _violation(path: str, rule: str, message: str) -> Violation:
    return Violation(path, ErrorCode.PUSH_POLICY_VIOLATION, rule, f"{shown(path)}: {message}.")
