from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from runner.model.errors import ErrorCode, PolicyInvalid
from runner.model.tree import EntryKind
from runner.policy.argv_rules import ObligingTree, Rule
from runner.policy.argv_values import Preset
from runner.policy.load import load_policy, parse_policy
from tests.support.argv_trees import FakeTree
from tests.support.policies import policy
from tests.support.strict import judge


def rule(match: Any, *, hits: list[list[str]], misses: list[list[str]], **keys: Any) -> dict[str, Any]:
    """A rule as a policy file holds it."""
    whole = {"id": "one", "reason": "Because.", "decision": "deny", **keys}
    return {**whole, "match": match, "examples": {"match": hits, "noMatch": misses}}


def rules(*given: dict[str, Any], preset: Preset = "default") -> tuple[Rule, ...]:
    return policy(argv={"preset": preset, "rules": list(given)}).argv.rules


NO_STASH = rule({"git": {"verb": "stash"}}, hits=[["git", "stash"]], misses=[["git", "status"]], id="no-stash")


def test_a_rule_that_denies_carries_its_id_code_message_and_hint() -> None:
    own = rules({**NO_STASH, "code": "scratch_execution_refused", "message": "no stashes", "hint": "Commit."})
    decision = judge(["git", "stash"], preset="default", rules=own).decision
    assert (decision.rule, decision.code, decision.hint) == (
        "own.no-stash",
        ErrorCode.SCRATCH_EXECUTION_REFUSED,
        "Commit.",
    )
    assert decision.message == "Refused by own.no-stash: no stashes."
    plain = judge(["git", "stash"], preset="default", rules=rules(NO_STASH)).decision
    assert plain.code is ErrorCode.BIN_NOT_ALLOWLISTED
    assert plain.hint


@pytest.mark.parametrize(
    "argv",
    [
        ["git", "stash"],
        ["git", "-C", ".", "stash", "list"],
        ["git", "-c", "user.name=x", "stash"],
        ["git", "s", "x"],
        ["git", "-c", "alias.zz=stash", "zz"],
    ],
)
def test_a_verb_is_matched_behind_global_options_and_aliases(argv: list[str]) -> None:
    tree = FakeTree(aliases={"s": "t", "t": "stash push"})
    assert judge(argv, tree, preset="default", rules=rules(NO_STASH)).decision.rule == "own.no-stash"


def test_an_abbreviated_option_is_matched_by_its_full_name() -> None:
    own = rules(
        rule(
            {"git": {"verb": "commit", "args": ["**", "--amend", "**"]}},
            hits=[["git", "commit", "--amend", "-m", "x"]],
            misses=[["git", "commit", "-m", "amend"]],
        )
    )
    for preset in ("default", "strict"):
        for argv in (["git", "commit", "--am", "-m", "x"], ["git", "commit", "-a", "--amend"]):
            assert judge(argv, preset=preset, rules=own).decision.rule == "own.one", argv


@pytest.mark.parametrize(
    ("match", "hits", "misses"),
    [
        (["npm", "ls"], [["npm", "ls"]], [["npm", "ls", "x"], ["npm"], ["npm", "list"]]),
        (["npm", "*"], [["npm", "ls"], ["npm", ""]], [["npm"], ["npm", "ls", "x"]]),
        (["npm", "**"], [["npm"], ["npm", "a", "b"]], [["pnpm", "a"]]),
        (["npm", "**", "x"], [["npm", "x"], ["npm", "x", "x"]], [["npm", "x", "y"]]),
        (["npm", "**", "x", "**", "y"], [["npm", "a", "x", "x", "b", "y"]], [["npm", "y", "x"]]),
        (["npm", {"any": ["ls", "ex*"]}], [["npm", "ls"], ["npm", "exec"]], [["npm", "run"]]),
        (["npm", "a*b*c"], [["npm", "abc"], ["npm", "axbxbc"]], [["npm", "acb"], ["npm", "ab"]]),
        (["npm", "ab*ba"], [["npm", "abba"]], [["npm", "aba"]]),
        (["npm", "[a].?"], [["npm", "[a].?"]], [["npm", "axy"]]),
        ({"git": {"verb": {"any": ["log", "show"]}, "args": ["*"]}}, [["git", "log", "x"]], [["git", "log"]]),
    ],
)
def test_patterns_match_as_documented(match: Any, hits: list[list[str]], misses: list[list[str]]) -> None:
    assert rules(rule(match, hits=hits, misses=misses))


