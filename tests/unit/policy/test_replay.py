"""Recorded runs judged again: by their own policy nothing differs, by another just what that one says otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.doors.policy_calls import ground_of
from runner.engine.fake import FakeCall, FakeOutcome, FakeSandbox
from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import TreeChange
from runner.policy.answers import MAX_ANSWER_BYTES, RecordedTree, RecordingTree, Unrecorded
from runner.policy.basis import MAX_CHANGES, Basis, push_decision_of
from runner.policy.budget import Ground
from runner.policy.changes import BaseTree, ChangeFacts, JudgedChanges, Violation, judge_changes
from runner.policy.document import Policy
from runner.policy.facts_file import DescribedTree, Fact, FactState
from runner.policy.redaction import MAX_KEPT_BYTES, digest_of, is_digest, redact_arguments
from runner.policy.rejudge import Rejudge
from runner.policy.replay import Rejudged, recorded_calls, rejudge_run
from runner.policy.writes import WriteRules
from tests.support.examples import examples
from tests.support.fake_run import FakeRun, fake_run
from tests.support.policies import P0, policy

READ_ONLY = policy(push={"branches": []})
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_file", {"path": "README.md"}),
    ("read_file", {"path": "README.md"}),
    ("read_file", {"path": "gone"}),
    ("list_dir", {}),
    ("search", {"pattern": "red"}),
    ("write_file", {"path": "src/n.txt", "content": "a\n"}),
    ("write_file", {"path": "README.md", "content": "a\n"}),
    ("write_file", {"path": "../out", "content": "a\n"}),
    ("write_file", {"path": "src/link-out", "content": "a\n"}),
    ("write_file", {"path": "notes/log.md", "content": "a\nb\nc\nd\n"}),
    ("write_file", {"path": "notes/log.md", "content": "a\n"}),
    ("edit", {"path": "src/dup.txt", "oldString": "blue", "newString": "green"}),
    ("edit", {"path": "src/dup.txt", "oldString": "absent", "newString": "green"}),
    ("delete_file", {"path": "src/crlf.txt"}),
    ("delete_file", {"path": "docs/CHANGELOG.md"}),
    ("run_command", {"argv": ["node", "--version"]}),
    ("run_command", {"argv": ["pnpm", "run", "hi"]}),
    ("run_command", {"argv": ["bash", "-c", "ls"]}),
    ("run_command", {"argv": ["node", "scratch/old.mjs"]}),
    ("git", {"args": "push origin HEAD"}),
    ("git", {"args": "status"}),
    ("git", {"args": "commit -n -m x"}),
    ("git_commit", {"message": "x"}),
    ("git_push", {}),
    ("read_file", {"path": 7}),
    ("frobnicate", {}),
)


def replayed(run: FakeRun, document: Policy) -> list[Rejudged]:
    return rejudge_run(document, recorded_calls(run.events()), ground_of)


def differing(judged: Iterable[Rejudged]) -> dict[int, str | None]:
    return {one.call.seq: one.would for one in judged if one.differs}


def undecided(judged: Iterable[Rejudged]) -> list[int]:
    return [one.call.seq for one in judged if one.would is None]


def test_a_run_replayed_by_its_own_policy_differs_nowhere(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for tool, arguments in CALLS:
            run.call(tool, **arguments)
        judged = replayed(run, run.policy)
    assert len(judged) == len(CALLS)
    assert (differing(judged), undecided(judged)) == ({}, [])


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(st.sampled_from(CALLS), max_size=25),
    rereads=st.integers(0, 3),
    distinct=st.integers(1, 4),
    denials=st.none() | st.integers(1, 6),
)
def test_any_run_replayed_by_its_own_policy_differs_nowhere(
    tmp_path_factory: pytest.TempPathFactory,
    calls: list[tuple[str, dict[str, Any]]],
    rereads: int,
    distinct: int,
    denials: int | None,
) -> None:
    budget = {"distinct": distinct, "rereads": rereads, "denials": denials}
    with fake_run(tmp_path_factory.mktemp("run"), budget=budget) as run:
        for tool, arguments in calls:
            run.call(tool, **arguments)
        judged = replayed(run, run.policy)
    assert (differing(judged), undecided(judged)) == ({}, [])


def test_under_read_only_exactly_the_writes_would_be_refused(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for tool, arguments in CALLS:
            run.call(tool, **arguments)
        judged = replayed(run, READ_ONLY)
    refused = {one.call.seq: one.would for one in judged if one.differs and one.would != "ok"}
    named = {seq: (CALLS[seq - 1][0], would) for seq, would in refused.items()}
    assert named == {
        6: ("write_file", "workspace_write_not_allowed"),
        10: ("write_file", "workspace_write_not_allowed"),
        11: ("write_file", "workspace_write_not_allowed"),
        12: ("edit", "workspace_write_not_allowed"),
        13: ("edit", "workspace_write_not_allowed"),
        14: ("delete_file", "workspace_write_not_allowed"),
        15: ("delete_file", "workspace_write_not_allowed"),
    }


def test_a_call_that_the_recorded_policy_refused_and_the_other_allows_is_told(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("write_file", path="README.md", content="x")
        judged = replayed(run, policy(writeAllow=["**"]))
    assert differing(judged) == {1: "ok"}


def test_a_smaller_budget_refuses_the_calls_that_it_would_have_refused(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for path in ("README.md", "README.md", "src/app.mjs", "docs/guide.md", "README.md"):
            run.call("read_file", path=path)
        judged = replayed(run, policy(**P0, budget={"distinct": 2, "rereads": 1}))
    assert differing(judged) == {4: "exploration_budget_exceeded", 5: "exploration_budget_exceeded"}
    assert [one.rule for one in judged if one.differs] == ["budget.distinct", "budget.rereads"]


def test_a_write_that_the_other_policy_refuses_gives_no_rereads_back(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for tool, arguments in (
            ("read_file", {"path": "README.md"}),
            ("write_file", {"path": "src/n.txt", "content": "x"}),
            ("read_file", {"path": "README.md"}),
        ):
            run.call(tool, **arguments)
        judged = replayed(run, policy(budget={"rereads": 0}))
    assert differing(judged) == {2: "workspace_write_not_allowed", 3: "exploration_budget_exceeded"}


def test_a_run_that_the_other_policy_would_have_ended_has_no_later_calls(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for path in ("gone", "gone", "README.md", "gone"):
            run.call("read_file", path=path)
        judged = replayed(run, policy(budget={"denials": 2}))
    assert [one.would for one in judged] == [
        "read_file_missing",
        "read_file_missing",
        "run_limit_exceeded",
        "run_limit_exceeded",
    ]


def test_lines_that_were_not_looked_at_are_undecidable_under_a_policy_that_asks_for_them(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("write_file", path="src/app.mjs", content="x")
        run.call("write_file", path="src/n.txt", content="x")
        run.call("edit", path="src/app.mjs", oldString="absent", newString="x")
        judged = replayed(run, policy(writeAllow=["src/**"], appendOnly=["src/**"]))
    assert (undecided(judged), differing(judged)) == ([1], {})


def test_a_lost_line_is_no_matter_where_the_other_policy_lets_the_file_be_rewritten(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("write_file", path="notes/log.md", content="other\n")
        judged = replayed(run, policy(writeAllow=["notes/**"]))
        kept = replayed(run, policy(**{**P0, "writeAllow": ["notes/**"]}))
    assert (differing(judged), differing(kept)) == ({1: "ok"}, {})


SCRIPTS = {"hi": "echo hi", "check": "tsc --noEmit"}


def scripted(tmp_path: Path, *argvs: list[str], scripts: Mapping[str, str] = SCRIPTS) -> FakeRun:
    sandbox = FakeSandbox()
    with fake_run(tmp_path, sandbox=sandbox) as run:
        sandbox.tree.put_file("package.json", json.dumps({"scripts": scripts, "secret": "TOPSECRET"}).encode())
        for argv in argvs:
            run.call("run_command", argv=argv)
        return run


def test_a_script_is_judged_again_by_the_text_that_it_had(tmp_path: Path) -> None:
    run = scripted(tmp_path, ["pnpm", "run", "check"], ["pnpm", "run", "hi"])
    judged = replayed(run, policy(**P0, verifyTask="verify"))
    assert (differing(judged), undecided(judged)) == ({}, [])
    assert "verify" in judged[0].hint
    assert "TOPSECRET" not in run.audit_file.read_text()


def test_a_question_that_was_never_asked_is_undecidable_and_not_guessed(tmp_path: Path) -> None:
    with fake_run(tmp_path, bins=["git"]) as run:
        run.call("run_command", argv=["node", "src/app.mjs"])
        judged = replayed(run, policy(**P0))
    assert undecided(judged) == [1]
    assert "src/app.mjs" in judged[0].message


def test_execution_of_a_made_file_is_judged_by_the_other_policys_full_write_paths(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("write_file", path="src/new.mjs", content="x")
        run.call("run_command", argv=["node", "src/new.mjs"])
        judged = replayed(run, policy(**{**P0, "rewriteAllow": ["tests/**"]}))
    assert differing(judged) == {2: "scratch_execution_refused"}


def test_a_rule_of_the_other_policy_refuses_what_it_matches(tmp_path: Path) -> None:
    rule = {
        "id": "no-stash",
        "reason": "work is committed",
        "match": {"git": {"verb": "stash"}},
        "decision": "deny",
        "examples": {"match": [["git", "stash"]], "noMatch": [["git", "status"]]},
    }
    with fake_run(tmp_path) as run:
        run.call("git", args="stash pop")
        run.call("git", args="status")
        judged = replayed(run, policy(**P0, argv={"rules": [rule]}))
    assert differing(judged) == {1: "bin_not_allowlisted"}


def test_aliases_are_judged_as_they_were(tmp_path: Path) -> None:
    def git(call: FakeCall) -> FakeOutcome:
        return FakeOutcome(stdout=b"alias.up\npush origin\0") if "config" in call.argv else FakeOutcome()

    sandbox = FakeSandbox()
    sandbox.programs["git"] = git
    with fake_run(tmp_path, sandbox=sandbox) as run:
        run.call("git", args="up")
        judged = replayed(run, policy(**P0))
    assert (judged[0].would, differing(judged)) == ("git_push_via_run_command", {})


# What the audit holds


def test_the_log_keeps_what_decisions_are_made_on_and_no_content(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("write_file", path="src/n.txt", content="SECRET-1")
        run.call("edit", path="src/dup.txt", oldString="blue", newString="SECRET-2")
        run.call("git_commit", message="SECRET-3")
        run.call("run_command", argv=["node", "--env-file=src/n.txt", "src/app.mjs"])
        events = run.events()
        text = run.audit_file.read_text()
    assert not [word for word in ("SECRET-1", "SECRET-2", "SECRET-3") if word in text]
    started, decision = events[0]["data"], events[1]["data"]
    assert started["arguments"]["path"] == "src/n.txt"
    assert is_digest(started["arguments"]["content"]) and started["arguments"]["content"]["bytes"] == 8
    assert (decision["basis"], decision["subject"]) == (1, {"kind": "write", "op": "write", "path": "src/n.txt"})
    assert decision["facts"] == {"real_path": "src/n.txt", "via_link": False, "existed_at_start": False}


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": {"content": "SECRET"}},
        {"argv": ["node", ["SECRET"]]},
        {"unknown": "SECRET"},
        ["SECRET"],
        "SECRET",
        {"limit": "SECRET"},
        {"argv": ["SECRET" * MAX_KEPT_BYTES]},
        {"path": "SECRET" * MAX_KEPT_BYTES},
    ],
)
def test_what_is_in_the_wrong_place_or_too_long_is_kept_as_a_digest(arguments: object) -> None:
    kept = redact_arguments(arguments)
    assert "SECRET" not in json.dumps(kept)
    assert is_digest(kept) or all(is_digest(value) for value in kept.values())


def test_arguments_that_were_cut_make_a_call_undecidable(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("search", pattern="x" * (MAX_KEPT_BYTES + 1))
        run.call("run_command", argv=["node", "-e", "x" * MAX_KEPT_BYTES])
        judged = replayed(run, run.policy)
    assert undecided(judged) == [1, 2]


def test_answers_of_one_decision_are_bounded_and_what_did_not_fit_is_unrecorded() -> None:
    facts = {f"src/{number:05}.mjs": Fact(FactState.CREATED) for number in range(4000)}
    tree = RecordingTree(DescribedTree(facts))
    for path in facts:
        tree.kind(path)
    tree.created_files()
    answers = tree.answers()
    assert answers["cut"] is True and len(json.dumps(answers)) < 2 * MAX_ANSWER_BYTES
    with pytest.raises(Unrecorded):
        RecordedTree(answers).kind("src/03999.mjs")
    with pytest.raises(Unrecorded):
        RecordedTree(answers).created_files()


def test_a_log_from_before_facts_were_kept_is_undecidable() -> None:
    lines = [
        {"event": "call.started", "data": {"seq": 1, "tool": "workspace.write_file"}},
        {"event": "decision", "data": {"seq": 1, "allowed": True, "rule": "write.allow.created", "code": None}},
        {"event": "call.finished", "data": {"seq": 1, "tool": "workspace.write_file", "ok": True, "code": None}},
    ]
    assert undecided(rejudge_run(policy(), recorded_calls(lines), ground_of)) == [1]


def test_a_log_that_ends_before_its_call_does_is_undecidable() -> None:
    lines = [{"event": "call.started", "data": {"seq": 1, "tool": "workspace.git_push", "arguments": {}}}]
    assert undecided(rejudge_run(policy(), recorded_calls(lines), ground_of)) == [1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("path old new base".split()), inner),
    max_leaves=5,
)
KINDS = ("write", "append", "argv", "commit", "branch", "push", "budget", "other")
ANY_POLICY = policy(**P0)
FACTS = ("real_path", "via_link", "existed_at_start", "changes", "commits", "lost", "kind", "text", "at_most_mib")


@settings(max_examples=examples(150), deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    subject=st.dictionaries(st.sampled_from(("op", "path", "argv", "tool", "branch", "default_branch")), JSON),
    facts=st.dictionaries(st.sampled_from(FACTS), JSON),
    version=st.sampled_from((1, 1, 1, 2, None)),
)
def test_a_record_in_any_shape_is_judged_or_unrecorded(
    kind: str, subject: dict[str, Any], facts: dict[str, Any], version: int | None
) -> None:
    try:
        Rejudge(ANY_POLICY)({"basis": version, "subject": {**subject, "kind": kind}, "facts": facts})
    except Unrecorded:
        pass


# Commits and pushes

FILE, LINK = 0o100644, 0o120000
BASE = BaseTree.of({"src/app.mjs": "b1", "notes/log.md": "b2", "src/Case.txt": "b3"})
BLOBS = {"b1": b"1\n", "b2": b"a\nb\n", "kept": b"a\nb\nc\n", "lost": b"b\n", "b3": b"", "n": b"n"}
RULES = WriteRules.compile(policy(**P0))


def change(path: str, old: str | None, new: str | None, mode: int = FILE) -> TreeChange:
    return TreeChange(path, None if old is None else FILE, None if new is None else mode, old, new)


COMMITS = (
    (change("src/app.mjs", "b1", "n"),),
    (change("src/new.txt", None, "n"),),
    (change("src/app.mjs", "b1", None),),
    (change("README.md", None, "n"),),
    (change("notes/log.md", "b2", "kept"),),
    (change("notes/log.md", "b2", "lost"),),
    (change("notes/log.md", "b2", "kept", LINK),),
    (change("notes/log.md", "b2", None),),
    (change("docs/case.txt", None, "n"), change("src/app.mjs", "b1", "n")),
    (change("src/case.TXT", None, "n"),),
    (change("src/l", None, "n", LINK),),
)


@pytest.mark.parametrize("changes", COMMITS)
def test_a_commit_is_judged_again_by_its_own_policy_as_it_was(changes: tuple[TreeChange, ...]) -> None:
    found = judge_changes(RULES, changes, ChangeFacts(BASE, BLOBS.__getitem__))
    basis = Basis.of_commit(RULES, changes, BASE, found)
    again = Rejudge(policy(**P0))(json.loads(json.dumps(basis.as_json())))
    assert (again.allowed, again.rule) == ((True, "commit.allow") if not found else (False, found[0].rule))


def recorded(basis: Basis) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(basis.as_json()))
    return loaded


def test_a_commits_record_has_each_path_with_its_modes_and_what_was_there() -> None:
    changes = (
        change("src/app.mjs", "b1", "n"),
        change("src/new.txt", None, "n", LINK),
        change("src/case.TXT", None, "n"),
        change("src/app.mjs", "b1", None),
        change("notes/log.md", "b2", "kept"),
        change("notes/log.md", "b2", None),
    )
    facts = recorded(Basis.of_commit(RULES, changes, BASE, ()))["facts"]
    assert facts == {
        "changes": [
            {"path": "src/app.mjs", "old": FILE, "new": FILE, "base": True},
            {"path": "src/new.txt", "old": None, "new": LINK, "base": False},
            {"path": "src/case.TXT", "old": None, "new": FILE, "base": False, "spelled": ["src/Case.txt"]},
            {"path": "src/app.mjs", "old": FILE, "new": None, "base": True},
            {"path": "notes/log.md", "old": FILE, "new": FILE, "base": True, "lines": "kept"},
            {"path": "notes/log.md", "old": FILE, "new": None, "base": True},
        ]
    }


def test_a_record_says_whether_lines_were_lost_and_nothing_where_another_rule_refused() -> None:
    def lines(change: TreeChange) -> object:
        found = judge_changes(RULES, [change], ChangeFacts(BASE, BLOBS.__getitem__))
        return recorded(Basis.of_commit(RULES, [change], BASE, found))["facts"]["changes"][0].get("lines")

    assert lines(change("notes/log.md", "b2", "kept")) == "kept"
    assert lines(change("notes/log.md", "b2", "lost")) == "lost"
    assert lines(change("notes/log.md", "b2", "kept", LINK)) is None


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("text", "what a commit changes"),
        ({"old": None, "new": FILE, "base": False}, "what a commit changes"),
        ({"path": 7, "old": None, "new": FILE, "base": False}, "what a commit changes"),
        ({"path": "src/a", "old": "x", "new": FILE, "base": False}, "modes"),
        ({"path": "src/a", "old": None, "new": "x", "base": False}, "modes"),
        ({"path": "src/a", "old": None, "new": FILE}, "was there"),
        ({"path": "src/a", "old": None, "new": FILE, "base": 1}, "was there"),
        ({"path": "src/a", "old": None, "new": FILE, "base": False, "spelled": "x"}, "was there"),
        ({"path": "notes/log.md", "old": FILE, "new": FILE, "base": True}, "lines of"),
        ({"path": "notes/log.md", "old": FILE, "new": FILE, "base": True, "lines": "some"}, "lines of"),
    ],
)
def test_a_change_that_is_not_told_whole_is_unrecorded(told: object, why: str) -> None:
    basis = {"basis": 1, "subject": {"kind": "commit"}, "facts": {"changes": [told]}}
    with pytest.raises(Unrecorded, match=why):
        Rejudge(policy(**P0))(basis)


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ({"path": "src/a", "old": None, "new": FILE, "base": False}, "commit.allow"),
        ({"path": "src/Case.TXT", "old": None, "new": FILE, "base": False, "spelled": ["src/b"]}, "commit.allow"),
        (
            {"path": "docs/Case.md", "old": None, "new": FILE, "base": False, "spelled": ["docs/case.md"]},
            "change.spelling",
        ),
        ({"path": "docs/a.md", "old": FILE, "new": FILE, "base": True}, "write.rewrite.none"),
        ({"path": "src/a", "old": FILE, "new": None, "base": True}, "commit.allow"),
        ({"path": "src/a", "old": None, "new": 0o777, "base": False}, "change.malformed"),
        ({"path": "notes/log.md", "old": FILE, "new": FILE, "base": True, "lines": "kept"}, "commit.allow"),
        ({"path": "notes/log.md", "old": FILE, "new": FILE, "base": True, "lines": "lost"}, "append.line-lost"),
        ({"path": "notes/log.md", "old": FILE, "new": 0o100755, "base": True, "lines": "kept"}, "append.mode"),
        ({"path": "notes/log.md", "old": FILE, "new": LINK, "base": True}, "append.kind"),
        ({"path": "notes/log.md", "old": FILE, "new": None, "base": True}, "append.delete"),
    ],
)
def test_a_recorded_change_is_judged_by_what_was_told_of_it(told: object, rule: str) -> None:
    decision = Rejudge(policy(**P0))({"basis": 1, "subject": {"kind": "commit"}, "facts": {"changes": [told]}})
    assert decision.rule == rule


def test_a_commit_is_judged_by_the_other_policys_patterns() -> None:
    basis = recorded(Basis.of_commit(RULES, COMMITS[0], BASE, ()))
    assert Rejudge(policy(writeAllow=["src/**"]))(basis).allowed
    assert Rejudge(policy(writeAllow=["tests/**"]))(basis).code == "workspace_commit_not_allowed"
    assert Rejudge(policy(writeAllow=["src/**"], rewriteAllow=[]))(basis).rule == "write.rewrite.none"


def test_a_commits_lines_are_unrecorded_where_only_the_other_policy_asks_for_them() -> None:
    basis = recorded(Basis.of_commit(RULES, COMMITS[0], BASE, ()))
    with pytest.raises(Unrecorded):
        Rejudge(policy(writeAllow=["src/**"], appendOnly=["src/**"]))(basis)


def test_a_commit_of_too_many_paths_to_keep_is_unrecorded() -> None:
    many = tuple(change(f"src/{number}", None, "n") for number in range(MAX_CHANGES + 1))
    basis = recorded(Basis.of_commit(RULES, many, BASE, ()))
    assert basis["facts"] == {"cut": True}
    with pytest.raises(Unrecorded):
        Rejudge(policy(**P0))(basis)


def test_a_push_is_judged_commit_by_commit_under_the_other_push_section() -> None:
    basis = recorded(Basis.of_push(RULES, [[JudgedChanges(COMMITS[n], (), BASE)] for n in (0, 10)], 200))
    allowing = {**P0, "push": {"forbid": []}}
    assert Rejudge(policy(**allowing))(basis).allowed
    assert Rejudge(policy(**P0))(basis).rule == "push.forbid.symlink"
    assert Rejudge(policy(**{**P0, "push": {"forbid": [], "maxCommits": 1}}))(basis).rule == "push.maxCommits"
    with pytest.raises(Unrecorded):  # the pack was within 200 MiB, and nobody noted by how much
        Rejudge(policy(**{**P0, "push": {"forbid": [], "maxMiB": 10}}))(basis)


def test_a_branch_is_judged_by_the_other_policys_patterns_and_the_recorded_default() -> None:
    basis = recorded(Basis.of_branch("agent/x", "main"))
    assert Rejudge(policy())(basis).allowed
    assert Rejudge(policy(push={"branches": ["bot/**"]}))(basis).rule == "push.branch.none"
    assert Rejudge(policy())(recorded(Basis.of_branch("MAIN", "main"))).rule == "push.branch.default"
    assert Rejudge(policy())(recorded(Basis.of_branch("trunk", "main"))).allowed
    assert Rejudge(policy())(recorded(Basis.of_branch("trunk", None))).rule == "push.branch.default-unknown"
    assert Rejudge(policy())(recorded(Basis.of_branch("agent/x", None))).allowed


def test_a_branch_without_a_record_of_the_default_one_is_unrecorded() -> None:
    basis = recorded(Basis.of_branch("agent/x", "main"))
    del basis["subject"]["default_branch"]
    with pytest.raises(Unrecorded):
        Rejudge(policy())(basis)


@pytest.mark.parametrize(("length", "kept"), [(1024, 1024), (1025, 1024)])
def test_an_overlong_branch_name_is_kept_by_its_beginning(length: int, kept: int) -> None:
    assert len(recorded(Basis.of_branch("x" * length, "main"))["subject"]["branch"]) == kept


def test_a_look_and_a_command_line_are_recorded_within_bounds() -> None:
    assert recorded(Basis.of_budget(Ground("file", "a", "1+2"))) == {
        "basis": 1,
        "subject": {"kind": "budget", "ground": {"kind": "file", "subject": "a", "detail": "1+2"}},
        "facts": {},
    }
    long = recorded(Basis.of_budget(Ground("search", "x" * (MAX_KEPT_BYTES + 1), "y" * 1025)))["subject"]["ground"]
    assert (len(long["subject"]), len(long["detail"])) == (MAX_KEPT_BYTES, 1024)
    fits, not_fits = ["x" * (MAX_KEPT_BYTES - 4)], ["x" * (MAX_KEPT_BYTES - 3)]
    assert recorded(Basis.of_argv(fits, "git", {}))["subject"] == {"kind": "argv", "tool": "git", "argv": fits}
    assert recorded(Basis.of_argv(not_fits, "git", {}))["subject"]["argv"] == digest_of(not_fits)


def test_as_many_paths_as_fit_are_recorded() -> None:
    changes = [change(f"src/{number}", None, "n") for number in range(MAX_CHANGES)]
    assert len(recorded(Basis.of_commit(RULES, changes, BASE, ()))["facts"]["changes"]) == MAX_CHANGES
    parts = [[JudgedChanges(tuple(changes[:1000]), (), BASE)], [JudgedChanges(tuple(changes[1000:]), (), BASE)]]
    assert [len(commit) for commit in recorded(Basis.of_push(RULES, parts, 9))["facts"]["commits"]] == [1000, 1000]


def test_an_allowed_push_and_a_refused_one_have_their_rules() -> None:
    assert push_decision_of(()) == Decision.allow("push.allow")
    lost = Violation("a", ErrorCode.WORKSPACE_APPEND_ONLY, "append.line-lost", "m")
    other = Violation("b", ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED, "write.allow.none", "m")
    assert push_decision_of([lost]).code is ErrorCode.WORKSPACE_APPEND_ONLY
    refused = push_decision_of([lost, other])
    assert (refused.code, refused.rule) == (ErrorCode.PUSH_POLICY_VIOLATION, "append.line-lost")
    assert refused.hint


@pytest.mark.parametrize(
    ("subject", "facts", "must"),
    [
        ({"kind": "write", "op": "write"}, {}, True),
        ({"kind": "write", "op": "edit"}, {}, True),
        ({"kind": "write", "op": "delete"}, {}, False),
        ({"kind": "argv", "op": "write"}, {}, False),
        ({"kind": "write", "op": "write"}, {"existed_at_start": False}, False),
        ({"kind": "write", "op": "write"}, {"real_path": "src/a"}, False),
        ([], {}, False),
    ],
)
def test_a_recorded_write_of_an_add_only_file_must_keep_its_lines(
    subject: object, facts: dict[str, Any], must: bool
) -> None:
    whole = {"real_path": "notes/log.md", "via_link": False, "existed_at_start": True, **facts}
    assert Rejudge(policy(**P0)).must_keep_lines({"subject": subject, "facts": whole}) is must


def test_lines_of_other_events_and_in_other_shapes_are_passed_over() -> None:
    lines: list[dict[str, Any]] = [
        {"event": "run.started", "data": {"seq": 9}},
        {"event": "call.started", "data": []},
        {"event": "call.started", "data": {"seq": "x"}},
        {"event": "decision", "data": {"seq": 2, "rule": "r"}},
        {"event": "call.started", "data": {"seq": 2, "tool": "git", "arguments": {"args": "log"}}},
        {"event": "call.finished", "data": {"seq": 2, "tool": "git", "ok": False, "code": "c"}},
        {"event": "call.finished", "data": {"seq": 1, "ok": True}},
        {"event": "call.started", "data": {"seq": 3, "tool": "git", "arguments": []}},
        {"event": "decision", "data": {"seq": 4}},
    ]
    one, two, three, four = recorded_calls(lines)
    assert (one.seq, one.tool, one.started, one.outcome) == (1, "", False, "ok")
    assert (two.tool, two.started, two.outcome, two.subject) == ("git", True, "c", "log")
    assert [decision["rule"] for decision in two.decisions] == ["r"]
    assert (three.arguments, three.outcome, three.subject) == (None, None, "")
    assert (four.tool, len(four.decisions)) == ("", 1)


def test_a_run_that_would_have_ended_says_so_by_the_budgets_rule(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for _ in range(3):
            run.call("write_file", path="src/n.txt", content="x")
        judged = replayed(run, policy(budget={"denials": 1}))
    assert [(one.would, one.rule) for one in judged[1:]] == [("run_limit_exceeded", "budget.denials")] * 2
    assert judged[1].message


def test_what_a_call_would_have_met_keeps_the_rule_of_its_decision(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("write_file", path="src/n.txt", content="x")
        run.call("edit", path="src/dup.txt", oldString="absent", newString="green")
        run.call("read_file", path="README.md")
        judged = replayed(run, run.policy)
    assert [one.rule for one in judged] == ["write.allow.created", "write.allow.rewrite", ""]


def test_a_refusal_by_the_budget_is_told_whole_and_a_look_decides_nothing_else(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        for path in ("README.md", "src/app.mjs"):
            run.call("read_file", path=path)
        judged = replayed(run, policy(**P0, budget={"distinct": 1}))
    assert (judged[1].would, judged[1].rule) == ("exploration_budget_exceeded", "budget.distinct")
    assert judged[1].message and judged[1].hint and judged[1].message != judged[1].hint


def test_a_call_that_writes_nothing_gives_no_rereads_back(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        run.call("read_file", path="README.md")
        run.call("run_command", argv=["node", "--version"])
        run.call("read_file", path="README.md")
        judged = replayed(run, policy(**P0, budget={"rereads": 0}))
    assert [one.would for one in judged] == ["ok", "ok", "exploration_budget_exceeded"]


def test_a_log_that_ends_early_is_undecided_with_a_reason() -> None:
    lines = [{"event": "call.started", "data": {"seq": 1, "tool": "git", "arguments": {}}}]
    judged = rejudge_run(policy(), recorded_calls(lines), ground_of)
    assert judged[0].would is None and judged[0].message


def test_a_decision_about_the_budget_is_not_judged_again_and_hides_no_other_one() -> None:
    write = {"kind": "write", "op": "write", "path": "README.md"}
    facts = {"real_path": "README.md", "via_link": False, "existed_at_start": True}
    lines: list[dict[str, Any]] = [
        {"event": "call.started", "data": {"seq": 1, "tool": "workspace.write_file", "arguments": {}}},
        {
            "event": "decision",
            "data": {"seq": 1, "basis": 1, "subject": {"kind": "budget"}, "facts": {}, "allowed": True},
        },
        {"event": "decision", "data": {"seq": 1, "basis": 1, "subject": write, "facts": facts, "allowed": True}},
        {"event": "call.finished", "data": {"seq": 1, "tool": "workspace.write_file", "ok": True}},
    ]
    judged = rejudge_run(policy(**P0), recorded_calls(lines), ground_of)
    assert (judged[0].would, judged[0].rule) == ("workspace_write_not_allowed", "write.allow.none")


def test_a_push_of_as_many_commits_as_may_leave_is_judged_commit_by_commit() -> None:
    basis = recorded(Basis.of_push(RULES, [[JudgedChanges(COMMITS[n], (), BASE)] for n in (3, 0)], 200))
    two = Rejudge(policy(**{**P0, "push": {"maxCommits": 2}}))(basis)
    assert (two.code, two.rule) == ("push_policy_violation", "write.allow.none")
    other = recorded(Basis.of_push(RULES, [[JudgedChanges(COMMITS[n], (), BASE)] for n in (0,)], 200))
    assert Rejudge(policy(**{**P0, "push": {"maxCommits": 1}}))(other).allowed


@pytest.mark.parametrize(
    ("subject", "facts", "why"),
    [
        ({"kind": "write", "op": "write", "path": "a"}, {}, "where the path leads"),
        ({"kind": "push"}, {"commits": [7]}, "what a commit changes"),
        ({"kind": "push"}, {}, "too many to keep"),
        ({"kind": "push"}, {"commits": []}, "size of the push"),
        ({"kind": "write", "op": "burn", "path": "a"}, {}, "what was to be done"),
        ({"kind": "dance"}, {}, "of the kind dance"),
    ],
)
def test_what_is_unrecorded_is_named(subject: dict[str, Any], facts: dict[str, Any], why: str) -> None:
    with pytest.raises(Unrecorded, match=why):
        Rejudge(ANY_POLICY)({"basis": 1, "subject": subject, "facts": facts})
