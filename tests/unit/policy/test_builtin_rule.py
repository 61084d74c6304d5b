"""How a built-in rule is written down: an example is a line, its files are named by what the run did to them."""

from __future__ import annotations

from runner.model.errors import ErrorCode
from runner.policy.builtin_rule import BuiltinRule, rule


def test_an_example_is_split_as_a_shell_would_split_it() -> None:
    made = rule("git.x", ErrorCode.BIN_NOT_ALLOWLISTED, "Why.", "git -c 'a b' x", "git x 'y z'")
    assert made == BuiltinRule(
        "git.x", "Why.", ErrorCode.BIN_NOT_ALLOWLISTED, ("git", "-c", "a b", "x"), ("git", "x", "y z")
    )


def test_an_example_that_no_line_can_spell_is_given_in_words() -> None:
    assert rule("git.x", None, "Why.", ("git", "a\0b"), "git").refused == ("git", "a\0b")


def test_the_files_of_an_example_say_what_the_run_did_to_them() -> None:
    made = rule(
        "npm.x",
        ErrorCode.SCRATCH_EXECUTION_REFUSED,
        "Why.",
        "npm x",
        "npm y",
        scripts={"hi": "ls"},
        created=("a", "b"),
        changed="c",
        aliases={"p": "push"},
    )
    assert made.original == {"package.json": '{"scripts": {"hi": "ls"}}'}
    assert made.created == {"a": "", "b": ""}
    assert made.changed == frozenset({"c"})
    assert made.aliases == {"p": "push"}


def test_a_rule_belongs_to_the_preset_that_its_id_names() -> None:
    def preset(identity: str) -> str:
        return rule(identity, None, "Why.", "git", "git").preset

    assert [preset(name) for name in ("strict.git.verb", "argv.strict", "argv.default", "git.x")] == [
        *("strict", "strict", "default", "default")
    ]