def test_the_first_rule_that_matches_decides() -> None:
    listing = rule(
        {"git": {"verb": "stash", "args": ["list"]}},
        hits=[["git", "stash", "list"]],
        misses=[["git", "stash"]],
        decision="allow",
        id="list",
    )
    own = rules(listing, NO_STASH)
    assert judge(["git", "stash", "list"], preset="default", rules=own).decision.rule == "own.list"
    assert judge(["git", "stash", "pop"], preset="default", rules=own).decision.rule == "own.no-stash"
    assert judge(["git", "log"], preset="default", rules=own).decision.rule == "argv.default"


FETCH = rule(
    {"git": {"verb": "fetch"}},
    hits=[["git", "fetch", "origin"]],
    misses=[["git", "pull"]],
    decision="allow",
    id="fetch",
)


def test_a_rule_that_allows_opens_what_strict_closes_and_nothing_else() -> None:
    own = rules(FETCH, preset="strict")
    opened = judge(["git", "-C", "src", "fetch", "origin"], rules=own)
    assert opened.decision.rule == "own.fetch"
    assert opened.argv == ("git", "-C", "src", "fetch", "origin")
    assert not judge(["git", "pull"], rules=own).decision.allowed
    assert not judge(["git", "--git-dir=.git", "fetch"], rules=own).decision.allowed
    assert not judge(["git", "-c", "http.proxy=x", "fetch"], rules=own).decision.allowed
    assert judge(["git", "fetch", "--upload-pack=x", "."], rules=own).decision.rule == "git.option.program"
    assert judge(["git", "fetch", "ext::x"], rules=own).decision.rule == "git.address.helper"
    # What strict knows stays in its spelling.
    wide = rules(rule(["git", "**"], hits=[["git", "fetch"]], misses=[["npm"]], decision="allow"), preset="strict")
    assert judge(["git", "diff"], rules=wide).argv[1] == "--no-pager"
    assert judge(["git", "push"], rules=wide).decision.code is ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
    assert judge(["bash"], rules=wide).decision.rule == "argv.bin"


def test_a_rule_that_denies_comes_before_the_built_in_ones() -> None:
    own = rules(rule(["git", "push", "**"], hits=[["git", "push"]], misses=[["git", "-C", ".", "push"]]))
    assert judge(["git", "push"], preset="default", rules=own).decision.rule == "own.one"
    assert judge(["git", "-C", ".", "push"], preset="default", rules=own).decision.rule == "git.push.verb"


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("an example that it does not match", {**NO_STASH, "examples": {"match": [["git", "log"]], "noMatch": [["npm"]]}}),
    (
        "a near miss that it matches",
        {**NO_STASH, "examples": {"match": [["git", "stash"]], "noMatch": [["git", "stash"]]}},
    ),
    ("no examples", {key: value for key, value in NO_STASH.items() if key != "examples"}),
    ("no near miss", {**NO_STASH, "examples": {"match": [["git", "stash"]], "noMatch": []}}),
    ("no example", {**NO_STASH, "examples": {"match": [], "noMatch": [["npm"]]}}),
    ("an empty example", {**NO_STASH, "examples": {"match": [[]], "noMatch": [["npm"]]}}),
    ("an unknown key", {**NO_STASH, "when": "x"}),
    ("an id with capitals", {**NO_STASH, "id": "NoStash"}),
    ("an empty reason", {**NO_STASH, "reason": " "}),
    ("a code of another tool", {**NO_STASH, "code": "edit_no_match"}),
    ("a code though it allows", {**FETCH, "code": "bin_not_allowlisted"}),
    ("a third decision", {**NO_STASH, "decision": "ask"}),
    ("no pattern", {**NO_STASH, "match": []}),
    ("a line as a pattern", {**NO_STASH, "match": "git stash"}),
    ("a pattern of another program", {**NO_STASH, "match": {"npm": {"verb": "ls"}}}),
    ("two stars within a word", {**NO_STASH, "match": ["git", "st**"]}),
    ("two stars as one of several", {**NO_STASH, "match": ["git", {"any": ["**"]}]}),
    ("one of none", {**NO_STASH, "match": ["git", {"any": []}]}),
    ("a number as a word", {**NO_STASH, "match": ["git", 1]}),
    ("a message of two lines", {**NO_STASH, "message": "a\nb"}),
]


