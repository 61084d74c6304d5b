"""Files that narrow a policy, key by key: what is narrower is taken, what is wider or only other is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from runner.model.decision import Decision
from runner.model.errors import ErrorCode, ExitCode, PolicyInvalid
from runner.model.tree import TreeChange
from runner.policy.argv import ArgvVerdict, judge_argv
from runner.policy.argv_policy import argv_policy, setup_argv_policy
from runner.policy.document import Policy
from runner.policy.effective import ASKED, differing_keys, effective, flat
from runner.policy.lint import surprises
from runner.policy.load import (
    MAX_NARROWINGS,
    LoadedPolicy,
    load_narrowing,
    load_policy,
    parse_narrowing,
    parse_policy,
    policy_digest,
)
from runner.policy.narrower_values import COMPARED
from runner.policy.narrowing import JOINED
from runner.policy.presets import preset_names
from runner.policy.push import decide_branch, judge_push
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
from tests.support.argv_trees import FakeTree
from tests.support.narrowed import MadeTree, loaded, narrowed, refusal
from tests.support.policies import P0, policy

NOT_ALLOWED = ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED
CODE: dict[str, Any] = {"git": {"host": "code.example"}, "credential": {"file": "/t"}}
OTHER: dict[str, Any] = {"git": {"host": "other.example"}, "credential": {"env": "OTHER"}}
DENY_AMEND = {
    "id": "no-amend",
    "reason": "Commits stay.",
    "match": {"git": {"verb": "commit", "args": ["**", "--amend", "**"]}},
    "decision": "deny",
    "examples": {"match": [["git", "commit", "--amend"]], "noMatch": [["git", "commit", "-m", "x"]]},
}
ALLOW_VITEST = {
    "id": "vitest",
    "reason": "Single files.",
    "match": ["node", "--import=./a.mjs", "**"],
    "decision": "allow",
    "examples": {"match": [["node", "--import=./a.mjs", "b.mjs"]], "noMatch": [["node", "b.mjs"]]},
}


def write(
    rules: Policy, path: str, op: WriteOp = WriteOp.WRITE, *, existed: bool = False, via_link: bool = False
) -> Decision:
    facts = PathFacts(path, via_link=via_link, existed_at_start=existed)
    return decide_write(WriteRules.compile(rules), WriteIntent(op, path), facts)


def appends(rules: Policy, path: str) -> bool:
    return must_append(WriteRules.compile(rules), PathFacts(path, via_link=False, existed_at_start=True))


def command(rules: Policy, *argv: str, tree: FakeTree | None = None) -> ArgvVerdict:
    return judge_argv(argv, setup_argv_policy(rules), tree or FakeTree())


# --- keys with an order


BASE: dict[str, Any] = {
    "bins": ["git", "pnpm", "npm", "node"],
    "argv": {"preset": "strict"},
    "commandWrites": "revert",
    "requireRuntime": True,
    "budget": {"distinct": 100, "rereads": 10, "denials": 5},
    "limits": {"runSeconds": 100, "memoryMiB": 512, "cpus": 1.5},
    "network": {"setup": {"allow": ["npm", "*.example.com", "a.example.net:8443"]}},
    "push": {"branches": ["agent/**"], "maxCommits": 10, "maxMiB": 10, "forbid": ["ci"]},
    "setup": [["npm", "ci"]],
    "bindings": [CODE, OTHER],
}
NARROWER: list[dict[str, Any]] = [
    {},
    {"version": 1},
    {"bins": ["git", "node"]},
    {"bins": []},
    {"argv": {"preset": "strict"}},
    {"commandWrites": "revert"},
    {"requireRuntime": True},
    {"budget": {"distinct": 100}},
    {"budget": {"distinct": 1, "rereads": 0, "denials": 5}},
    {"limits": {"runSeconds": 100, "cpus": 1.5}},
    {"limits": {"memoryMiB": 64, "cpus": 0.1}},
    {"network": {"setup": {"allow": []}}},
    {"network": {"setup": {"allow": ["npm"]}}},
    {"network": {"setup": {"allow": ["*.example.com"]}}},
    {"network": {"setup": {"allow": ["a.example.com", "a.b.example.com:443", "*.b.example.com"]}}},
    {"network": {"setup": {"allow": ["a.example.net:8443"]}, "run": {"allow": []}}},
    {"push": {"maxCommits": 10, "maxMiB": 1}},
    {"push": {"forbid": []}},
    {"push": {"forbid": ["symlink"]}},
    {"setup": "off"},
    {"setup": [["npm", "ci"]]},
    {"bindings": []},
    {"bindings": [OTHER]},
    {"bindings": [{"git": {"host": "other.example"}}]},
]
WIDER: list[tuple[dict[str, Any], str]] = [
    ({"bins": ["git", "mise"]}, "bins[1]"),
    ({"argv": {"preset": "default"}}, "argv.preset"),
    ({"commandWrites": "report"}, "commandWrites"),
    ({"requireRuntime": False}, "requireRuntime"),
    ({"budget": {"distinct": 101}}, "budget.distinct"),
    ({"budget": {"rereads": None}}, "budget.rereads"),
    ({"budget": {"denials": None}}, "budget.denials"),
    ({"limits": {"runSeconds": 101}}, "limits.runSeconds"),
    ({"limits": {"cpus": 1.6}}, "limits.cpus"),
    ({"limits": {"outputKiB": 1025}}, "limits.outputKiB"),
    ({"network": {"setup": {"allow": ["example.com"]}}}, "network.setup.allow[0]"),
    ({"network": {"setup": {"allow": ["npm", "a.example.com:8443"]}}}, "network.setup.allow[1]"),
    ({"network": {"setup": {"allow": ["*.example.net"]}}}, "network.setup.allow[0]"),
    ({"network": {"setup": {"allow": ["a.example.net"]}}}, "network.setup.allow[0]"),
    ({"network": {"setup": {"allow": ["badexample.com"]}}}, "network.setup.allow[0]"),
    ({"network": {"run": {"allow": ["npm"]}}}, "network.run.allow[0]"),
    ({"push": {"maxCommits": 11}}, "push.maxCommits"),
    ({"push": {"maxMiB": 11}}, "push.maxMiB"),
    ({"setup": "auto"}, "setup"),
    ({"setup": [["npm", "install"]]}, "setup"),
    ({"bindings": [{"git": {"host": "third.example"}}]}, "bindings[0]"),
    ({"bindings": [{**CODE, "credential": {"file": "/other"}}]}, "bindings[0]"),
    ({"bindings": [OTHER, {"git": {"host": "code.example", "repo": "https://code.example/a"}}]}, "bindings[1]"),
]
ONLY_OTHER: dict[str, Any] = {
    "verifyTask": "other",
    "runtime": "runsc",
    "image": "name@sha256:" + "0" * 64,
    "pool": 1,
    "env": {"A": "b"},
    "ca": "/ca.pem",
    "commit": {"name": "x"},
}


@pytest.mark.parametrize("file", NARROWER, ids=json.dumps)
def test_what_is_narrower_or_the_same_is_taken(file: dict[str, Any]) -> None:
    narrowed(BASE, file)


@pytest.mark.parametrize(("file", "field"), WIDER, ids=[json.dumps(file) for file, _ in WIDER])
def test_what_is_wider_is_refused_with_file_line_and_field(file: dict[str, Any], field: str) -> None:
    said = refusal(BASE, file)
    assert said.startswith(f"n1.yml:1: field `{field}`: ")
    assert "a narrowing may only take away" in said or field.startswith("bindings")


@pytest.mark.parametrize(("key", "value"), ONLY_OTHER.items())
def test_what_is_only_other_is_refused_and_the_policys_own_value_is_not(key: str, value: object) -> None:
    assert f"n1.yml:1: field `{key}" in refusal({}, {key: value})
    assert narrowed({key: value}, {key: value}) == policy(**{key: value})


def test_a_key_to_sign_commits_with_is_neither_added_nor_taken_away() -> None:
    signs = {"commit": {"sign": {"ssh": {"file": "/k"}}}}
    assert "`commit.sign`" in refusal({}, signs)
    assert "`commit.sign`" in refusal(signs, {"commit": {"sign": None}})
    assert narrowed(signs, signs).commit.sign is not None


def test_each_key_of_a_policy_is_asked_joined_compared_or_may_not_differ() -> None:
    keys = set(flat(Policy().model_dump(mode="json", by_alias=True)))
    thought_of = {*ASKED, *JOINED, *COMPARED}
    assert thought_of - keys == set()
    # A new key is in this set, so it may not differ, until somebody has thought about what narrower means for it.
    may_not_differ = {"commit.name" if key == "commit" else key for key in ONLY_OTHER}
    assert keys - thought_of == may_not_differ | {"commit.email", "commit.sign"}


def test_a_wider_number_is_told_with_both_values_and_the_mend() -> None:
    said = refusal({"limits": {"pids": 100}}, {"limits": {"pids": 101}})
    assert "is 101, and the policy has 100" in said and "write at most 100, or leave it out" in said


def test_every_fault_of_a_file_is_known_and_the_first_is_told_on_its_line() -> None:
    text = b"bins: [git]\nlimits:\n  pids: 5000\nruntime: runsc\nbudget: {distinct: 500}\n"
    with pytest.raises(PolicyInvalid) as caught:
        parse_narrowing(loaded({}), text, source="n.yml")
    assert caught.value.exit_code is ExitCode.USAGE
    assert [fault.partition(": field")[0] for fault in caught.value.faults] == ["n.yml:3", "n.yml:4", "n.yml:5"]
    assert caught.value.message.endswith("(and 2 more)")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("writeAlow: []\n", "n.yml:1: field `writeAlow`: is no key of a policy; did you mean `writeAllow`?"),
        ("version: 2\n", "n.yml:1: field `version`"),
        ("a: &x 1\n", "n.yml:1: the file uses an anchor"),
        ("", "n.yml:1: the file is empty"),
        ("- a\n", "n.yml:1: the file is no mapping"),
        ("writeAllow: [/abs]\n", "n.yml:1: field `writeAllow[0]`: is absolute"),
        ("limits: {pids: null}\n", "n.yml:1: field `limits.pids`: is null"),
    ],
)
def test_a_file_that_narrows_is_read_as_a_policy_is(text: str, start: str) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        parse_narrowing(loaded({}), text.encode(), source="n.yml")
    assert caught.value.message.startswith(start)


def test_nothing_of_a_credential_or_a_variable_is_repeated() -> None:
    base = {"env": {"A": "tok-FAKE"}, "bindings": [{"git": {"host": "a.b"}, "credential": {"env": "TOKEN_FAKE"}}]}
    said = refusal(base, {"env": {"A": "tok-OTHER"}})
    said += refusal(base, {"bindings": [{"git": {"host": "a.b"}, "credential": {"env": "TOKEN_OTHER"}}]})
    assert not any(secret in said for secret in ("tok-FAKE", "tok-OTHER", "TOKEN_FAKE", "TOKEN_OTHER"))


def test_the_smaller_values_are_those_in_force() -> None:
    found = narrowed(BASE, {"limits": {"runSeconds": 50}, "setup": "off"}, {"limits": {"runSeconds": 40}})
    assert (found.limits.run_seconds, found.limits.memory_mib, found.setup) == (40, 512, "off")
    assert "`limits.runSeconds`" in refusal(BASE, {"limits": {"runSeconds": 50}}, {"limits": {"runSeconds": 51}})


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        ({"bins": ["git"]}, {"bins": ["git", "npm"]}, "bins[1]"),
        ({"argv": {"preset": "strict"}}, {"argv": {"preset": "default"}}, "argv.preset"),
        ({"setup": "off"}, {"setup": "auto"}, "setup"),
        ({"bindings": [OTHER]}, {"bindings": [CODE]}, "bindings[0]"),
    ],
)
def test_a_second_file_does_not_give_back_what_the_first_took(
    first: dict[str, Any], second: dict[str, Any], field: str
) -> None:
    assert f"n2.yml:1: field `{field}`" in refusal({"bindings": [CODE, OTHER]}, first, second)


def test_a_bound_where_the_policy_has_none_is_narrower() -> None:
    assert narrowed({"budget": {"distinct": None}}, {"budget": {"distinct": 7}}).budget.distinct == 7


# --- bindings


def test_a_binding_that_is_kept_is_the_policys_own_with_its_credential() -> None:
    kept = narrowed(BASE, {"bindings": [{"git": {"host": "other.example"}}]}).bindings
    assert kept == (policy(**BASE).bindings[1],)


def test_a_binding_behind_another_of_the_same_host_is_not_kept_alone() -> None:
    """Without the first, the credential of the second would go where that of the first went."""
    first, second = (
        {"git": {"host": host}, "credential": {"env": "A"}} for host in ("code.example", "code.example:443")
    )
    base = {"bindings": [first, second]}
    assert "bindings[0]" in refusal(base, {"bindings": [second]})
    assert len(narrowed(base, {"bindings": [first]}).bindings) == 1
    assert len(narrowed(base, {"bindings": [second, first]}).bindings) == 2


# --- paths


def test_a_path_has_to_be_allowed_by_the_policy_and_by_what_narrows_it() -> None:
    found = narrowed({"writeAllow": ["src/**", "docs/**"]}, {"writeAllow": ["src/a/**", "etc/**"]})
    assert write(found, "src/a/x").allowed and write(found, "src/a/x", existed=True).allowed
    assert write(found, "src/b").rule == "narrow.1.write.allow.none"
    assert write(found, "etc/x").rule == "write.allow.none"
    assert write(found, "src/b").code is NOT_ALLOWED


def test_patterns_that_cross_need_no_text_to_be_told_apart() -> None:
    found = narrowed({"writeAllow": ["*.ts"]}, {"writeAllow": ["src/**"]})
    assert write(found, "src/a.ts").allowed
    assert not write(found, "src/a.js").allowed and not write(found, "lib/a.ts").allowed


def test_only_keys_that_are_there_narrow() -> None:
    found = narrowed(P0, {"writeDeny": ["src/gen/**"]})
    assert write(found, "src/a", existed=True) == write(policy(**P0), "src/a", existed=True)
    assert write(found, "src/gen/a").rule == "narrow.1.write.deny.pattern"
    assert write(found, "src/secret/a").rule == "write.deny.pattern"
    assert write(narrowed(P0, {"writeDeny": []}), "src/secret/a").rule == "write.deny.pattern"


def test_rewriting_follows_writing_where_the_file_does_not_name_it() -> None:
    base = {"writeAllow": ["notes/**"], "rewriteAllow": ["src/**"]}
    assert not write(narrowed(base, {"writeAllow": ["notes/**"]}), "src/a", existed=True).allowed
    both = narrowed(base, {"writeAllow": ["notes/**"], "rewriteAllow": ["src/**"]})
    assert write(both, "src/a", existed=True).allowed


def test_no_rewriting_leaves_new_files() -> None:
    found = narrowed({"writeAllow": ["src/**"]}, {"rewriteAllow": []})
    assert write(found, "src/new").allowed
    assert write(found, "src/old", existed=True).rule == "narrow.1.write.rewrite.none"
    rules = WriteRules.compile(found)
    assert within_write_globs(rules, "src/new") and not executable_scratch(rules, "src/new")


def test_what_a_command_writes_outside_either_is_outside() -> None:
    rules = WriteRules.compile(narrowed({"writeAllow": ["src/**"]}, {"writeAllow": ["src/a/**", "lib/**"]}))
    assert [within_write_globs(rules, path) for path in ("src/a/x", "src/b", "lib/x")] == [True, False, False]


def test_add_only_of_either_file_binds() -> None:
    wide = {"writeAllow": ["src/**"]}
    for found in (narrowed(wide, {"appendOnly": ["src/**"]}), narrowed({**wide, "appendOnly": ["src/**"]}, {})):
        assert appends(found, "src/a") and not appends(found, "lib/a")
        assert write(found, "src/a", existed=True).rule == "write.allow.append"
        assert write(found, "src/a", WriteOp.DELETE, existed=True).code is ErrorCode.WORKSPACE_APPEND_ONLY
        assert write(found, "src/new", WriteOp.DELETE).allowed


def test_a_file_takes_no_binding_of_the_policys_away() -> None:
    found = narrowed({"writeAllow": ["src/**"], "appendOnly": ["src/log"]}, {"appendOnly": []})
    assert appends(found, "src/log")
    assert write(found, "src/log", existed=True).rule == "write.allow.append"


def test_add_only_as_a_permission_has_to_be_given_by_both() -> None:
    base = {"writeAllow": ["**"], "rewriteAllow": [], "appendOnly": ["log", "notes"]}
    found = narrowed(base, {"appendOnly": ["log", "other"]})
    assert write(found, "log", existed=True).rule == "write.allow.append"
    assert write(found, "notes", existed=True).rule == "narrow.1.write.rewrite.none"
    assert write(found, "other", existed=True).rule == "write.rewrite.none"


def test_a_rewrite_that_the_narrowing_makes_an_addition_is_one() -> None:
    found = narrowed({"writeAllow": ["src/**"]}, {"rewriteAllow": [], "appendOnly": ["src/log"]})
    assert write(found, "src/log", existed=True).rule == "write.allow.append" and appends(found, "src/log")


def test_the_git_folder_and_links_are_refused_by_the_policy_itself() -> None:
    found = narrowed({"writeAllow": ["**"]}, {"writeAllow": ["src/**"]})
    assert write(found, ".git/config").rule == "write.deny.git"
    assert write(found, "src/a", via_link=True).rule == "write.deny.link"


def test_each_file_narrows_further_and_is_named_by_its_number() -> None:
    found = narrowed(
        {"writeAllow": ["**"]}, {"limits": {"pids": 16}}, {"writeAllow": ["src/**"]}, {"writeDeny": ["*.x"]}
    )
    assert write(found, "lib/a").rule == "narrow.2.write.allow.none"
    assert write(found, "src/a.x").rule == "narrow.3.write.deny.pattern"
    assert write(found, "src/a").allowed


def test_a_refusal_of_a_narrowing_says_what_is_left() -> None:
    hint = write(narrowed({"writeAllow": ["src/**"]}, {"writeAllow": ["src/a/**"]}), "src/b").hint
    assert "`src/**`" in hint and "`src/a/**`" in hint
    plain = policy(writeAllow=["src/**"])
    assert write(narrowed({"writeAllow": ["src/**"]}, {"writeDeny": ["x"]}), "y").hint == write(plain, "y").hint


# --- command lines


def test_a_program_that_is_left_out_does_not_start() -> None:
    found = narrowed({}, {"bins": ["git"]})
    assert command(found, "npm", "ls").decision.rule == "narrow.1.argv.bin"
    assert command(found, "git", "status").decision.allowed
    assert command(found, "bash").decision.rule == "argv.bin"


def test_the_stricter_preset_decides_what_runs_and_how_it_is_spelled() -> None:
    found = narrowed({}, {"argv": {"preset": "strict"}})
    assert command(found, "node", "-e", "1").decision.rule == "narrow.1.strict.node.option"
    spelled = command(found, "git", "commit", "-am", "x")
    assert spelled.decision.allowed
    assert spelled == command(policy(argv={"preset": "strict"}), "git", "commit", "-am", "x")


def test_what_runs_in_another_spelling_is_asked_of_the_policy_in_that_spelling() -> None:
    as_written = {**DENY_AMEND, "match": ["git", "**", "--amend", "**"]}
    found = narrowed({"argv": {"rules": [as_written]}}, {"argv": {"preset": "strict"}})
    assert command(policy(argv={"rules": [as_written]}), "git", "commit", "--amen").decision.allowed
    assert command(found, "git", "commit", "--amen").decision.rule == "own.no-amend"
    assert command(found, "git", "commit", "-m", "x").decision.allowed


def test_a_rule_that_denies_refuses_and_the_policys_own_stay() -> None:
    found = narrowed({"argv": {"preset": "strict"}}, {"argv": {"rules": [DENY_AMEND]}})
    refused = command(found, "git", "commit", "--amend").decision
    assert refused.rule == "narrow.1.own.no-amend" and "own.no-amend" in refused.message
    assert command(found, "git", "commit", "-m", "x").decision.allowed
    kept = narrowed({"argv": {"rules": [DENY_AMEND]}}, {"argv": {"rules": []}})
    assert command(kept, "git", "commit", "--amend").decision.rule == "own.no-amend"


def test_a_rule_that_denies_goes_before_what_the_policys_own_rules_allow() -> None:
    denies = {**ALLOW_VITEST, "id": "none", "decision": "deny"}
    found = narrowed({"argv": {"preset": "strict", "rules": [ALLOW_VITEST]}}, {"argv": {"rules": [denies]}})
    assert command(found, "node", "--import=./a.mjs", "b.mjs").decision.rule == "narrow.1.own.none"


def test_what_the_policys_own_rule_opens_stays_open() -> None:
    base = {"argv": {"preset": "strict", "rules": [ALLOW_VITEST]}}
    found = narrowed(base, {"argv": {"rules": [DENY_AMEND]}})
    assert command(found, *ALLOW_VITEST["examples"]["match"][0]).decision.allowed  # type: ignore[index]


def test_a_rule_that_allows_what_the_policy_refuses_is_a_fault() -> None:
    said = refusal({"argv": {"preset": "strict"}}, {"argv": {"rules": [ALLOW_VITEST]}})
    assert said.startswith("n1.yml:1: field `argv.rules[0]`: allows what strict.")


def test_a_rule_that_allows_opens_what_the_same_file_closes() -> None:
    found = narrowed({}, {"argv": {"preset": "strict", "rules": [ALLOW_VITEST]}})
    assert command(found, "node", "--import=./a.mjs", "b.mjs").decision.allowed
    assert command(found, "node", "--import=./c.mjs", "b.mjs").decision.rule == "narrow.1.strict.node.option"
    exception = {**DENY_AMEND, "id": "wip", "decision": "allow", "match": ["git", "commit", "--amend", "-m", "wip"]}
    exception["examples"] = {"match": [["git", "commit", "--amend", "-m", "wip"]], "noMatch": [["git", "commit"]]}
    both = narrowed({}, {"argv": {"rules": [exception, DENY_AMEND]}})
    assert command(both, "git", "commit", "--amend", "-m", "wip").decision.allowed
    assert not command(both, "git", "commit", "--amend").decision.allowed


@pytest.mark.parametrize(
    ("base", "file"),
    [
        ({}, {"argv": {"rules": [ALLOW_VITEST]}}),
        ({}, {"argv": {"rules": [DENY_AMEND, DENY_AMEND]}}),
        ({"bins": ["node"]}, {"argv": {"rules": [DENY_AMEND]}}),
        ({}, {"bins": ["node"], "argv": {"rules": [DENY_AMEND]}}),
    ],
)
def test_a_rule_without_effect_is_a_fault(base: dict[str, Any], file: dict[str, Any]) -> None:
    assert "n1.yml:1: " in refusal(base, file)


def test_a_program_may_be_left_out_although_the_policy_has_rules_for_it() -> None:
    found = narrowed({"argv": {"rules": [DENY_AMEND]}}, {"bins": ["node"]})
    assert command(found, "git", "status").decision.rule == "narrow.1.argv.bin"


def test_a_launcher_is_judged_by_the_programs_of_the_policy_too() -> None:
    """With `git` left out, a file of that name is a tool of the repository's; the policy still reads it as git."""
    tree = FakeTree({"node_modules/.bin/git": "", "package.json": "{}"})
    push = ("npm", "exec", "--", "git", "push")
    assert command(narrowed({}, {"bins": ["npm"]}), *push, tree=tree).decision.rule == "git.push.verb"


