from __future__ import annotations

import pytest

from runner.model.errors import ErrorCode
from runner.model.tree import TreeChange
from runner.policy.document import Push
from runner.policy.patterns import check_pattern
from runner.policy.push import CI_PATTERNS, decide_branch, judge_push
from tests.support.policies import policy

FILE, LINK, GITLINK = 0o100644, 0o120000, 0o160000
DEFAULT = Push()


def push(**keys: object) -> Push:
    return Push.model_validate(keys)


def added(path: str, mode: int = FILE) -> TreeChange:
    return TreeChange(path, None, mode, None, "blob")


def rules(section: Push, *changes: TreeChange) -> list[str]:
    violations = judge_push(section, changes)
    assert {violation.code for violation in violations} <= {ErrorCode.PUSH_POLICY_VIOLATION}
    return [violation.rule for violation in violations]


def test_an_ordinary_push_leaves() -> None:
    assert rules(DEFAULT, added("src/a.ts"), added(".githubx/a")) == []
    assert decide_branch(policy(), "agent/x1", "main").rule == "push.branch.allow"


@pytest.mark.parametrize(
    "path",
    [".github/workflows/x.yml", ".GitHub/x", ".github", ".gitlab-ci.yml", ".circleci/config.yml", "a/Jenkinsfile"],
)
def test_p15_a_file_that_a_ci_service_acts_on_does_not_leave(path: str) -> None:
    assert rules(DEFAULT, added(path)) == ["push.forbid.ci"]
    assert rules(push(forbid=[]), added(path)) == []


def test_the_removal_of_a_ci_file_does_not_leave() -> None:
    assert rules(DEFAULT, TreeChange(".github/w.yml", FILE, None, "blob", None)) == ["push.forbid.ci"]


def test_links_of_both_kinds_do_not_leave_and_their_removal_does() -> None:
    assert rules(DEFAULT, added("a", LINK), added("b", GITLINK)) == ["push.forbid.symlink", "push.forbid.gitlink"]
    assert rules(DEFAULT, TreeChange("a", LINK, None, "blob", None)) == []
    assert rules(push(forbid=["ci"]), added("a", LINK)) == []


def test_a_violation_names_the_path() -> None:
    (found,) = judge_push(DEFAULT, [added("a", LINK)])
    assert found.path == "a"
    assert "`a`" in found.message


@pytest.mark.parametrize("branch", ["main", "Main", "MAIN"])
def test_p01_the_default_branch_is_refused_in_any_case(branch: str) -> None:
    decision = decide_branch(policy(), branch, "main")
    assert (decision.code, decision.rule) == (ErrorCode.DEFAULT_BRANCH_REFUSED, "push.branch.default")


@pytest.mark.parametrize(
    "branch",
    [
        *("--mirror", "-f", "", "a b", "a:b", "+a^", "a..b", "a.lock", "a.lock/b", "a/.b", ".a", "a/", "/a", "a//b"),
        *("heads/main", "tags/v1", "remotes/origin/main", "refs/heads/main", "refs", "heads"),
        *("@", "a@{1}", "a\n", "a\x7f", "a\\b", "a*", "a?", "a[", "a~1", "a.", "x" * 245, "a\udcff"),
    ],
)
def test_p07_a_name_that_git_would_read_as_something_else_is_not_pushed(branch: str) -> None:
    decision = decide_branch(policy(), branch, "main")
    assert (decision.code, decision.rule) == (ErrorCode.GIT_PUSH_FAILED, "push.branch.malformed")


def test_the_longest_name_that_fits_into_a_ref_is_pushed() -> None:
    assert decide_branch(policy(), "x" * 244, "main").allowed
    assert not decide_branch(policy(), "é" * 123, "main").allowed  # bytes are counted, not characters


@pytest.mark.parametrize("branch", ["heads2/x", "x/heads", "tag/v1"])
def test_a_name_that_only_resembles_a_namespace_is_pushed(branch: str) -> None:
    assert decide_branch(policy(), branch, "main").allowed


@pytest.mark.parametrize("branch", ["main", "Master", "TRUNK"])
def test_where_the_default_branch_is_not_known_the_usual_names_are_refused(branch: str) -> None:
    decision = decide_branch(policy(), branch, None)
    assert (decision.code, decision.rule) == (ErrorCode.DEFAULT_BRANCH_REFUSED, "push.branch.default-unknown")
    assert decide_branch(policy(), branch, "other").allowed


@pytest.mark.parametrize("branch", ["mainline", "agent/main", "develop"])
def test_where_the_default_branch_is_not_known_other_names_are_pushed(branch: str) -> None:
    assert decide_branch(policy(), branch, None).allowed


def test_only_the_named_branches_leave() -> None:
    section = policy(push={"branches": ["agent/*"]})
    assert decide_branch(section, "agent/x1", "main").allowed
    refused = decide_branch(section, "other/x1", "main")
    assert (refused.code, refused.rule) == (ErrorCode.PUSH_POLICY_VIOLATION, "push.branch.none")
    assert decide_branch(policy(push={"branches": []}), "agent/x1", "main").code is ErrorCode.PUSH_POLICY_VIOLATION


def test_a_hint_names_the_first_branches_that_may_be_pushed_and_stays_short() -> None:
    hint = decide_branch(policy(push={"branches": [f"b{number}/*" for number in range(9)]}), "x", "main").hint
    assert ", ".join(f"`b{number}/*`" for number in range(8)) in hint
    assert "b8" not in hint
    assert "none" in decide_branch(policy(push={"branches": []}), "x", "main").hint


@pytest.mark.parametrize("pattern", CI_PATTERNS)
def test_every_ci_pattern_can_take_effect(pattern: str) -> None:
    check_pattern(pattern)