@pytest.mark.parametrize(("fault", "given"), REFUSED, ids=[fault for fault, _ in REFUSED])
def test_a_rule_that_is_not_whole_is_refused_when_the_policy_loads(fault: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rules"):
        rules(given, preset="strict")


@pytest.mark.parametrize(
    "argv",
    [
        ["git", "push", "origin"],
        ["git", "commit", "--no-verify"],
        ["git", "-c", "core.hooksPath=x", "commit"],
        ["pnpm", "exec", "tsc"],
        ["npm", "run", "typecheck"],
        ["bash", "-c", "x"],
        ["npm", "exec", "--", "sh"],
        ["git", "log", "--output=x"],
    ],
)
def test_a_rule_that_allows_what_the_contract_refuses_is_refused_when_the_policy_loads(argv: list[str]) -> None:
    with pytest.raises(ValueError, match="never take effect"):
        rules(rule(argv, hits=[argv], misses=[["git", "log"]], decision="allow"), preset="strict")


def test_rules_that_could_never_take_effect_together_are_refused() -> None:
    with pytest.raises(ValueError, match="never take effect"):
        rules(FETCH)  # `default` allows it by itself
    assert rules(FETCH, preset="strict")
    with pytest.raises(ValueError, match="two rules"):
        rules(NO_STASH, NO_STASH)
    with pytest.raises(ValueError, match="not in `bins`"):
        policy(bins=["node"], argv={"rules": [NO_STASH]})


def test_a_fault_names_the_line_of_the_rule() -> None:
    text = (
        "version: 1\nargv:\n  rules:\n    - id: a\n      reason: R.\n      match: [git, log]\n      decision: deny\n"
        "      examples: {match: [[git, show]], noMatch: [[npm]]}\n"
    )
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.encode(), source="p.yml")
    assert caught.value.message.startswith("p.yml:4: field `argv.rules[0]`: does not match its own example")
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.replace("decision: deny", "decision: deny\n      hnt: x").encode(), source="p.yml")
    assert "did you mean `hint`?" in caught.value.message


def test_the_preset_strict_has_rules_that_load() -> None:
    loaded = load_policy("strict").policy
    assert loaded.argv.preset == "strict"
    assert {own.decision for own in loaded.argv.rules} == {"deny", "allow"}


def test_the_rules_of_the_reference_load() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "POLICY.md").read_text(encoding="utf-8")
    example = page.partition("### Own rules")[2].partition("```yaml\n")[2].partition("```")[0]
    assert len(parse_policy(example.encode(), source="docs/POLICY.md").policy.argv.rules) == 2


def test_many_rules_and_words_are_compared_quickly() -> None:
    wild = ["git", *["**", "a*b*c"] * 15]
    given = [rule(wild, hits=[["git", *["abc"] * 15]], misses=[["git"]], id=f"r{number}") for number in range(100)]
    own = rules(*given)
    argv = ["git", *["ab"] * 2000]
    start = time.process_time()
    assert judge(argv, preset="default", rules=own).decision.allowed
    assert time.process_time() - start < 2


def test_examples_are_judged_over_a_tree_where_every_file_is_there_and_none_is_the_runs() -> None:
    tree = ObligingTree()
    assert [tree.kind(path) for path in ("a", "a/.git", "a/HEAD", "a.git")] == [
        *(EntryKind.FILE, None, None, EntryKind.FILE)
    ]
    assert (tree.read_text("a"), tree.git_aliases()) == (None, {})
    assert not tree.created_by_run("a") and not tree.changed_by_run("a")


@pytest.mark.parametrize(
    ("pattern", "word", "hit"),
    [
        *(("a*c", "abc", True), ("a*c", "ac", True), ("a*c", "abcd", False), ("a*c", "xac", False)),
        *(("ab*ba", "aba", False), ("ab*ba", "abba", True), ("*b*", "abc", True), ("*b*", "b", True), ("*", "", True)),
        *(("a*b*c", "aXbYc", True), ("a*b*c", "acb", False), ("a*bb*c", "abc", False), ("a**", "a", False)),
        *(("*b*b*", "ab", False), ("*b*b*", "abb", True), ("a", "a", True), ("a", "aa", False), ("a*a", "a", False)),
        *(("x*ab*b", "xabb", True), ("x*ab*b", "xab", False), ("*ab*ab*", "aab", False), ("*ab*ab*", "abab", True)),
    ],
)
def test_a_star_stands_for_any_text_in_a_word(pattern: str, word: str, hit: bool) -> None:
    if "**" in pattern:
        with pytest.raises(ValueError, match="within a word"):
            rules(rule(["npm", pattern], hits=[["npm", "a"]], misses=[["git"]]))
        return
    other = ["git", "x"]
    given = [["npm", word]]
    made = rule(["npm", pattern], hits=given if hit else [["npm", pattern]], misses=[other] if hit else given)
    assert rules(made)