def test_what_the_run_made_is_executed_where_both_let_it_be_rewritten() -> None:
    found = narrowed({"writeAllow": ["src/**", "lib/**"]}, {"rewriteAllow": ["lib/**"]})
    tree = MadeTree(created={"src/a.mjs": "", "lib/a.mjs": ""})
    asked = argv_policy(found, WriteRules.compile(found), tree)
    assert judge_argv(["node", "lib/a.mjs"], asked, tree).decision.allowed
    refused = judge_argv(["node", "src/a.mjs"], asked, tree).decision
    assert (refused.code, refused.rule) == (ErrorCode.SCRATCH_EXECUTION_REFUSED, "narrow.1.scratch.node.file")


# --- pushes


def test_a_branch_has_to_be_named_by_both() -> None:
    found = narrowed({"push": {"branches": ["agent/**"]}}, {"push": {"branches": ["**/x*", "main2"]}})
    assert decide_branch(found, "agent/x1", "main").allowed
    assert decide_branch(found, "agent/y1", "main").rule == "narrow.1.push.branch.none"
    assert decide_branch(found, "main2", "main").rule == "push.branch.none"
    assert decide_branch(narrowed({}, {"push": {"branches": []}}), "x", "main").code is ErrorCode.PUSH_POLICY_VIOLATION


