"""Explanations, examples, lint and the effective policy: what is said is what is decided."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.doors.calls import Call
from runner.doors.policy_calls import explain_call
from runner.model.decision import Decision
from runner.model.errors import ErrorCode, PolicyInvalid
from runner.policy.effective import GUARD_RAIL, differing_keys, effective, flat, kind_of
from runner.policy.examples import parse_examples
from runner.policy.explain import PushFacts
from runner.policy.facts_file import DescribedTree, Fact, FactState
from runner.policy.globs import GlobSet
from runner.policy.lint import surprises
from runner.policy.load import load_policy
from runner.policy.presets import EXAMPLES_SUFFIX, preset_names, preset_path
from runner.policy.steps import Explanation, Step
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write
from tests.support.policies import P0, faults_of, policy

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = policy(**P0)
RULES = WriteRules.compile(DOCUMENT)
STATES = {state.value: state for state in FactState}


def explained(
    tool: str, arguments: object, facts: Mapping[str, str | Fact] | None = None, *, branch: str = "agent/x"
) -> Explanation:
    told = {path: fact if isinstance(fact, Fact) else Fact(STATES[fact]) for path, fact in (facts or {}).items()}
    return explain_call(DOCUMENT, Call(None, tool, arguments), DescribedTree(told), PushFacts(branch))


def names(explanation: Explanation) -> list[str]:
    return [step.name for step in explanation.steps]


def writing(path: str, content: str = "") -> dict[str, str]:
    return {"path": path, "content": content}


WRITE, EDIT, DELETE = "workspace.write_file", "workspace.edit", "workspace.delete_file"


@pytest.mark.parametrize(
    ("path", "state", "last", "rule"),
    [
        ("src/.git/x", "missing", ".git", "write.deny.git"),
        ("src/secret/x", "missing", "writeDeny", "write.deny.pattern"),
        ("src/l", "link", "links", "write.deny.link"),
        ("README.md", "missing", "rewriteAllow", "write.allow.none"),
        ("docs/a.md", "existed", "appendOnly", "write.rewrite.none"),
        ("docs/a.md", "created", "appendOnly", "write.allow.created"),
        ("src/a.ts", "existed", "appendOnly", "write.allow.rewrite"),
        ("notes/log.md", "existed", "lines", "write.allow.append"),
    ],
)
def test_the_steps_of_a_write_end_at_the_one_that_decides(path: str, state: str, last: str, rule: str) -> None:
    explanation = explained(WRITE, writing(path), {path: state})
    assert (names(explanation)[-1], explanation.decision.rule) == (last, rule)
    assert explanation.decision.allowed or (explanation.decision.message and explanation.decision.hint)


PATHS = st.sampled_from(["src/a.ts", "src/secret/k", "README.md", "notes/log.md", "docs/x.md", ".git/a", "a.lock"])


@settings(max_examples=80, deadline=None)
@given(path=PATHS, op=st.sampled_from([(WRITE, WriteOp.WRITE), (DELETE, WriteOp.DELETE)]), existed=st.booleans())
def test_an_explained_write_is_decided_as_a_live_one(path: str, op: tuple[str, WriteOp], existed: bool) -> None:
    arguments: dict[str, Any] = writing(path) if op[0] == WRITE else {"path": path}
    explanation = explained(op[0], arguments, {path: "existed" if existed else "missing"})
    facts = PathFacts(path, via_link=False, existed_at_start=existed)
    assert explanation.decision == decide_write(RULES, WriteIntent(op[1], path), facts)


def test_a_deletion_of_a_link_is_about_the_link_and_a_write_through_one_is_refused() -> None:
    assert explained(DELETE, {"path": "src/l"}, {"src/l": "link"}).decision.allowed
    assert explained(DELETE, {"path": "src/l/a"}, {"src/l": "link"}).decision.rule == "write.deny.link"


@pytest.mark.parametrize(
    ("tool", "arguments", "outcome", "rule"),
    [
        (WRITE, writing("../x"), "workspace_write_not_allowed", "path.outside"),
        (WRITE, writing("/etc/x"), "workspace_write_not_allowed", "path.outside"),
        (WRITE, {"path": "src/a.ts"}, "invalid_arguments", "arguments"),
        ("workspace.read_file", {"path": "../x"}, "path_outside_workspace", "path.outside"),
        ("workspace.read_file", {"path": "a\nb"}, "path_invalid", "path.form"),
        ("workspace.read_file", {"path": "src/../a"}, "allow", "budget.distinct"),
        ("workspace.search", {"pattern": "x"}, "allow", "budget.distinct"),
        ("workspace.run_command", {"argv": []}, "argv_required", "argv.required"),
        ("workspace.run_command", {"argv": ["ls"]}, "bin_not_allowlisted", "argv.bin"),
        ("git", {"args": "'"}, "invalid_arguments", "argv.form"),
        ("git", {"args": "push"}, "git_push_via_run_command", "git.push.verb"),
        ("frobnicate", {}, "unknown_tool", "arguments"),
        ("git", 7, "invalid_arguments", "arguments"),
    ],
)
def test_every_call_gets_an_outcome_and_a_rule(tool: str, arguments: object, outcome: str, rule: str) -> None:
    explanation = explained(tool, arguments)
    assert (explanation.outcome, explanation.decision.rule) == (outcome, rule)


def test_a_command_line_is_taken_apart_down_to_the_script() -> None:
    manifest = Fact(FactState.EXISTED, '{"scripts": {"check": "pnpm run types", "types": "tsc --noEmit"}}')
    explanation = explained("workspace.run_command", {"argv": ["pnpm", "run", "check"]}, {"package.json": manifest})
    assert explanation.outcome == "direct_typecheck_refused"
    scripts = [step.found for step in explanation.steps if step.name == "script"]
    assert scripts == ["`check` is `pnpm run types`", "`types` is `tsc --noEmit`"]
    assert names(explanation)[-1] == "rule"


def test_gits_own_options_are_told_apart_from_its_verb() -> None:
    steps = {step.name: step.found for step in explained("git", {"args": "-C sub -c a.b=c log --all"}).steps}
    assert (steps["global options"], steps["verb"], steps["words"]) == ("`-C=sub` `-c=a.b=c`", "`log`", "`--all`")


def test_the_lines_of_an_add_only_file_are_judged_where_both_texts_are_told() -> None:
    told: dict[str, str | Fact] = {"notes/log.md": Fact(FactState.EXISTED, "a\nb\n")}
    assert explained(WRITE, writing("notes/log.md", "a\nx\nb\n"), told).outcome == "allow"
    assert explained(WRITE, writing("notes/log.md", "a\n"), told).outcome == "workspace_append_only"
    edit = {"path": "notes/log.md", "oldString": "b", "newString": "c"}
    assert explained(EDIT, edit, told).outcome == "workspace_append_only"


def test_a_path_of_which_nothing_is_told_counts_as_new_and_the_step_says_so() -> None:
    explanation = explained(WRITE, writing("docs/a.md"))
    assert explanation.outcome == "allow"
    assert any("nothing else is told" in step.found for step in explanation.steps)


def test_facts_of_a_commit_are_what_it_would_change() -> None:
    assert explained("workspace.git_commit", {"message": "x"}, {"src/a.ts": "existed"}).outcome == "allow"
    refused = explained("workspace.git_commit", {"message": "x"}, {"src/a.ts": "existed", "README.md": "existed"})
    assert refused.outcome == "workspace_commit_not_allowed"
    gone = explained("workspace.git_commit", {"message": "x"}, {"notes/log.md": "missing"})
    assert gone.outcome == "workspace_append_only"


def test_a_push_is_refused_by_branch_or_by_what_would_leave() -> None:
    assert explained("workspace.git_push", {}).outcome == "allow"
    assert explained("workspace.git_push", {}, {"README.md": "created"}).outcome == "push_policy_violation"
    assert explained("workspace.git_push", {}, {"notes/log.md": "missing"}).outcome == "workspace_append_only"
    assert explained("workspace.git_push", {}, branch="Main").outcome == "default_branch_refused"
    assert explained("workspace.git_push", {}, {"src/l": "link"}).decision.rule == "push.forbid.symlink"


def test_an_explanation_for_a_program_has_numbered_steps_and_the_decision() -> None:
    refused = Explanation((Step("a", "b"), Step("c", "d")), Decision.deny(ErrorCode.BIN_NOT_ALLOWLISTED, "r", "m", "h"))
    assert refused.as_json() == {
        "steps": [{"step": 1, "name": "a", "found": "b"}, {"step": 2, "name": "c", "found": "d"}],
        "allowed": False,
        "code": "bin_not_allowlisted",
        "rule": "r",
        "reason": "m",
        "hint": "h",
    }
    allowed = Explanation((), Decision.allow("r")).as_json()
    assert allowed == {"steps": [], "allowed": True, "code": None, "rule": "r", "reason": "", "hint": ""}


# Examples


def preset_examples(name: str) -> Any:
    path = preset_path(name)
    assert path is not None
    file = path.with_name(name + EXAMPLES_SUFFIX)
    return parse_examples(file.read_bytes(), source=str(file))


@pytest.mark.parametrize("name", preset_names())
def test_the_examples_of_every_preset_hold(name: str) -> None:
    document = load_policy(name).policy
    for example in preset_examples(name):
        call = Call(None, example.call.tool, example.call.arguments)
        got = explain_call(document, call, DescribedTree(example.told()), PushFacts(example.branch))
        assert got.outcome == example.expect, (example.why, got.decision)


@pytest.mark.parametrize("name", preset_names())
def test_every_pattern_of_a_preset_has_an_example_and_some_near_miss_is_refused(name: str) -> None:
    document = load_policy(name).policy
    written: dict[bool, list[str]] = {True: [], False: []}
    for example in preset_examples(name):
        if example.call.tool in (WRITE, EDIT, DELETE):
            written[example.expect == "allow"].append(str(example.call.arguments["path"]))
    for pattern in {*document.write_allow, *document.rewritable}:
        assert any(GlobSet.granting([pattern]).match(path) for path in written[True]), f"{pattern} is never tried"
    for pattern in document.write_deny:
        assert any(GlobSet.denying([pattern]).match(path) for path in written[False]), f"{pattern} is never tried"
    for pattern in document.append_only:
        assert any(GlobSet.granting([pattern]).match(path) for path in (*written[True], *written[False])), pattern
    assert written[False]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[]\n", 1),
        ("a: b\n", 1),
        ("- call: {tool: git}\n  expect: allow\n", 1),
        ("- call: {tool: git}\n  expect: perhaps\n  why: x\n", 2),
        ("- call: {tool: git}\n  expect: allow\n  why: x\n  when: now\n", 4),
        ("- call: {tool: git}\n  facts: {a: gone}\n  expect: allow\n  why: x\n", 2),
        ("- call: *x\n", 1),
        ("- call: {tool: git}\n  expect: allow\n  why: x\n- 7\n", 4),
        ("- call:\n    tool: git\n    arguments: x\n  expect: allow\n  why: x\n", 3),
    ],
)
def test_examples_that_prove_nothing_are_refused_with_their_line(text: str, line: int) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_examples(text.encode(), source="p.test.yml")
    assert refused.value.message.startswith(f"p.test.yml:{line}: ")
    assert refused.value.hint


def test_a_fault_of_an_example_is_named_by_its_place() -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_examples(b"- call: {tool: 1}\n  expect: allow\n  why: x\n", source="p.test.yml")
    assert refused.value.message.startswith("p.test.yml:1: example 0.call.tool: ")


# Lint


def test_every_fault_of_a_document_is_told_with_its_line() -> None:
    faults = faults_of(b"writeAllow: [/abs]\nbudget: {distinct: 0}\nnope: 1\n", source="p.yml")
    assert [fault.split(": ")[0] for fault in faults] == ["p.yml:1", "p.yml:2", "p.yml:3"]


@pytest.mark.parametrize("text", [b"\xff", b"a: &x 1\n", b"[]", b"runtime: a b\n"])
def test_a_document_with_one_fault_has_one_line(text: bytes) -> None:
    assert len(faults_of(text, source="p.yml")) == 1


def test_a_sound_document_has_no_fault() -> None:
    assert faults_of(b"version: 1\n", source="p.yml") == []


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({}, "writeAllow"),
        ({"writeAllow": ["src/**", "a.lock"], "writeDeny": ["*.lock"]}, "writeAllow"),
        ({"writeAllow": ["docs/secret/**"], "writeDeny": ["docs/"]}, "writeAllow"),
        ({"writeAllow": ["[ab].txt"], "writeDeny": ["*.txt"]}, "writeAllow"),
        ({"writeAllow": ["[ab].txt"], "writeDeny": ["a.txt"]}, "writeAllow"),
        ({"writeAllow": ["[!ab].txt"], "writeDeny": ["q.txt"]}, "writeAllow"),
        ({"writeAllow": ["[^qj].txt"], "writeDeny": ["z.txt"]}, "writeAllow"),
        ({"writeAllow": ["a?c"], "writeDeny": ["aqc"]}, "writeAllow"),
        ({"writeAllow": ["docs/"], "writeDeny": ["docs/*"]}, "writeAllow"),
        ({"writeAllow": ["a/**/b"], "writeDeny": ["a/**"]}, "writeAllow"),
        ({"writeAllow": ["src/**"], "appendOnly": ["*.md"], "rewriteAllow": []}, ""),
        ({"writeAllow": ["src/*.ts"], "appendOnly": ["*.md"]}, "appendOnly"),
        ({"writeAllow": ["src/lib/**"], "appendOnly": ["CHANGES"]}, ""),
        ({"writeAllow": ["src/**"], "rewriteAllow": ["lib/**"]}, "rewriteAllow"),
        ({"writeAllow": ["src/**"], "appendOnly": ["docs/CHANGES"]}, "appendOnly"),
        ({"writeAllow": ["src/**"], "bins": []}, "bins"),
        ({"writeAllow": ["src/**"], "setup": "off", "network": {"setup": {"allow": ["npm"]}}}, "network.setup.allow"),
        ({"writeAllow": ["src/**"], "limits": {"runSeconds": 10}}, "limits.commandSeconds"),
        ({"writeAllow": ["src/**"], "limits": {"workspaceMiB": 100}}, "limits.fileMiB"),
        ({"writeAllow": ["src/**"], "bindings": [{"git": {"host": "code.example.com"}}]}, "bindings"),
        ({"writeAllow": ["a"], "push": {"branches": []}, "bindings": [{"git": {"host": "file"}}]}, "push.branches"),
    ],
)
def test_what_is_legal_and_may_not_be_meant_is_told(keys: dict[str, Any], key: str) -> None:
    assert [surprise.key for surprise in surprises(policy(**keys))] == ([key] if key else [])


@pytest.mark.parametrize(
    "keys",
    [
        P0,
        {"writeAllow": ["**"], "writeDeny": ["**/.env*"]},
        {"writeAllow": ["src/*.ts"], "writeDeny": ["src/a.ts"]},
        {"writeAllow": ["[ab].txt"], "writeDeny": ["b.txt"]},
        {"writeAllow": ["src/**"], "limits": {"runSeconds": 300, "commandSeconds": 300}},
        {"writeAllow": ["src/**"], "limits": {"workspaceMiB": 512, "fileMiB": 512}},
        {"rewriteAllow": ["src/**"]} | {"writeAllow": ["src/**"]},
        {"writeAllow": ["**/"], "writeDeny": ["src/**"]},
        {"writeAllow": ["**/*.md"], "writeDeny": ["*/**/*.md"]},
        {"writeAllow": ["docs/"], "writeDeny": ["x/**"]},
        {"writeAllow": ["a/**/b"], "writeDeny": ["a/*/b"]},
        {"writeAllow": ["src/*.ts", "*.md"], "writeDeny": ["src/**/*.md"]},
        {"writeAllow": ["[!ab].txt"], "writeDeny": ["[ab!].txt"]},
        {"writeAllow": ["docs/**"], "writeDeny": ["docs/private/**"]},
        {"writeAllow": ["src/**"], "bindings": [{"git": {"host": "file"}}]},
    ],
)
def test_what_has_an_effect_is_not_told(keys: dict[str, Any]) -> None:
    assert surprises(policy(**keys)) == ()


def test_limits_are_compared_with_the_hosts_memory_when_it_is_told() -> None:
    document = policy(writeAllow=["src/**"])
    assert surprises(document, host_memory_mib=4096) == ()
    told = surprises(document, host_memory_mib=4095)
    assert [surprise.key for surprise in told] == ["limits.memoryMiB"]
    assert "4096 MiB" in told[0].text and "4.0 GiB" in told[0].text


@pytest.mark.parametrize("name", [name for name in preset_names() if name != "read-only"])
def test_no_preset_surprises(name: str) -> None:
    told = {surprise.key for surprise in surprises(load_policy(name).policy)}
    assert told <= {"rewriteAllow"}, told


# The effective policy

_KEY_ROW = re.compile(r"^\| `([A-Za-z.]+)` \|.*\| ([^|]+) \|$", re.MULTILINE)


def test_the_reference_says_the_same_kinds() -> None:
    told = dict(_KEY_ROW.findall((ROOT / "docs" / "POLICY.md").read_text(encoding="utf-8").partition("## Patterns")[0]))
    shown = {key: kind_of(key) for key in flat(effective(policy())["policy"])}
    assert set(shown) <= set(told)
    for key, kind in shown.items():
        said = told["writeAllow"] if told[key].startswith("as `writeAllow`") else told[key]
        if kind is None:
            assert "boundary" not in said and "guard rail" not in said, key
        else:
            assert said.startswith(kind.partition(",")[0]), key
            assert ("boundary" in said) == (kind != GUARD_RAIL), key


def test_an_absent_rewrite_list_takes_effect_as_the_write_list() -> None:
    shown = effective(policy(writeAllow=["a"]))
    assert shown["policy"]["rewriteAllow"] == ["a"]
    assert list(differing_keys(policy(writeAllow=["a"]), policy(writeAllow=["a"], rewriteAllow=["a"]))) == []


def test_differing_keys_are_dotted_and_have_both_values() -> None:
    found = list(differing_keys(policy(limits={"pids": 99}), policy(env={"A": "1"})))
    assert found == [("limits.pids", 99, 512), ("env", {}, {"A": "1"})]


def test_what_takes_effect_is_told_with_where_may_be_written_and_what_holds_it() -> None:
    keys = {"writeAllow": ["a", "b"], "rewriteAllow": ["b", "c"], "appendOnly": ["d"], "writeDeny": ["e"]}
    shown = effective(policy(**keys))
    assert set(shown) == {"policy", "writable", "argvRules", "kinds"}
    never = shown["writable"].pop("never")
    assert never[0].startswith(".git") and never[1:] == ["e"]
    assert shown["writable"] == {"create": ["a", "b", "c"], "rewriteAndExecute": ["b", "c"], "onlyAddLines": ["d"]}
    assert shown["kinds"]["push.branches"] == "boundary"
    assert "version" not in shown["kinds"]
    assert shown["policy"]["push"]["forbid"] == ["symlink", "gitlink", "ci"]


def test_each_rule_for_command_lines_is_told_with_its_answer_and_its_reason() -> None:
    examples = {"match": [["git", "stash"]], "noMatch": [["git", "log"]]}
    own: dict[str, Any] = {"reason": "Because.", "match": ["git", "stash"], "examples": examples}
    rules = [
        {**own, "id": "a", "decision": "deny"},
        {**own, "id": "b", "decision": "deny", "code": "git_hooks_skip_refused"},
        {**own, "id": "c", "decision": "allow"},
    ]
    told = effective(policy(argv={"preset": "strict", "rules": rules}))["argvRules"]
    assert told[:3] == [
        {"id": "own.a", "answer": "bin_not_allowlisted", "reason": "Because."},
        {"id": "own.b", "answer": "git_hooks_skip_refused", "reason": "Because."},
        {"id": "own.c", "answer": "allow", "reason": "Because."},
    ]
    answers = {rule["id"]: rule["answer"] for rule in told}
    assert (answers["git.push.verb"], answers["argv.strict"]) == ("git_push_via_run_command", "allow")
    assert all(set(rule) == {"id", "answer", "reason"} and rule["reason"] for rule in told)


def test_own_rules_come_before_those_that_ship() -> None:
    strict = effective(load_policy("strict").policy)["argvRules"]
    assert [rule["id"] for rule in strict][:2] == ["own.no-stash-drop", "own.vitest"]
    shipped = {rule["id"] for rule in effective(policy())["argvRules"]}
    assert "git.push.verb" in shipped and not [name for name in shipped if name.startswith("strict.")]
