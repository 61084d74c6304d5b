"""Options as npm's own reader takes them: each row was asked of it, with these types and short forms."""

from __future__ import annotations

import shlex

import pytest

from runner.policy.nopt import Dialect, Given, option_types, read_options

TYPES = {
    "boolean": "force quiet global global-style",
    "string": "message",
    "number": "depth",
    "other": "prefix",
    "null|string": "otp",
    "boolean|number": "jobs",
    "boolean|string": "shell",
    "boolean|null": "yes",
    "always|boolean": "color",
    "always|never": "when",
    "null|number": "limit",
}
SHORT = {
    "f": ("--force",),
    "q": ("--quiet",),
    "s": ("--message", "silent"),
    "m": ("--message",),
    "x": ("--no-force",),
    "silent": ("--message", "silent"),
    "sure": ("--yes",),
    "development": ("--force",),
    "developer": ("--quiet",),
}
DIALECT = Dialect(option_types(TYPES), SHORT)

READ = r"""
    a b                     | | a b
    - a                     | | - a
    '' a                    | | '' a
    --force a               | force= | a
    -force a                | force= | a
    ---force a              | force= | a
    --forc a                | force= | a
    --f a                   | force= | a
    --glob a                | glob= | a
    --global a              | global= | a
    --global-s a            | global-style= | a
    --force true a          | force=true | a
    --force false a         | force=false | a
    --force null a          | force= | null a
    --force=a b             | force= | a b
    --force=true b          | force=true | b
    --force= b              | force= | '' b
    --no-force a            | no-force= | a
    --No-force a            | no-force= | a
    --no-no-force a         | force= | a
    --no-no-no-force a      | no-force= | a
    --no-force false a      | no-force=false | a
    --nothing a             | nothing= | a
    --unknown a             | unknown= | a
    --unknown=a b           | unknown=a | b
    --unknown true a        | unknown=true | a
    --no-unknown a b        | no-unknown= | a b
    --no-unknown=a b        | no-unknown= | a b
    --unknown=a=b c         | unknown=a=b | c
    --message a b           | message=a | b
    --message=a b           | message=a | b
    --message=a=b c         | message=a=b | c
    --message --force a     | message= force= | a
    --message -f a          | message= force= | a
    --message - a           | message=- | a
    --message '' a          | message= | a
    --message -- a          | message= | -- a
    --message --- a         | message= | -- a
    --message               | message= |
    --prefix --force a      | prefix=--force | a
    --prefix -- a           | prefix= | -- a
    --prefix a b            | prefix=a | b
    --depth 3 a             | depth=3 | a
    --depth a b             | depth=a | b
    --no-message a b        | no-message= | a b
    --no-message true b     | no-message=true | b
    --otp a b               | otp=a | b
    --no-otp a b            | otp=a | b
    --no-otp null b         | otp=null | b
    --no-otp -f b           | no-otp= force= | b
    --no-otp --force b      | otp=--force | b
    --no-otp '' b           | no-otp= | '' b
    --no-otp true b         | no-otp=true | b
    --jobs 3 a              | jobs=3 | a
    --jobs=3 a              | jobs=3 | a
    --jobs -3 a             | jobs=-3 | a
    --jobs 1e3 a            | jobs=1e3 | a
    --jobs 1.5e-3 a         | jobs=1.5e-3 | a
    --jobs 1. a             | jobs=1. | a
    --jobs .5 a             | jobs=.5 | a
    --jobs . a              | jobs= | . a
    --jobs 0x1F a           | jobs=0x1F | a
    --jobs 0xg a            | jobs= | 0xg a
    --jobs Infinity a       | jobs=Infinity | a
    --jobs ' 3 ' a          | jobs=' 3 ' | a
    --jobs 3a b             | jobs= | 3a b
    --jobs true a           | jobs=true | a
    --jobs a b              | jobs= | a b
    --jobs ''  b            | jobs= | '' b
    --jobs null b           | jobs= | null b
    --shell a b             | shell=a | b
    --shell null b          | shell=null | b
    --shell -f b            | shell= force= | b
    --shell --force b       | shell=--force | b
    --shell - b             | shell=- | b
    --shell false b         | shell=false | b
    --yes null a            | yes=null | a
    --yes a b               | yes= | a b
    --yes string b          | yes= | string b
    --color always a        | color=always | a
    --color boolean a       | color= | boolean a
    --color never a         | color= | never a
    --no-color always a     | color=always | a
    --when always a         | when=always | a
    --when --force a        | when=--force | a
    --no-when never a       | when=never | a
    --no-when x a           | no-when= | x a
    --no-limit 3 a          | limit=3 | a
    --no-limit null a       | limit=null | a
    --no-limit x a          | no-limit= | x a
    -f a                    | force= | a
    --fq a                  | force= quiet= | a
    -fq a                   | force= quiet= | a
    -qf=a b                 | quiet= force= | a b
    -fm a b                 | force= message=a | b
    -mf a b                 | message= force= | a b
    -fz a                   | fz= | a
    -s a                    | message=silent | a
    -s=a b                  | message=silent | a b
    -x a                    | no-force= | a
    -silent a               | message=silent | a
    --sil a                 | message=silent | a
    --su a                  | yes= | a
    --sure null a           | yes=null | a
    --develop a             | develop= | a
    --development a         | force= | a
    --developm a            | force= | a
    --no-f a                | no-force= | a
    --no-s a b              | shell=a | b
    -- --force a            | | -- --force a
    a -- b -- c             | | a -- b -- c
    a --- --force           | | a -- --force
    a --force b --quiet c   | force= quiet= | a b c
"""