def test_what_may_not_leave_is_what_either_forbids() -> None:
    found = narrowed({"push": {"forbid": ["ci"]}}, {"push": {"forbid": ["symlink"]}})
    changes = [TreeChange("a", None, 0o120000, None, "x"), TreeChange(".github/w.yml", None, 0o100644, None, "x")]
    assert {one.rule for one in judge_push(found.push, changes)} == {"push.forbid.ci", "push.forbid.symlink"}


# --- what is shown and digested


def digest(base: Mapping[str, object], *files: Mapping[str, object]) -> str:
    return loaded(base, *files).digest


@pytest.mark.parametrize(
    "file",
    [
        {"writeAllow": ["src/**"]},
        {"rewriteAllow": []},
        {"writeDeny": ["x"]},
        {"appendOnly": ["x"]},
        {"bins": ["git"]},
        {"argv": {"preset": "strict"}},
        {"argv": {"rules": [DENY_AMEND]}},
        {"push": {"branches": []}},
        {"push": {"maxMiB": 1}},
        {"limits": {"pids": 16}},
        {"setup": "off"},
    ],
    ids=json.dumps,
)
def test_the_digest_covers_whatever_a_file_takes_away(file: dict[str, Any]) -> None:
    base = {"writeAllow": ["src/**", "lib/**"], "rewriteAllow": ["src/**"]}
    assert digest(base, file) != digest(base)
    assert digest(base, file) != digest(base, file, {"writeDeny": ["other"]})
    assert digest(base, file) == digest(base, {}, file) == policy_digest(narrowed(base, file))


