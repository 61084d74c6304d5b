from __future__ import annotations

import pytest

from runner.model.errors import ErrorCode
from runner.model.tree import TreeChange
from runner.policy.changes import BaseTree, ChangeFacts, Violation, judge_changes, leading
from runner.policy.writes import WriteRules
from tests.support.policies import p0_rules, policy

FILE, EXECUTABLE, LINK, GITLINK = 0o100644, 0o100755, 0o120000, 0o160000
NOT_ALLOWED = ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED
APPEND_ONLY = ErrorCode.WORKSPACE_APPEND_ONLY

BASE = {
    "README.md": "readme",
    "src/app.mjs": "app",
    "src/secret/key.txt": "key",
    "docs/guide.md": "guide",
    "notes/log.md": "log",
}
BLOBS = {"log": b"a\nb\nc\n", "longer": b"a\nb\nc\nd\n", "shorter": b"a\nb\n"}


def judge(*changes: TreeChange, rules: WriteRules | None = None) -> tuple[Violation, ...]:
    return judge_changes(rules or p0_rules(), changes, ChangeFacts(BaseTree.of(BASE), BLOBS.__getitem__))


def added(path: str, mode: int = FILE, blob: str = "new") -> TreeChange:
    return TreeChange(path, None, mode, None, blob)


def changed(path: str, blob: str = "new", old: int = FILE, new: int = FILE) -> TreeChange:
    return TreeChange(path, old, new, BASE[path], blob)


def removed(path: str) -> TreeChange:
    return TreeChange(path, FILE, None, BASE.get(path, "old"), None)


def codes(violations: tuple[Violation, ...]) -> list[ErrorCode]:
    return [violation.code for violation in violations]


def test_changes_inside_the_globs_are_all_allowed() -> None:
    assert not judge(
        added("src/new.mjs"),
        changed("src/app.mjs"),
        changed("src/app.mjs", new=EXECUTABLE),
        added("docs/new.md"),
        changed("notes/log.md", "longer"),
        removed("src/app.mjs"),
    )


def test_b15_c09_and_p15_a_file_that_a_command_made_outside_the_globs_is_refused() -> None:
    assert codes(judge(added("src/ok.mjs"), added(".github/x.yml"))) == [NOT_ALLOWED]


def test_every_refused_path_is_named_with_its_rule() -> None:
    violations = judge(changed("README.md"), added("src/secret/new"), changed("docs/guide.md"))
    assert [(found.path, found.rule) for found in violations] == [
        ("README.md", "write.allow.none"),
        ("src/secret/new", "write.deny.pattern"),
        ("docs/guide.md", "write.rewrite.none"),
    ]


def test_w09_an_add_only_file_that_lost_a_line_is_refused() -> None:
    found = judge(changed("notes/log.md", "shorter"))
    assert [(one.path, one.code, one.rule) for one in found] == [("notes/log.md", APPEND_ONLY, "append.line-lost")]
    assert found[0].message


def test_an_add_only_file_may_not_be_removed_or_renamed() -> None:
    found = judge(removed("notes/log.md"), added("notes/other.md"))
    assert [(one.code, one.rule) for one in found] == [(APPEND_ONLY, "append.delete")]


@pytest.mark.parametrize("mode", [LINK, GITLINK])
def test_an_add_only_file_stays_a_regular_file(mode: int) -> None:
    found = judge(changed("notes/log.md", "longer", new=mode))
    assert [(one.code, one.rule) for one in found] == [(APPEND_ONLY, "append.kind")]


def test_an_add_only_file_without_a_blob_is_no_regular_file() -> None:
    assert [one.rule for one in judge(TreeChange("notes/log.md", FILE, FILE, "log", None))] == ["append.kind"]


def test_an_add_only_file_keeps_its_mode() -> None:
    found = judge(changed("notes/log.md", "log", new=EXECUTABLE))
    assert [(one.code, one.rule) for one in found] == [(APPEND_ONLY, "append.mode")]


def test_an_add_only_file_that_comes_back_keeps_its_lines_in_whatever_mode() -> None:
    assert not judge(TreeChange("notes/log.md", None, EXECUTABLE, None, "longer"))
    assert [one.rule for one in judge(TreeChange("notes/log.md", None, FILE, None, "shorter"))] == ["append.line-lost"]


def test_an_add_only_file_that_an_earlier_commit_of_the_range_grew_is_held_against_the_base() -> None:
    grown = TreeChange("notes/log.md", FILE, FILE, "longer", "log")
    assert not judge(grown)
    assert codes(judge(TreeChange("notes/log.md", FILE, FILE, "longer", "shorter"))) == [APPEND_ONLY]


def test_a_change_of_mode_alone_is_a_change() -> None:
    assert codes(judge(TreeChange("docs/guide.md", FILE, EXECUTABLE, "guide", "guide"))) == [NOT_ALLOWED]


def test_the_removal_of_a_file_that_the_run_made_is_allowed_and_of_the_repositorys_is_not() -> None:
    assert not judge(removed("docs/own.md"))
    assert codes(judge(removed("docs/guide.md"))) == [NOT_ALLOWED]


def test_a_link_is_a_change_at_its_own_path() -> None:
    assert not judge(added("src/link", LINK))
    assert codes(judge(added("README-link", LINK))) == [NOT_ALLOWED]


def test_a_link_in_a_denied_folders_place_is_refused() -> None:
    rules = WriteRules.compile(policy(writeAllow=["**"], writeDeny=[".github/**"]))
    assert codes(judge(added(".github", LINK), rules=rules)) == [NOT_ALLOWED]


