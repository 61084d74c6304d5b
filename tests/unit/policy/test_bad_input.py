"""Policies, calls and questions of a form that nobody means: refused after little work, which is counted, not timed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from runner.model.errors import ExitCode, PolicyInvalid, ToolError
from runner.policy import bounded_yaml
from runner.policy.argv import MAX_BYTES, MAX_ELEMENTS, MAX_WORD_BYTES, decide_argv, split_git_args, validate_command
from runner.policy.argv_values import ArgvPolicy, Preset
from runner.policy.bounded_yaml import MAX_DEPTH as MAX_YAML_DEPTH
from runner.policy.bounded_yaml import MAX_NODES
from runner.policy.examples import parse_examples
from runner.policy.faults import MAX_FAULTS
from runner.policy.lint import surprises
from runner.policy.load import parse_policy
from runner.policy.paths import MAX_PATH_BYTES, parse_path, parse_write_path
from runner.policy.strict_json import MAX_DEPTH, MAX_DIGITS, form_fault, read_call, read_json
from runner.policy.tree_questions import MAX_QUESTIONS
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write
from tests.support.argv_trees import BINS, FakeTree
from tests.support.bad_input import CALLS, DOCUMENTS, LINES, MIB, PATHS, nested
from tests.support.policies import P0, faults_of, policy

UNPARSED = {"100,000 lines", "more than 1 MiB", "bytes that are no text", "NUL bytes", "a NUL in a value"}
"""Refused by their size or bytes, before anything of them is parsed."""

MANY_FAULTS = ("9,000 unknown keys", "19,000 wrong values", "a key twice", "an anchor bomb", "100,000 lines")

OPEN = ArgvPolicy(BINS, "os:red", lambda _path: True)

LOOK_AHEAD = 2  # events that the parser gives before the first value: the stream's start and the document's


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[yaml.Event]:
    """What the YAML parser was asked for."""
    seen: list[yaml.Event] = []
    parse = yaml.parse

    def counted(*arguments: Any, **keys: Any) -> Iterator[yaml.Event]:
        for event in parse(*arguments, **keys):
            seen.append(event)
            yield event

    monkeypatch.setattr(yaml, "parse", counted)
    return seen


@pytest.mark.parametrize("flaw", DOCUMENTS)
def test_a_policy_that_nobody_means_is_invalid_in_one_short_line(flaw: str, events: list[yaml.Event]) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_policy(DOCUMENTS[flaw], source="p.yml")
    assert refused.value.exit_code is ExitCode.USAGE
    assert refused.value.message.startswith("p.yml:") and "\n" not in refused.value.message
    assert len(refused.value.message) < 600
    assert len(events) <= 2 * MAX_NODES
    assert bool(events) == (flaw not in UNPARSED)


@pytest.mark.parametrize("flaw", [flaw for flaw in DOCUMENTS if "deep" in flaw and "path" not in flaw])
def test_nesting_is_refused_at_the_bound_and_what_is_deeper_is_never_read(flaw: str, events: list[yaml.Event]) -> None:
    with pytest.raises(PolicyInvalid):
        parse_policy(DOCUMENTS[flaw], source="p.yml")
    assert len(events) <= LOOK_AHEAD + 2 * (MAX_YAML_DEPTH + 2)


@pytest.mark.parametrize("flaw", ["an anchor bomb", "a merge bomb"])
def test_a_bomb_is_refused_at_its_first_anchor(flaw: str, events: list[yaml.Event]) -> None:
    with pytest.raises(PolicyInvalid):
        parse_policy(DOCUMENTS[flaw], source="p.yml")
    assert len(events) == LOOK_AHEAD + 3  # the mapping, its key, the value with the anchor


@pytest.mark.parametrize("flaw", MANY_FAULTS)
def test_lint_tells_of_a_bounded_number_of_faults(flaw: str) -> None:
    faults = faults_of(DOCUMENTS[flaw], source="p.yml")
    assert 1 <= len(faults) <= MAX_FAULTS + 1
    assert all(len(fault) < 600 and "\n" not in fault for fault in faults)


def test_of_many_faults_the_first_of_the_file_are_told_and_that_there_are_more() -> None:
    many = b"".join(b"key%d: 1\n" % number for number in range(150))
    faults = faults_of(many, source="p.yml")
    assert faults[0].startswith("p.yml:1: ") and faults[MAX_FAULTS - 1].startswith(f"p.yml:{MAX_FAULTS}: ")
    with pytest.raises(PolicyInvalid, match="and at least 99 more"):
        parse_policy(many, source="p.yml")


def test_lint_compares_a_bounded_number_of_patterns_and_says_so() -> None:
    many = policy(writeAllow=[f"src/{n}/**" for n in range(1000)], writeDeny=[f"src/{n}" for n in range(1000)])
    found = [surprise.text for surprise in surprises(many) if surprise.key == "writeAllow"]
    assert "only the first 200" in found[0] and len(found) == 201


@pytest.mark.parametrize("flaw", MANY_FAULTS)
def test_examples_that_nobody_means_are_invalid(flaw: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_examples(DOCUMENTS[flaw], source="p.test.yml")
    assert len(refused.value.message) < 600


@pytest.mark.parametrize("text", ["9" * 18, "-" + "9" * 18, "0.5"])
def test_a_number_within_the_bound_is_a_number(text: str) -> None:
    assert isinstance(bounded_yaml.read_yaml(f"a: {text}".encode()).data, dict)
    assert not isinstance(bounded_yaml.read_yaml(f"a: {text}".encode()).data["a"], str)  # type: ignore[index]  # a mapping


def test_many_digits_in_quotes_are_text() -> None:
    digits = "1" * 40
    assert bounded_yaml.read_yaml(f"a: '{digits}'\nb: {digits}f".encode()).data == {"a": digits, "b": f"{digits}f"}


@pytest.mark.parametrize("flaw", LINES)
def test_a_line_that_nobody_means_is_no_json_of_ours(flaw: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_call(LINES[flaw])
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": [1, -2.5, null, true, "x"]}', {"a": [1, -2.5, None, True, "x"]}),
        (b"9" * MAX_DIGITS, 10**MAX_DIGITS - 1),
        (b"-" + b"9" * MAX_DIGITS, 1 - 10**MAX_DIGITS),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
        (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    ],
)
def test_json_within_the_bounds_is_read_as_it_is(text: bytes, value: object) -> None:
    assert value is None or read_json(text) == value
    read_json(text)


@pytest.mark.parametrize("text", [b"1" * (MAX_DIGITS + 1), b"-1" + b"0" * MAX_DIGITS, b"[" * 33 + b"]" * 33])
def test_json_one_beyond_a_bound_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)


def test_a_value_of_any_depth_is_looked_at_without_recursion() -> None:
    assert form_fault(nested(MAX_DEPTH)) is None
    assert form_fault(nested(200_000)) is not None
    assert form_fault({"a": ({"b": nested(MAX_DEPTH)},)}) is not None


@pytest.mark.parametrize("flaw", PATHS)
def test_a_path_that_nobody_means_is_refused_by_its_text(flaw: str) -> None:
    path = PATHS[flaw]
    if len(path) <= MAX_PATH_BYTES and "deep" in flaw:
        assert parse_path(path) == path
        return
    for parse, code in ((parse_path, "path_invalid"), (parse_write_path, "workspace_write_not_allowed")):
        with pytest.raises(ToolError) as refused:
            parse(path)
        assert refused.value.code == code and len(refused.value.message) < 200


@pytest.mark.parametrize("flaw", PATHS)
def test_a_decision_about_any_path_is_short_and_denies_what_nobody_named(flaw: str) -> None:
    rules = WriteRules.compile(policy(**{**P0, "writeAllow": ["docs/**"], "rewriteAllow": []}))
    facts = PathFacts(PATHS[flaw], via_link=False, existed_at_start=False)
    decision = decide_write(rules, WriteIntent(WriteOp.WRITE, PATHS[flaw]), facts)
    assert not decision.allowed and len(decision.message) < 2000


@pytest.mark.parametrize("flaw", [flaw for flaw in CALLS if flaw.startswith(("run_command: ", "git: "))])
def test_an_argv_that_no_program_can_be_given_is_refused_before_any_question(flaw: str) -> None:
    bad, tree = CALLS[flaw], FakeTree()
    if "more" in bad.arguments:
        return  # the argv itself is a good one
    with pytest.raises(ToolError) as refused:
        if bad.tool == "git":
            split_git_args(bad.arguments["args"])
        else:
            validate_command(bad.arguments["argv"])
    assert refused.value.code == bad.code and len(refused.value.message) < 200
    if bad.tool != "git" and "no program can be given" not in flaw:  # a judge reads longer words than the kernel takes
        with pytest.raises(ToolError):
            decide_argv(bad.arguments["argv"], OPEN, tree)
    assert tree.questions == 0


@pytest.mark.parametrize("preset", ["default", "strict"])
@pytest.mark.parametrize(
    "argv",
    [
        ["git", *["-C", "src"] * 4999],
        ["git", *["-c", "alias.a=!git a"] * 4999, "a"],
        ["git", "add", *[f"src/{n}" for n in range(9000)]],
        ["git", "log", *["--n"] * 9998],
        ["npm", *["exec"] * 9999],
        ["npm", *["--prefix", "src"] * 4999],
        ["pnpm", *["--filter", "a"] * 4999],
        ["node", "--test", *[f"src/{n}.mjs" for n in range(9000)]],
        ["node", "-e", "require('./a');" * 8000],
        ["mise", "run", *["a", ":::"] * 4999],
        ["npm", "exec", "-c", "git status; " * 10_000],
    ],
    ids=lambda argv: f"{' '.join(argv[:4])[:40]} ({len(argv)})" if isinstance(argv, list) else str(argv),
)
def test_the_longest_argv_is_decided_within_the_bound_of_questions(argv: list[str], preset: Preset) -> None:
    assert len(argv) <= MAX_ELEMENTS and sum(map(len, argv)) <= MAX_BYTES
    tree = FakeTree()
    decision = decide_argv(argv, replace(OPEN, preset=preset), tree)
    assert decision.rule and tree.questions <= MAX_QUESTIONS
    assert len(decision.message) < 2000


def test_a_word_is_bounded_where_the_kernel_bounds_it() -> None:
    assert validate_command(["git", "log", "a" * MAX_WORD_BYTES])
    assert validate_command(["git", *["a" * 1000] * 1000])
    with pytest.raises(ToolError):
        validate_command(["git", "log", "a" * (MAX_WORD_BYTES + 1)])
    with pytest.raises(ToolError):
        validate_command(["git", "log", "é" * (MAX_WORD_BYTES // 2 + 1)])
    assert MAX_WORD_BYTES < MIB