def _rows() -> list[object]:
    rows = [[part.strip() for part in line.split(" |")] for line in READ.strip().splitlines()]
    return [pytest.param(*row, id=row[0]) for row in rows]


def _shown(given: Given) -> tuple[list[str], list[str]]:
    dashes = ["--"] if given.verbatim else []
    return [f"{name}={value}" for name, value in given.options], [*given.words, *dashes, *given.verbatim]


@pytest.mark.parametrize(("line", "options", "words"), _rows())
def test_words_are_taken_apart_as_npms_reader_does_it(line: str, options: str, words: str) -> None:
    assert _shown(read_options(shlex.split(line), DIALECT)) == (shlex.split(options), shlex.split(words))


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("go --force", "", "go --force"),
        ("a go --force -- b", "", "a go --force -- b"),
        ("--force go --quiet", "force=", "go --quiet"),
        ("--message go go --force", "message=go", "go --force"),
        ("-- go --force", "", "-- go --force"),
        ("gone --force", "force=", "gone"),
    ],
)
def test_what_stands_behind_a_word_to_stop_at_is_left_as_it_is(line: str, options: str, words: str) -> None:
    given = read_options(shlex.split(line), DIALECT, stop_at=frozenset({"go", "stay"}))
    assert _shown(given) == (shlex.split(options), shlex.split(words))


@pytest.mark.parametrize(
    ("line", "on"),
    [
        ("", False),
        ("--force", True),
        ("--force=true", True),
        ("--force=false", False),
        ("--no-force", False),
        ("--no-force=false", True),
        ("--no-force --force", True),
        ("--force --no-force", False),
        ("--force --quiet", True),
        ("--force --no-quiet", True),
        ("--no-force --quiet", False),
    ],
)
def test_the_last_word_about_a_switch_counts(line: str, on: bool) -> None:
    assert read_options(line.split(), DIALECT).has_switch("force") is on


def test_a_short_form_that_begins_with_itself_gives_the_rest_of_its_words_once() -> None:
    dialect = Dialect(option_types({"string": "level"}), {"loud": ("--loud", "a", "b")})
    assert _shown(read_options(["--loud", "c"], dialect)) == (["loud="], ["a", "b", "c"])
    assert _shown(read_options(["--lou", "c"], dialect)) == (["loud="], ["a", "b", "a", "b", "c"])


def test_values_are_those_of_the_names_in_their_order() -> None:
    given = read_options("--depth 1 --prefix a --message x --depth 2".split(), DIALECT)
    assert given.values("depth") == ["1", "2"]
    assert given.values("prefix", "depth") == ["1", "a", "2"]
    assert given.values("otp") == []


def test_an_option_has_a_value_where_it_may_not_be_a_switch() -> None:
    assert DIALECT.valued == {"message", "depth", "prefix", "otp", "when", "limit"}


def test_a_table_of_types_gives_each_name_its_types() -> None:
    table = option_types({"null|string": "a b", "boolean": "c"})
    assert table == {"a": {"null", "string"}, "b": {"null", "string"}, "c": {"boolean"}}


def test_a_beginning_stands_for_a_name_when_it_fits_no_other() -> None:
    names = Dialect(option_types({"boolean": "ab abc abd x"}), {}).names
    assert names == {"ab": "ab", "abc": "abc", "abd": "abd", "x": "x"}
    assert Dialect(option_types({"boolean": "long"}), {"word": ("--long",)}).short_names == {
        "w": "word",
        "wo": "word",
        "wor": "word",
        "word": "word",
    }
