"""JSON of a bounded form: why something is refused, in words, and what lies just within the bounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from runner.policy.strict_json import MAX_DEPTH, MAX_DIGITS, MAX_VALUES, form_fault, read_call, read_json

LONGEST = "9" * MAX_DIGITS
DIGITS = f"it has a number of more than {MAX_DIGITS} digits"
DEEP = f"it is nested more than {MAX_DEPTH} deep"
WITHOUT = "it has a number that JSON does not have"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON (JSONDecodeError)"),
        ("{", "it is not JSON (JSONDecodeError)"),
        ('"\xff', "it is not JSON (UnicodeDecodeError)"),
        (LONGEST + "0", DIGITS),
        (f"-{LONGEST}0", DIGITS),
        ("9" * 5000, DIGITS),
        (f'{{"a": [{LONGEST}0]}}', DIGITS),
        ("NaN", WITHOUT),
        ("-Infinity", WITHOUT),
        ("1e999", WITHOUT),
        ('{"a": 1, "a": 1}', "it has a key twice"),
        ('[{"a": {"b": 1, "b": 2}}]', "it has a key twice"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), DEEP),
        ("[" * 100_000, DEEP),
    ],
)
def test_the_reason_is_told_and_nothing_of_the_text(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        read_json(text.encode("latin-1"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (LONGEST, int(LONGEST)),
        (f"-{LONGEST}", -int(LONGEST)),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ('{"a": 1, "b": [1, {"a": null}]}', {"a": 1, "b": [1, {"a": None}]}),
    ],
)
def test_what_lies_within_the_bounds_is_read(text: str, value: object) -> None:
    assert read_json(text.encode()) == value


def test_a_value_may_be_as_deep_as_the_bound() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert form_fault(read_json(text.encode())) is None
    assert form_fault([read_json(text.encode())]) == DEEP
    assert form_fault({"a": (10**MAX_DIGITS,)}) == DIGITS
    assert form_fault({"a": (10**MAX_DIGITS - 1, -(10**MAX_DIGITS) + 1, "x" * 50)}) is None
    assert form_fault(-(10**MAX_DIGITS)) == DIGITS


@pytest.mark.parametrize("value", [b"bytes", {1: "a"}, {"a": {1}}, [object()], float("nan"), {"a": [float("inf")]}])
def test_what_json_does_not_have_is_told_before_anything_works_with_it(value: object) -> None:
    """A door in the same process may hand over whatever there is; it must not end the run."""
    assert form_fault(value) == "it holds something that JSON does not have"


def test_every_kind_that_json_has_passes() -> None:
    assert form_fault({"a": [None, True, 1, 1.5, "x", {"b": ("c",)}]}) is None


MANY = f"it holds more than {MAX_VALUES} values"
MILLION = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        b'{"argv": [' + b'"a",' * MILLION + b'"a"]}',
        b"[" + b"1," * MILLION + b"1]",
        b"[" + b"{}," * MILLION + b"{}]",
        b"[" * MILLION,
        b'"' * MILLION,
        b"{" + b'"a":1,' * MILLION + b'"a":1}',  # parsed, it would have a key twice
        b'{"content": "' + b"x" * MILLION + b'", "argv": [' + b"1," * MILLION + b"1]}",
    ],
)
def test_a_text_of_a_million_values_is_refused_before_it_is_parsed(text: bytes) -> None:
    with pytest.raises(ValueError, match=f"^{MANY}$"):
        read_call(text)


@pytest.mark.parametrize(
    "value",
    [
        {"argv": ["a"] * (MAX_VALUES - 2)},
        [[]] * (MAX_VALUES - 1),
        [{}] * (MAX_VALUES - 1),
        {f"k{number}": 'a, "b"' for number in range(MAX_VALUES - 1)},
        {"content": '{"a": [1, 2], "b\\": "\\\\"}\n' * MAX_VALUES},
    ],
)
def test_a_call_of_as_many_values_as_the_bound_is_read_and_one_more_is_not_in_any_form(value: Any) -> None:
    assert read_call(json.dumps(value).encode()) == value
    assert form_fault(value, MAX_VALUES) is None
    assert form_fault([value] * MAX_VALUES, MAX_VALUES) == MANY


def test_values_are_counted_before_they_are_looked_at() -> None:
    class Long(list[object]):
        def __len__(self) -> int:
            return MAX_VALUES

        def __iter__(self) -> Iterator[object]:
            raise AssertionError("it was walked")

    assert form_fault({"argv": Long()}, MAX_VALUES) == MANY
