"""Which commands a shell text would start: what is not seen here is not judged."""

from __future__ import annotations

import pytest

from runner.policy.shell_text import ShellCommand, assignment, commands_in


def words_in(text: str) -> list[str]:
    """Each command with its assignments in front, as one text."""
    found = commands_in(text)
    return [" ".join([*(f"{name}={value}" for name, value in one.environment), *one.words]) for one in found]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("", []),
        ("git push", ["git push"]),
        ("a && b", ["a", "b"]),
        ("a || b; c", ["a", "b", "c"]),
        ("a | b & c", ["a", "b", "c"]),
        ("a;;b", ["a", "b"]),
        ("(a)", ["a"]),
        ("a (b", ["a", "b"]),
        ("{ a; }", ["a"]),
        ("{ ! a", ["a"]),
        ("} a", ["a"]),
        ("{a}", ["{a}"]),
        ("! a", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a \\\nb", ["a b"]),
        ("a\\\nb", ["a b"]),
        ("a # b", ["a # b"]),
        ("# a\nb", ["# a", "b"]),
        ("aXb XX", ["aXb XX"]),
        ("A=1 B='x y' c d", ["A=1 B=x y c d"]),
        ("A=1", ["A=1"]),
        ("A=1 ! b", ["A=1", "b"]),
        ("a A=1", ["a A=1"]),
        ("if a; then b; else c; fi", ["a", "b", "c", "fi"]),
        ("while a; do b; done", ["a", "b", "done"]),
        ("until a; do time exec b; done", ["a", "b", "done"]),
        ("nohup command builtin a", ["a"]),
        ("a 'b c' \"d e\"", ["a b c d e"]),
        ("a '&&' b", ["a", "b"]),
        ("a > f", ["a"]),
        ("a > f b", ["a b"]),
        ("> f a b", ["a b"]),
        ("a '' b", ["a  b"]),
        ('a "$(b)"', ["a $(b)", "b"]),
        ("a '$(b; c)'", ["a $(b; c)", "b", "c"]),
        ("a '`b c`'", ["a `b c`", "b c"]),
        ("a '$({ b; })'", ["a $({ b; })", "b", ""]),
        ("a '$(! b)'", ["a $(! b)", "b"]),
        ("a '$(} b)'", ["a $(} b)", "b"]),
        ("a '$(A=1 b)'", ["a $(A=1 b)", "A=1 b"]),
        ("a '$()'", ["a $()"]),
        ("'open a; b", ["open a", "b"]),
        ('"open', ["open"]),
    ],
)
def test_commands_are_found_behind_operators_keywords_and_quotes(text: str, commands: list[str]) -> None:
    assert words_in(text) == commands


def test_a_command_knows_its_environment_and_its_words() -> None:
    assert commands_in("A=1 b c") == [ShellCommand((("A", "1"),), ("b", "c"))]


@pytest.mark.parametrize("length", [16 * 1024, 16 * 1024 + 1])
def test_a_text_that_is_too_long_to_be_read_as_a_shell_would_is_split_all_the_same(length: int) -> None:
    text = "git push;" + "'$(x)'" + "a" * (length - 15)
    assert {"git push", "x"} <= set(words_in(text))
    assert (f"$(x){'a' * (length - 15)}" in words_in(text)) == (length <= 16 * 1024)  # a quoted word stays one


@pytest.mark.parametrize(
    ("word", "pair"),
    [("A=1", ("A", "1")), ("_a1=", ("_a1", "")), ("A=b=c", ("A", "b=c")), ("A=b\nc", ("A", "b\nc"))],
)
def test_a_word_of_the_form_name_and_value_is_an_assignment(word: str, pair: tuple[str, str]) -> None:
    assert assignment(word) == pair


@pytest.mark.parametrize("word", ["A", "=1", "1=2", "A-B=1", "-A=1", ""])
def test_other_words_are_none(word: str) -> None:
    assert assignment(word) is None
