"""The language in which git's closed grammars are written, and how words are read by one."""

from __future__ import annotations

import pytest

from runner.policy.strict_git_options import Given, Option, emit, read_verb, verb
from runner.policy.strict_values import NotAllowed

PLAIN = verb("all|a path|P:@ name:= count|n:# colour:? mode|m:{x,yy} |S: quiet|q! head:l open|o:?", "exec output")


@pytest.mark.parametrize(
    ("word", "option"),
    [
        ("all", Option("all", "", False, None)),
        ("all|a", Option("all", "a", False, None)),
        ("all|a|b", Option("all", "ab", False, None)),
        ("|S:", Option("", "S", False, "")),
        ("name:", Option("name", "", False, "")),
        ("name!", Option("name", "", True, None)),
        ("name|n!:?", Option("name", "n", True, "?")),
        ("name:@", Option("name", "", False, "@")),
        ("mode:{x,yy}", Option("mode", "", False, "", frozenset({"x", "yy"}))),
    ],
)
def test_an_option_is_a_word_of_the_grammar(word: str, option: Option) -> None:
    assert verb(word).options == (option,)


def test_a_word_that_is_no_option_is_a_fault_of_the_grammar() -> None:
    with pytest.raises(AssertionError, match="'UPPER'"):
        verb("UPPER")


def test_a_grammar_knows_all_of_gits_names_and_their_negations() -> None:
    assert verb("all|a |S", "exec").known == frozenset({"all", "no-all", "exec", "no-exec"})


def test_what_a_grammar_does_not_say_is_off_but_abbreviations_and_bundles() -> None:
    plain = verb("all|a")
    assert (plain.paths, plain.abbreviates, plain.bundles, plain.stops) == (False, True, True, False)
    assert (plain.count, plain.most, plain.forced, plain.usual, plain.pins) == ("", None, (), (), ())


def test_what_a_grammar_says_stands_in_it() -> None:
    said = verb(
        "all|a num:#",
        paths=True,
        abbreviates=False,
        bundles=False,
        stops=True,
        count="num",
        most=2,
        forced=("--x",),
        usual=("--y",),
        pins=("a=b",),
    )
    assert (said.paths, said.abbreviates, said.bundles, said.stops) == (True, False, False, True)
    assert (said.count, said.most, said.forced, said.usual, said.pins) == ("num", 2, ("--x",), ("--y",), ("a=b",))
    assert (set(said.by_name), set(said.by_letter)) == ({"all", "num"}, {"a"})


@pytest.mark.parametrize(
    ("args", "spelled"),
    [
        (["--all"], ["--all"]),
        (["-a"], ["--all"]),
        (["--al"], ["--all"]),
        (["--quiet"], ["--quiet"]),
        (["--no-quiet"], ["--no-quiet"]),
        (["--no-q"], ["--no-quiet"]),
        (["--path", "x"], ["--path=x"]),
        (["--path=x"], ["--path=x"]),
        (["-Px"], ["--path=x"]),
        (["-P", "x"], ["--path=x"]),
        (["-aqPx"], ["--all", "--quiet", "--path=x"]),
        (["-aP", "x"], ["--all", "--path=x"]),
        (["--name=x"], ["--name=x"]),
        (["--name="], ["--name="]),
        (["--count=12"], ["--count=12"]),
        (["-n3"], ["--count=3"]),
        (["--colour"], ["--colour"]),
        (["--colour", "-a"], ["--colour", "--all"]),
        (["-o", "-a"], ["--open", "--all"]),
        (["--colour=x"], ["--colour=x"]),
        (["--mode=yy"], ["--mode=yy"]),
        (["-m", "x"], ["--mode=x"]),
        (["-Sx"], ["-Sx"]),
        (["-S", "x"], ["-Sx"]),
        (["-S", ""], ["-S", ""]),
        (["--head"], ["--head=HEAD"]),
        (["--head", "x"], ["--head=x"]),
    ],
)
def test_every_spelling_becomes_the_canonical_one(args: list[str], spelled: list[str]) -> None:
    reading = read_verb(args, PLAIN)
    assert [word for given in reading.options for word in emit(given)] == spelled
    assert reading.operands == []


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        (["--zzz"], "strict.git.option"),
        (["-z"], "strict.git.option"),
        (["--exec"], "strict.git.option"),
        (["--no-exec"], "strict.git.option"),
        (["--exe=x"], "strict.git.option"),
        (["--no-all"], "strict.git.option"),
        (["--co"], "strict.git.option"),
        (["--no-"], "strict.git.option"),
        (["--all=x"], "strict.git.value"),
        (["--no-quiet=x"], "strict.git.value"),
        (["--name"], "strict.git.value"),
        (["--name", "x"], "strict.git.value"),
        (["--path"], "strict.git.value"),
        (["-P"], "strict.git.value"),
        (["-S"], "strict.git.value"),
        (["--count=x"], "strict.git.value"),
        (["--count", "1234567890"], "strict.git.value"),
        (["--mode=z"], "strict.git.value"),
        (["--mode", "x,yy"], "strict.git.value"),
        (["-my"], "strict.git.value"),
    ],
)
def test_a_word_outside_the_grammar_is_refused_by_what_is_wrong_with_it(args: list[str], rule: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        read_verb(args, PLAIN)
    assert caught.value.decision.rule == rule
    assert caught.value.decision.hint


def test_operands_stand_where_they_were_written() -> None:
    reading = read_verb(["x", "-a", "-", "--path", "y", "z", "--", "-q", "--"], PLAIN)
    assert reading.parts == ("x", Given(PLAIN.by_name["all"]), "-", Given(PLAIN.by_name["path"], "y"), "z")
    assert reading.after == ("-q", "--")
    assert reading.operands == ["x", "-", "z", "-q", "--"]
    assert read_verb(["x"], PLAIN).after is None
    assert read_verb(["--"], PLAIN).after == ()


def test_options_may_end_at_the_first_operand() -> None:
    stops = verb("all|a", stops=True)
    assert read_verb(["-a", "x", "--", "-a"], stops).operands == ["x", "-a"]
    with pytest.raises(NotAllowed) as caught:
        read_verb(["x", "-a"], stops)
    assert caught.value.decision.rule == "strict.git.option"


def test_a_bare_number_stands_for_the_option_of_counts() -> None:
    counting = verb("max-count|n:#", count="max-count")
    assert read_verb(["-12"], counting).options == [Given(counting.by_name["max-count"], "12")]
    with pytest.raises(NotAllowed):
        read_verb(["-12"], PLAIN)
    with pytest.raises(NotAllowed):
        read_verb(["-1x"], counting)


def test_a_grammar_may_take_neither_abbreviations_nor_bundles() -> None:
    strict = verb("all|a quiet|q path|P:", abbreviates=False, bundles=False)
    assert read_verb(["-a", "-q", "--all", "-Px"], strict).operands == []
    for args in (["--al"], ["-aq"]):
        with pytest.raises(NotAllowed) as caught:
            read_verb(args, strict)
        assert caught.value.decision.rule == "strict.git.option"