def test_a_file_that_takes_nothing_away_changes_no_digest() -> None:
    assert digest(P0) == digest(P0, {}) == digest(P0, {"version": 1, "limits": {}, "push": {"forbid": []}})
    assert narrowed(P0, {"push": {"forbid": []}}) == policy(**P0)


def test_numbers_and_words_are_digested_as_in_a_policy_that_has_them() -> None:
    assert digest(P0, {"limits": {"pids": 16}, "setup": "off"}) == digest(
        {**P0, "limits": {"pids": 16}, "setup": "off"}
    )


def test_what_is_loaded_names_both_files_and_what_the_second_has() -> None:
    found = loaded({}, {"limits": {"pids": 16}}, {"setup": "off"})
    assert found.name == "p.yml, narrowed by n1.yml, n2.yml"
    assert [dict(file.keys) for file in found.narrowed_by] == [{"limits": {"pids": 16}}, {"setup": "off"}]
    assert loaded({}).name == "p.yml"


def test_no_more_files_are_taken_than_a_write_is_judged_by() -> None:
    most = loaded({}, *([{"writeDeny": ["x"]}] * MAX_NARROWINGS))
    with pytest.raises(PolicyInvalid):
        parse_narrowing(most, b"version: 1\n", source="n.yml")


def test_the_whole_policy_is_shown_with_what_narrows_it() -> None:
    found = effective(narrowed({"writeAllow": ["src/**"]}, {"writeAllow": ["src/a"], "argv": {"rules": [DENY_AMEND]}}))
    assert found["policy"]["writeAllow"] == ["src/**"]
    assert found["policy"]["narrow"]["1"]["writeAllow"] == ["src/a"]
    assert found["writable"]["within narrow.1"]["create"] == ["src/a"]
    assert found["argvRules"][0]["id"] == "narrow.1.own.no-amend"
    assert found["kinds"]["narrow.1.argv.rules"] == "guard rail"


