from __future__ import annotations

import dataclasses

import pytest

from runner.model.decision import Decision
from runner.model.errors import ErrorCode, ToolError
from runner.policy.append_only import decide_append
from runner.policy.globs import GlobSet
from runner.policy.paths import parse_write_path
from runner.policy.writes import (
    PathFacts,
    WriteIntent,
    WriteOp,
    WriteRules,
    decide_write,
    executable_scratch,
    must_append,
    within_write_globs,
)
from tests.support.policies import P0, p0_rules, policy

NOT_ALLOWED = ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED
APPEND_ONLY = ErrorCode.WORKSPACE_APPEND_ONLY


def decide(
    path: str,
    op: WriteOp = WriteOp.WRITE,
    *,
    existed: bool = False,
    via_link: bool = False,
    asked: str | None = None,
    rules: WriteRules | None = None,
) -> Decision:
    facts = PathFacts(path, via_link=via_link, existed_at_start=existed)
    return decide_write(rules or p0_rules(), WriteIntent(op, asked or path), facts)


def rules_of(**keys: object) -> WriteRules:
    return WriteRules.compile(policy(**keys))


# The handed cases of families W and F, as far as they are decided on text and facts.


def test_w01_a_path_outside_the_globs_is_not_writable() -> None:
    assert decide("README.md", existed=True).code is NOT_ALLOWED
    assert decide("README2.md").code is NOT_ALLOWED


def test_w03_a_file_of_the_repository_needs_the_full_write_paths() -> None:
    assert decide("docs/guide.md", existed=True).code is NOT_ALLOWED
    assert decide("docs/new.md") == Decision.allow("write.allow.created")
    assert decide("src/app.mjs", existed=True) == Decision.allow("write.allow.rewrite")


def test_w05_an_add_only_file_takes_new_lines() -> None:
    facts = PathFacts("notes/log.md", via_link=False, existed_at_start=True)
    assert decide("notes/log.md", existed=True).rule == "write.allow.append"
    assert must_append(p0_rules(), facts)
    assert decide_append(b"a\nb\nc\n", b"a\nb\nc\nd\n").allowed


def test_w07_an_add_only_file_cannot_be_shortened() -> None:
    assert decide_append(b"a\nb\nc\n", b"").code is APPEND_ONLY


def test_w11_and_w13_what_is_missing_or_a_folder_is_not_the_policys_question() -> None:
    assert decide("src/none", WriteOp.DELETE).allowed
    assert decide("src/lib", WriteOp.DELETE, existed=True).allowed


@pytest.mark.parametrize("op", list(WriteOp))
@pytest.mark.parametrize("existed", [True, False])
def test_w15_and_e15_a_denied_path_is_refused_in_the_same_words_whatever_is_there(op: WriteOp, existed: bool) -> None:
    decision = decide("src/secret/none", op, existed=existed)
    assert decision.code is NOT_ALLOWED
    assert decision == decide("src/secret/none")


def test_w17_a_line_may_be_added_in_the_middle() -> None:
    assert decide("notes/log.md", WriteOp.EDIT, existed=True).allowed
    assert decide_append(b"a\nb\nc\n", b"a\nb\nb2\nc\n").allowed


def test_f03_a_parent_step_into_git_is_judged_where_it_leads() -> None:
    assert decide(".git/config", asked="src/../.git/config").rule == "write.deny.git"


@pytest.mark.parametrize("path", ["src/link-out/fresh", "src/leaf"])
def test_f05_and_f07_nothing_is_written_through_a_link(path: str) -> None:
    refused = decide("src/real", asked=path, via_link=True)
    assert (refused.code, refused.rule) == (NOT_ALLOWED, "write.deny.link")


def test_f13_a_folder_that_is_called_like_a_file_opens_nothing() -> None:
    rules = rules_of(writeAllow=["*.md"])
    assert decide("a.md/evil.mjs", rules=rules).code is NOT_ALLOWED
    assert decide("docs/a.md", rules=rules).allowed


@pytest.mark.parametrize("path", [".git", ".GIT/hooks/pre-commit", "a/.git/config", ".git./x", "sub/GIT~1/x"])
def test_f15_and_f17_git_is_denied_in_any_spelling_even_where_everything_is_writable(path: str) -> None:
    refused = decide(path, rules=rules_of(writeAllow=["**"]))
    assert (refused.code, refused.rule) == (NOT_ALLOWED, "write.deny.git")
    assert decide("src/a", asked=path).rule == "write.deny.git"