def test_a_gitlink_needs_its_whole_folder_to_be_writable() -> None:
    rules = WriteRules.compile(policy(writeAllow=["*.md", "src/**"]))
    found = judge(added("a.md", GITLINK), rules=rules)
    assert [(one.path, one.rule) for one in found] == [("a.md", "write.allow.none")]
    assert not judge(added("src/sub", GITLINK), rules=rules)


def test_a_gitlink_is_a_new_folder_where_only_new_files_may_be_made() -> None:
    rules = WriteRules.compile(policy(writeAllow=["**"], rewriteAllow=[]))
    assert not judge(added("sub", GITLINK), rules=rules)


def test_a_gitlink_may_not_stand_above_what_is_denied() -> None:
    rules = WriteRules.compile(policy(writeAllow=["**"], writeDeny=["sub/inside"]))
    assert [one.rule for one in judge(added("sub", GITLINK), rules=rules)] == ["write.deny.pattern"]


def test_a_new_path_that_differs_only_in_case_may_not_stand_for_a_protected_file() -> None:
    rules = WriteRules.compile(policy(writeAllow=["**"], rewriteAllow=["src/**"]))
    assert codes(judge(added("readme.md"), rules=rules)) == [NOT_ALLOWED]
    assert not judge(added("readme2.md"), rules=rules)
    assert not judge(removed("src/app.mjs"), added("src/App.mjs"), rules=rules)


@pytest.mark.parametrize("path", ["../x", "..", ".", "/x", "x/", "src//x", "src/./x", "src/../x", "", "src/a\0b"])
def test_a_path_that_no_tree_can_have_is_refused(path: str) -> None:
    rules = WriteRules.compile(policy(writeAllow=["**"]))
    assert [found.rule for found in judge(added(path), rules=rules)] == ["change.malformed"]


def test_a_mode_that_git_does_not_write_is_refused() -> None:
    assert [one.rule for one in judge(added("src/x", 0o104755))] == ["change.malformed"]


@pytest.mark.parametrize("path", [".git/config", "src/.GIT/hooks/x", "git~1"])
def test_git_is_refused_in_any_spelling(path: str) -> None:
    rules = WriteRules.compile(policy(writeAllow=["**"]))
    assert codes(judge(added(path), rules=rules)) == [NOT_ALLOWED]


def test_a_name_that_is_not_utf8_is_judged_and_shown_escaped() -> None:
    violations = judge(added("x\udcff"))
    assert codes(violations) == [NOT_ALLOWED]
    violations[0].message.encode("utf-8")


# Other branches of the remote

RELEASE = {"docs/legal.md": "legal", "docs/CHANGELOG.md": "log", "notes/log.md": "longer"}


def judge_beside(*changes: TreeChange) -> tuple[Violation, ...]:
    base = BaseTree.of(BASE).joined([BaseTree.of(RELEASE)])
    return judge_changes(p0_rules(), changes, ChangeFacts(base, BLOBS.__getitem__))


def test_a_file_of_another_remote_branch_is_not_the_runs_own() -> None:
    assert codes(judge_beside(TreeChange("docs/legal.md", FILE, FILE, "legal", "new"))) == [NOT_ALLOWED]
    assert codes(judge_beside(TreeChange("docs/legal.md", FILE, None, "legal", None))) == [NOT_ALLOWED]
    assert not judge_beside(added("docs/new.md"), removed("docs/own.md"), changed("src/app.mjs"))


def test_an_add_only_file_of_another_remote_branch_keeps_its_lines() -> None:
    cut = TreeChange("docs/CHANGELOG.md", FILE, FILE, "log", "shorter")
    assert codes(judge_beside(cut)) == [APPEND_ONLY]
    assert not judge_beside(TreeChange("docs/CHANGELOG.md", FILE, FILE, "log", "longer"))


def test_an_add_only_file_keeps_the_lines_of_the_base_and_of_the_other_branch() -> None:
    assert codes(judge_beside(TreeChange("notes/log.md", FILE, FILE, "longer", "log"))) == [APPEND_ONLY]
    assert not judge_beside(changed("notes/log.md", "longer"))


def test_a_new_path_may_not_stand_for_a_protected_file_of_another_branch() -> None:
    assert [found.rule for found in judge_beside(added("docs/Legal.md"))] == ["change.spelling"]


def test_what_the_push_section_forbids_leads_over_the_write_policy() -> None:
    write = Violation(".github/w.yml", NOT_ALLOWED, "write.deny.pattern", "")
    push = Violation(".github/w.yml", ErrorCode.PUSH_POLICY_VIOLATION, "push.forbid.ci", "")
    assert leading([write, push]) is push
    assert leading([write]) is write


def test_the_removal_of_a_file_of_the_runs_own_stands_for_no_other_file() -> None:
    rules = WriteRules.compile(policy(writeAllow=["**"], rewriteAllow=["src/**"]))
    assert not judge(removed("readme.md"), rules=rules)


def test_a_file_that_was_there_beside_its_other_spelling_is_judged_by_itself() -> None:
    base = BaseTree.of({"docs/a.md": "1", "docs/A.md": "2"})
    rules = WriteRules.compile(policy(writeAllow=["docs/**"], rewriteAllow=["docs/a.md"]))
    facts = ChangeFacts(base, BLOBS.__getitem__)
    assert not judge_changes(rules, [TreeChange("docs/a.md", FILE, FILE, "1", "new")], facts)
    assert judge_changes(rules, [TreeChange("docs/A.md", FILE, FILE, "2", "new")], facts)