def test_the_rules_of_the_strict_preset_are_shown_where_a_narrowing_asks_for_it() -> None:
    ids = [rule["id"] for rule in effective(narrowed({}, {"argv": {"preset": "strict"}}))["argvRules"]]
    assert "strict.pinned" in ids


def test_two_policies_differ_in_what_narrows_one_of_them() -> None:
    first, second = policy(writeAllow=["src/**"]), narrowed({"writeAllow": ["src/**"]}, {"writeAllow": ["src/a"]})
    assert {key for key, _, _ in differing_keys(first, second)} == {"narrow.1.writeAllow", "narrow.1.rewriteAllow"}


def told(found: Policy) -> set[str]:
    return {surprise.key for surprise in surprises(found) if surprise.key.startswith("narrow")}


def test_lint_tells_of_patterns_that_reach_nothing_in_the_policy() -> None:
    assert told(narrowed({"writeAllow": ["src/**"]}, {"writeAllow": ["lib/**"]})) == {"narrow.1.writeAllow"}
    assert told(narrowed({"writeAllow": ["src/**"]}, {"rewriteAllow": ["src/a", "lib/**"]})) == {
        "narrow.1.rewriteAllow"
    }
    assert told(narrowed({"writeAllow": ["src/**"]}, {"writeAllow": ["src/a/**"], "appendOnly": ["src/a/x"]})) == set()


def test_lint_tells_of_files_that_could_be_added_to_and_now_cannot() -> None:
    base = {"writeAllow": ["**"], "rewriteAllow": ["src/**"], "appendOnly": ["log"]}
    assert told(narrowed(base, {"appendOnly": ["src/x"]})) == {"narrow.1.appendOnly"}
    assert told(narrowed(base, {"appendOnly": ["src/x", "log"]})) == set()


@pytest.mark.parametrize("base", preset_names())
def test_each_preset_can_be_narrowed_to_reading(base: str) -> None:
    found = load_narrowing(load_policy(base), "read-only").policy
    assert not write(found, "src/a").allowed and not decide_branch(found, "x", "main").allowed


def test_a_policy_that_is_narrowed_is_not_the_one_that_it_was_made_from() -> None:
    base: LoadedPolicy = parse_policy(b"writeAllow: [src/**]\n", source="p")
    parse_narrowing(base, b"writeAllow: []\n", source="n")
    assert base.policy.narrower == () and write(base.policy, "src/a").allowed