def test_f17_a_name_that_only_begins_like_git_is_writable() -> None:
    assert decide(".gitignore", rules=rules_of(writeAllow=["**"])).allowed


def test_f19_a_deny_holds_for_the_other_unicode_form() -> None:
    rules = rules_of(writeAllow=["**"], writeDeny=["src/caf\u00e9/**"])
    assert decide("src/cafe\u0301/x", rules=rules).code is NOT_ALLOWED
    assert decide("src/cafe/x", rules=rules).allowed


@pytest.mark.parametrize("raw", ["src/app.mjs\x00.md", "../../etc/passwd", "/etc/passwd", "../workspace-other/x"])
def test_f01_and_f11_a_path_that_names_nothing_inside_is_refused_before_the_rules(raw: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_write_path(raw)
    assert caught.value.code is NOT_ALLOWED


def test_f31_a_name_like_an_option_is_a_name() -> None:
    assert decide(parse_write_path("src/-rf")).allowed


# The table of the write policy.


def test_with_no_globs_nothing_is_writable() -> None:
    assert decide("a", rules=rules_of()).rule == "write.allow.none"


def test_absent_rewrite_globs_are_the_write_globs() -> None:
    assert decide("src/a", existed=True, rules=rules_of(writeAllow=["src/**"])).allowed


def test_empty_rewrite_globs_protect_every_file_of_the_repository() -> None:
    rules = rules_of(writeAllow=["src/**"], rewriteAllow=[])
    assert decide("src/a", existed=True, rules=rules).rule == "write.rewrite.none"
    assert decide("src/a", rules=rules).allowed


def test_rewrite_globs_alone_also_let_files_be_made() -> None:
    assert decide("src/a", rules=rules_of(rewriteAllow=["src/**"])).allowed


@pytest.mark.parametrize("path", ["src/x.lock", ".env", "src/.ENV.local", ".GITHUB/x", ".github"])
def test_a_deny_wins_over_every_allow(path: str) -> None:
    assert decide(path, rules=rules_of(**{**P0, "writeAllow": ["**"]})).rule == "write.deny.pattern"


def test_a_file_that_the_run_made_may_be_deleted_and_one_of_the_repository_may_not() -> None:
    assert decide("docs/own.md", WriteOp.DELETE).allowed
    assert decide("docs/guide.md", WriteOp.DELETE, existed=True).code is NOT_ALLOWED
    assert decide("src/app.mjs", WriteOp.DELETE, existed=True).allowed


def test_an_add_only_file_cannot_be_deleted() -> None:
    refused = decide("notes/log.md", WriteOp.DELETE, existed=True)
    assert (refused.code, refused.rule) == (APPEND_ONLY, "append.delete")
    assert refused.hint


def test_an_add_only_file_that_the_run_made_is_not_bound() -> None:
    assert decide("notes/log.md", WriteOp.DELETE).allowed
    assert not must_append(p0_rules(), PathFacts("notes/log.md", via_link=False, existed_at_start=False))


def test_add_only_gives_no_permission_outside_the_write_globs() -> None:
    rules = rules_of(writeAllow=["src/**"], appendOnly=["CHANGELOG.md"])
    assert decide("CHANGELOG.md", existed=True, rules=rules).code is NOT_ALLOWED


def test_add_only_binds_inside_the_full_write_paths_too() -> None:
    rules = rules_of(writeAllow=["tests/**"], appendOnly=["tests/**"])
    assert must_append(rules, PathFacts("tests/a.ts", via_link=False, existed_at_start=True))
    assert decide("tests/a.ts", WriteOp.DELETE, existed=True, rules=rules).code is APPEND_ONLY


def test_add_only_as_a_permission_is_read_narrowly() -> None:
    rules = rules_of(writeAllow=["**"], rewriteAllow=[], appendOnly=["*.md"])
    assert decide("log.md", existed=True, rules=rules).allowed
    assert decide("log.md/x.mjs", existed=True, rules=rules).code is NOT_ALLOWED


def test_the_root_itself_is_not_writable() -> None:
    assert decide(".", rules=rules_of(writeAllow=["**"])).code is NOT_ALLOWED


def test_a_refusal_has_a_rule_and_says_what_is_writable() -> None:
    decision = decide("README.md")
    assert decision.rule == "write.allow.none"
    assert "src/**" in decision.hint
    assert "src/secret/**" in decide("src/secret/x").message


def test_a_hint_lists_what_may_be_made_apart_from_what_may_be_changed() -> None:
    both = decide("x", rules=rules_of(writeAllow=["a/**", "b/**"], rewriteAllow=["b/**", "a/**"])).hint
    assert "`a/**`, `b/**`" in both
    apart = decide("x", rules=rules_of(writeAllow=["a/**"], rewriteAllow=["b/**"])).hint
    assert apart.index("`a/**`") < apart.index("`b/**`")
    assert decide("x", rules=rules_of()).hint != decide("x", rules=rules_of(writeAllow=["a/**"])).hint
    assert "`a/**`" in decide("x", rules=rules_of(writeAllow=["a/**"], rewriteAllow=[])).hint
    assert "`b/**`" in decide("x", rules=rules_of(rewriteAllow=["b/**"])).hint


@pytest.mark.parametrize(("count", "more"), [(8, None), (9, "1 more"), (20, "12 more")])
def test_a_hint_counts_the_patterns_that_it_does_not_list(count: int, more: str | None) -> None:
    hint = decide("x", rules=rules_of(writeAllow=[f"f{number}/**" for number in range(count)])).hint
    assert "`f7/**`" in hint
    assert "`f8/**`" not in hint
    assert ("more" in hint) == (more is not None)
    assert more is None or more in hint


def test_a_hint_stays_short_with_many_patterns() -> None:
    rules = rules_of(writeAllow=[f"folder-{number}/**" for number in range(500)])
    assert len(decide("x", rules=rules).hint) < 400


def test_without_its_deny_the_same_path_is_allowed() -> None:
    """The refusals above come from the policy: with the policy's deny off, the same calls pass."""
    rules = rules_of(writeAllow=["**"])
    assert decide("src/secret/key.txt", existed=True, rules=rules).allowed


# Execution of what the run made.


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("src/a.mjs", True),
        ("scratch/a.mjs", False),
        ("docs/a.mjs", False),
        ("src/secret/a.mjs", False),
        (".git/x", False),
    ],
)
def test_a_file_that_the_run_made_is_executed_only_inside_the_full_write_paths(path: str, may: bool) -> None:
    assert executable_scratch(p0_rules(), path) is may


