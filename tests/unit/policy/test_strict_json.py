"""JSON of a bounded form: why something is refused, in words, and what lies just within the bounds."""

from __future__ import annotations

import re

import pytest

from runner.policy.strict_json import MAX_DEPTH, MAX_DIGITS, form_fault, read_json

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