@pytest.mark.parametrize(
    ("patterns", "words", "hit"),
    [
        (["npm", "**"], ["npm"], True),
        (["npm", "**"], ["npm", "a", "b"], True),
        (["npm", "**", "x"], ["npm", "a", "x"], True),
        (["npm", "**", "x"], ["npm", "x"], True),
        (["npm", "**", "x"], ["npm", "x", "a"], False),
        (["npm", "**", "x", "y"], ["npm", "x", "x", "y"], True),
        (["npm", "**", "x", "**", "y"], ["npm", "y", "x", "y"], True),
        (["npm", "**", "x", "**", "y"], ["npm", "y", "x"], False),
        (["npm", "a"], ["npm"], False),
        (["npm"], ["npm", "a"], False),
        (["npm", {"any": ["a", "b*"]}], ["npm", "bc"], True),
        (["npm", {"any": ["a", "b*"]}], ["npm", "c"], False),
    ],
)
def test_two_stars_stand_for_any_number_of_words(patterns: list[Any], words: list[str], hit: bool) -> None:
    whole = policy(argv={"rules": [rule(patterns, hits=[words], misses=[["git"]])]}) if hit else None
    if not hit:
        with pytest.raises(ValueError, match="does not match its own example"):
            policy(argv={"rules": [rule(patterns, hits=[words], misses=[["git"]])]})
    assert (whole is not None) == hit


def whole(**keys: Any) -> dict[str, Any]:
    return {**rule(["npm", "a"], hits=[["npm", "a"]], misses=[["git"]]), **keys}


@pytest.mark.parametrize(
    "keys",
    [
        {"id": "a" * 60},
        {"reason": "a" * 300},
        {"match": ["npm", "a" * 2000], "examples": {"match": [["npm", "a" * 2000]], "noMatch": [["git"]]}},
        {"match": ["npm", "X\ud7ff\ue000X"], "examples": {"match": [["npm", "X\ud7ff\ue000X"]], "noMatch": [["git"]]}},
    ],
)
def test_the_largest_rule_that_fits_is_accepted(keys: dict[str, Any]) -> None:
    assert rules(whole(**keys))


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"id": "a" * 61}, "is no id"),
        ({"id": "A"}, "is no id"),
        ({"reason": "a" * 301}, "a sentence"),
        ({"reason": " "}, "a sentence"),
        ({"message": "a\nb"}, "a sentence"),
        ({"match": ["npm", "a\0"]}, "is no word"),
        ({"match": ["npm", "\ud800"]}, "is no word"),
        ({"match": ["npm", "\udfff"]}, "is no word"),
        ({"match": ["npm", "a" * 2001]}, "is no word"),
        ({"match": ["npm", "a**"]}, "within a word"),
        ({"examples": {"match": [["npm", "b"]], "noMatch": [["git"]]}}, r"own example \['npm', 'b'\]"),
        ({"examples": {"match": [["npm", "a"]], "noMatch": [["npm", "a"]]}}, r"matches \['npm', 'a'\]"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        rules(whole(**keys))


@pytest.mark.parametrize(
    ("text", "shown"), [("no stashes.", "no stashes"), (".dots", ".dots"), ("ends in X", "ends in X")]
)
def test_a_refusal_ends_in_one_full_stop(text: str, shown: str) -> None:
    own = rules({**NO_STASH, "message": text})
    decision = judge(["git", "stash"], preset="default", rules=own).decision
    assert decision.message == f"Refused by own.no-stash: {shown}."


def test_a_rule_is_tried_over_a_tree_where_nothing_was_made_by_the_run() -> None:
    allow = rule(["node", "scratch/a.mjs"], hits=[["node", "scratch/a.mjs"]], misses=[["git"]], decision="allow")
    deny = rule(["node", "**"], hits=[["node", "x"]], misses=[["git"]], id="two")
    assert rules(allow, deny)


def test_a_rule_that_denies_has_to_stand_behind_the_one_that_it_bends() -> None:
    allow = rule(["npm", "ls"], hits=[["npm", "ls"]], misses=[["git"]], decision="allow")
    deny = rule(["npm", "**"], hits=[["npm", "x"]], misses=[["git"]], id="two")
    other = rule(["npm", "ci"], hits=[["npm", "ci"]], misses=[["git"]], id="three", decision="allow")
    assert rules(allow, deny)
    for given in ((deny, allow), (allow,), (deny, allow, other)):
        with pytest.raises(ValueError, match="never take effect"):
            rules(*given)