def test_facts_and_intents_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PathFacts("a", via_link=False, existed_at_start=False).via_link = True  # type: ignore[misc]


def test_rules_hold_both_readings_of_add_only() -> None:
    rules = p0_rules()
    assert isinstance(rules.append_bound, GlobSet)
    assert rules.append_bound.match("NOTES/LOG.md") is not None
    assert rules.append_permit.match("NOTES/LOG.md") is None


def test_a_plain_name_lets_files_of_that_name_execute_at_the_root_only() -> None:
    rules = WriteRules.compile(policy(writeAllow=["scratch/**"], rewriteAllow=["package.json", "tools", "src/**"]))
    assert executable_scratch(rules, "package.json")
    assert executable_scratch(rules, "tools/run.mjs")
    assert executable_scratch(rules, "src/a/run.mjs")
    assert not executable_scratch(rules, "scratch/package.json")
    assert not executable_scratch(rules, "scratch/tools/run.mjs")


@pytest.mark.parametrize(
    ("path", "within"),
    [
        ("docs/a.md", True),  # writeAllow alone
        ("lib/a.mjs", True),  # rewriteAllow alone
        ("src/a.mjs", True),
        ("README.md", False),
        ("src/secret/a", False),
        ("src/.git/config", False),
        (".git", False),
    ],
)
def test_the_write_globs_are_both_lists_less_what_is_denied(path: str, within: bool) -> None:
    rules = rules_of(writeAllow=["docs/**", "src/**"], rewriteAllow=["lib/**", "src/**"], writeDeny=["src/secret/**"])
    assert within_write_globs(rules, path) is within


def test_git_is_within_no_globs_even_where_everything_is() -> None:
    rules = rules_of(writeAllow=["**"])
    assert within_write_globs(rules, "a") and executable_scratch(rules, "a")
    assert not within_write_globs(rules, ".git/x") and not executable_scratch(rules, ".git/x")
