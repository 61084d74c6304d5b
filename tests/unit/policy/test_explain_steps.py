"""Which steps an explanation has, and the rule that they lead to. What a step says of its finding is for people."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.doors.calls import Call
from runner.doors.policy_calls import explain_call
from runner.policy.explain import PushFacts
from runner.policy.facts_file import DescribedTree, Fact, FactState, Place
from runner.policy.steps import Explanation
from tests.support.policies import P0, policy

CALLS: list[tuple[str, object, dict[str, str], str, str]] = [
    ("workspace.read_file", {"path": "src/a"}, {}, "arguments, budget, path, real path", "budget.distinct"),
    ("workspace.read_file", {"path": "../x"}, {}, "arguments, budget, refused", "path.outside"),
    ("workspace.list_dir", {}, {}, "arguments, budget, path, real path", "budget.distinct"),
    ("workspace.search", {"pattern": "x"}, {}, "arguments, budget", "budget.distinct"),
    (
        "workspace.write_file",
        {"path": "src/new", "content": ""},
        {},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow, appendOnly",
        "write.allow.created",
    ),
    (
        "workspace.write_file",
        {"path": "src/app", "content": ""},
        {"src/app": "existed"},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow, appendOnly",
        "write.allow.rewrite",
    ),
    (
        "workspace.write_file",
        {"path": "src/app", "content": ""},
        {"src/app": "changed"},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow, appendOnly",
        "write.allow.rewrite",
    ),
    (
        "workspace.write_file",
        {"path": "docs/own", "content": ""},
        {"docs/own": "created"},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow, appendOnly",
        "write.allow.created",
    ),
    (
        "workspace.write_file",
        {"path": "docs/old", "content": ""},
        {"docs/old": "existed"},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow, appendOnly",
        "write.rewrite.none",
    ),
    (
        "workspace.write_file",
        {"path": "src/.git/x", "content": ""},
        {},
        "arguments, path, real path, provenance, .git",
        "write.deny.git",
    ),
    (
        "workspace.write_file",
        {"path": "src/secret/x", "content": ""},
        {},
        "arguments, path, real path, provenance, .git, writeDeny",
        "write.deny.pattern",
    ),
    (
        "workspace.write_file",
        {"path": "src/l", "content": ""},
        {"src/l": "link"},
        "arguments, path, real path, provenance, .git, writeDeny, links",
        "write.deny.link",
    ),
    (
        "workspace.write_file",
        {"path": "README.md", "content": ""},
        {},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow",
        "write.allow.none",
    ),
    (
        "workspace.write_file",
        {"path": "notes/log.md", "content": "a\n"},
        {"notes/log.md": "existed"},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow, appendOnly, lines",
        "write.allow.append",
    ),
    (
        "workspace.delete_file",
        {"path": "notes/log.md"},
        {"notes/log.md": "existed"},
        "arguments, path, real path, provenance, .git, writeDeny, links, writeAllow, rewriteAllow, appendOnly",
        "append.delete",
    ),
    ("workspace.write_file", {"path": "../x", "content": ""}, {}, "arguments, refused", "path.outside"),
    (
        "workspace.run_command",
        {"argv": ["node", "src/app.mjs"]},
        {},
        "arguments, program, words, tree, rule",
        "argv.default",
    ),
    ("workspace.run_command", {"argv": ["ls"]}, {}, "arguments, program, rule", "argv.bin"),
    (
        "workspace.run_command",
        {"argv": ["node", "scratch/a.mjs"]},
        {"scratch/a.mjs": "created"},
        "arguments, program, words, tree, rule",
        "scratch.node.file",
    ),
    (
        "workspace.run_command",
        {"argv": ["git", "-c", "alias.up=push", "up"]},
        {},
        "arguments, program, global options, verb, alias, words, rule",
        "git.push.verb",
    ),
    ("git", {"args": "status"}, {}, "arguments, program, global options, verb, words, rule", "argv.default"),
    ("git", {"args": "-C src push x"}, {}, "arguments, program, global options, verb, words, rule", "git.push.verb"),
    ("git", {"args": ""}, {}, "refused", "argv.required"),
    ("git", {"args": "--version"}, {}, "arguments, program, global options, verb, words, rule", "argv.default"),
    ("git", {"args": "'"}, {}, "refused", "argv.form"),
    ("workspace.git_commit", {"message": "x"}, {}, "arguments, changes", "commit.allow"),
    (
        "workspace.git_commit",
        {"message": "x"},
        {"src/a": "existed", "README.md": "created"},
        "arguments, change",
        "write.allow.none",
    ),
    ("workspace.git_push", {}, {}, "arguments, branch", "push.allow"),
    (
        "workspace.git_push",
        {},
        {"src/a": "created", "src/l": "link"},
        "arguments, branch, change",
        "push.forbid.symlink",
    ),
    ("frobnicate", {}, {}, "refused", "arguments"),
]


def explained(
    tool: str, arguments: object, facts: dict[str, Fact] | None = None, *, leaving: PushFacts | None = None, **keys: Any
) -> Explanation:
    document = policy(**{**P0, **keys})
    return explain_call(
        document, Call(None, tool, arguments), DescribedTree(facts or {}), leaving or PushFacts("agent/x")
    )


def found(explanation: Explanation, name: str) -> list[str]:
    return [step.found for step in explanation.steps if step.name == name]


def run(*argv: str, facts: dict[str, Fact] | None = None, **keys: Any) -> Explanation:
    return explained("workspace.run_command", {"argv": list(argv)}, facts, **keys)


@pytest.mark.parametrize(("tool", "arguments", "facts", "steps", "rule"), CALLS)
def test_the_steps_of_a_call_end_at_the_rule_that_decides(
    tool: str, arguments: object, facts: dict[str, str], steps: str, rule: str
) -> None:
    explanation = explained(tool, arguments, {path: Fact(FactState(state)) for path, state in facts.items()})
    names = [step.name for step in explanation.steps]
    once = [name for number, name in enumerate(names) if number == 0 or names[number - 1] != name]
    assert (", ".join(once), explanation.decision.rule) == (steps, rule)


def test_gits_words_are_taken_apart_with_their_aliases() -> None:
    explanation = run("git", "--no-pager", "-c", "alias.Up=push", "UP", "x")
    assert found(explanation, "global options") == ["`--no-pager` `-c=alias.Up=push`"]
    assert (found(explanation, "verb"), found(explanation, "words")) == (["`UP`"], ["`x`"])
    assert found(explanation, "alias") == ["`UP` is `push`"]
    assert found(run("git", "--html-path"), "verb") == ["none"]
    assert found(run("git", "log"), "alias") == []


def test_a_canonical_spelling_is_told_where_it_differs() -> None:
    strict = run("git", "status", "-s", argv={"preset": "strict"})
    assert found(strict, "runs as") == ["`git` `--no-pager` `-c` `core.fsmonitor=false` `status` `--short`"]
    assert found(run("git", "status", "-s"), "runs as") == []


def test_a_long_command_line_is_told_by_its_beginning() -> None:
    words = [f"w{number}" for number in range(13)]
    assert found(run("node", "-e", "1", *words[:9]), "words")[0].endswith("`w8`")
    assert found(run("node", "-e", "1", *words[:10]), "words")[0].endswith("`w9`")
    assert found(run("node", "-e", "1", *words), "words")[0].endswith("`w9` and 3 more")


def test_scripts_are_followed_by_name_and_told_once() -> None:
    scripts = {"a": "npm run b && npm run a", "b": "echo c", "c": "echo", "d": "echo"}
    manifest = Fact(FactState.EXISTED, "\ufeff" + json.dumps({"scripts": scripts}))
    explanation = run("npm", "run", "a", facts={"package.json": manifest})
    assert found(explanation, "script") == ["`a` is `npm run b && npm run a`", "`b` is `echo c`", "`c` is `echo`"]
    assert found(run("npm", "run", "a", facts={"package.json": Fact(FactState.EXISTED, "{}")}), "script") == []
    assert found(run("npm", "run", "a", facts={"package.json": Fact(FactState.EXISTED, "{")}), "script") == []
    assert found(run("npm", "run", "a", facts={"package.json": Fact(FactState.EXISTED)}), "script") == []


def test_at_most_twelve_scripts_and_twelve_questions_are_told() -> None:
    scripts = {f"s{number}": f"npm run s{number + 1}" for number in range(20)}
    manifest = Fact(FactState.EXISTED, json.dumps({"scripts": scripts}))
    assert len(found(run("npm", "run", "s0", facts={"package.json": manifest}), "script")) == 12
    asked = found(run("node", "a", "--x"), "tree")
    assert len(asked) <= 13
    many = found(run("node", "--import", "./b", "a"), "tree")
    assert len(many) == 13 and many[-1].endswith("more questions")


def test_what_was_asked_of_the_tree_is_told_with_the_answer() -> None:
    facts = {"scratch/a.mjs": Fact(FactState.CREATED), "src/b.mjs": Fact(FactState.EXISTED)}
    asked = found(run("node", "scratch/a.mjs", facts=facts), "tree")
    assert asked == ["`scratch/a.mjs` is a file", "`scratch/a.mjs` made by the run: yes"]
    assert "`src/b.mjs` made by the run: no" in found(run("node", "src/b.mjs", facts=facts), "tree")
    assert "`gone` is not there" in found(run("node", "gone", facts=facts), "tree")
    assert "made by the run: `scratch/a.mjs`" in found(run("node", "--test", facts=facts), "tree")


def test_a_program_is_told_to_be_one_of_those_allowed_or_not() -> None:
    assert found(run("node"), "program") != found(run("node", bins=["git"]), "program")
    assert "not" in found(run("node", bins=["git"]), "program")[0]


def test_a_look_is_told_with_its_bound() -> None:
    look = ("workspace.read_file", {"path": "src/a"})
    assert "of 7" in found(explained(*look, budget={"distinct": 7}), "budget")[0]
    assert "without bound" in found(explained(*look, budget={"distinct": None}), "budget")[0]


def test_the_default_branch_that_is_told_is_the_one_that_is_refused() -> None:
    refused = explained("workspace.git_push", {}, leaving=PushFacts("dev", "dev"))
    assert refused.decision.rule == "push.branch.default"
    assert "`dev`" in found(refused, "branch")[0]
    assert explained("workspace.git_push", {}, leaving=PushFacts("trunk", "dev")).decision.allowed


def test_a_push_of_one_commit_fits_where_one_may_leave() -> None:
    facts = {"src/a": Fact(FactState.CREATED), "README.md": Fact(FactState.CREATED)}
    explanation = explained("workspace.git_push", {}, facts, leaving=PushFacts("agent/x"), push={"maxCommits": 1})
    assert [line.partition(": ")[2] for line in found(explanation, "change")] == ["write.allow.none", "may be"]
    assert [step.name for step in explanation.steps] == ["arguments", "branch", "change", "change"]


def test_a_link_that_a_commit_makes_is_a_new_one_and_a_missing_file_was_there() -> None:
    facts = {"src/l": Fact(FactState.LINK), "docs/gone": Fact(FactState.MISSING), "docs/new": Fact(FactState.CREATED)}
    explanation = explained("workspace.git_commit", {"message": "x"}, facts)
    told = dict(line.split(": ") for line in found(explanation, "change"))
    assert told == {"`docs/gone`": "write.rewrite.none", "`docs/new`": "may be", "`src/l`": "may be"}


class Outside(DescribedTree):
    """A tree where every path leads out."""

    def place(self, path: str) -> Place:
        return Place(None, via_link=True)


@pytest.mark.parametrize(
    ("tool", "arguments", "outcome"),
    [
        ("workspace.read_file", {"path": "src/a"}, "path_outside_workspace"),
        ("workspace.list_dir", {"path": "src"}, "path_outside_workspace"),
        ("workspace.write_file", {"path": "src/a", "content": ""}, "workspace_write_not_allowed"),
    ],
)
def test_a_path_that_leads_out_is_refused_with_a_step_that_says_so(tool: str, arguments: object, outcome: str) -> None:
    explanation = explain_call(policy(**P0), Call(None, tool, arguments), Outside({}), PushFacts())
    assert (explanation.outcome, explanation.decision.rule) == (outcome, "path.outside")
    assert found(explanation, "real path") == ["outside the workspace"]
    assert explanation.decision.hint


def test_the_lines_of_an_add_only_file_are_a_step_of_their_own() -> None:
    told = {"notes/log.md": Fact(FactState.EXISTED, "a\nb\n")}
    kept = explained("workspace.write_file", {"path": "notes/log.md", "content": "a\nb\nc\n"}, told)
    lost = explained("workspace.write_file", {"path": "notes/log.md", "content": "a\n"}, told)
    assert (found(kept, "lines"), kept.decision.rule) == (["all kept"], "append.lines-kept")
    assert (found(lost, "lines"), lost.decision.rule) == ([lost.decision.message], "append.line-lost")


def test_a_path_through_a_link_is_told_with_where_it_leads() -> None:
    look = explained("workspace.read_file", {"path": "src/l"}, {"src/l": Fact(FactState.LINK)})
    assert found(look, "real path") == ["`src/l`, through a link"]


class Aliased(DescribedTree):
    """A tree whose git has an alias."""

    def git_aliases(self) -> dict[str, str]:
        return {"up": "push origin"}


def test_an_alias_of_the_repositorys_own_is_told() -> None:
    call = Call(None, "git", {"args": "up x"})
    explanation = explain_call(policy(**P0), call, DescribedTree({}, Aliased({})), PushFacts())
    assert found(explanation, "alias") == ["`up` is `push origin`"]
    assert explanation.decision.rule == "git.push.verb"


def test_each_word_that_names_a_script_is_followed() -> None:
    manifest = Fact(FactState.EXISTED, json.dumps({"scripts": {"a": "echo", "b": "echo"}}))
    explanation = run("npm", "run", "a", "b", facts={"package.json": manifest})
    assert found(explanation, "script") == ["`a` is `echo`", "`b` is `echo`"]


def test_an_allowed_commit_is_allowed_by_its_rule() -> None:
    allowed = explained("workspace.git_commit", {"message": "x"}, {"src/a": Fact(FactState.CREATED)})
    assert allowed.decision.rule == "commit.allow"


def test_each_finding_of_a_write_says_what_was_found() -> None:
    def one(path: str, name: str, state: FactState | None = None, **keys: Any) -> str:
        facts = {path: Fact(state)} if state else {}
        return found(explained("workspace.write_file", {"path": path, "content": ""}, facts, **keys), name)[0]

    existed, created, link = FactState.EXISTED, FactState.CREATED, FactState.LINK
    assert one("src/.git/x", ".git") == "named"
    assert one("src/a", ".git") != "named"
    assert "`src/secret/**`" in one("src/secret/x", "writeDeny")
    assert "`src/**`" in one("src/a", "writeAllow") and "`src/**`" in one("src/a", "rewriteAllow")
    assert "`" not in one("README.md", "writeAllow") and "`" not in one("src/a", "writeDeny")
    assert one("src/a", "links") != one("src/l", "links", link)
    assert one("src/a", "provenance", existed) != one("src/a", "provenance", created)
    assert one("src/a", "provenance").startswith(one("src/a", "provenance", created) + ", ")
    assert len({one("notes/log.md", "appendOnly", state) for state in (existed, created)}) == 2
    assert one("src/a", "appendOnly", existed) != one("notes/log.md", "appendOnly", existed)
    assert one("src/a", "real path") == "`src/a`"
    assert one("src/l", "real path", link) != "`src/l`"
