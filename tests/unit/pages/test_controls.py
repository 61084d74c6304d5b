"""A row of the posture proof reads as what it means, whatever the record holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.audit.forms import Check
from runner.pages.controls import in_words


def told(control: str, expected: str, seen: str | None = None) -> tuple[str, str, str]:
    seen = expected if seen is None else seen
    return in_words(Check(control=control, expected=expected, seen=seen, active=seen == expected))


def test_a_yes_or_no_is_told_as_whether_the_control_holds() -> None:
    assert told("main process not root", "false") == ("main process not root", "holds", "holds")
    assert told("capabilities dropped", "true") == ("capabilities dropped", "holds", "holds")
    assert told("not privileged", "false", "true") == ("not privileged", "holds", "does not hold")


@pytest.mark.parametrize(
    ("control", "value", "words"),
    [
        ("memory limit", "[3288334336, 3288334336]", "3,136 MiB"),
        ("memory limit", "[3288334336, 4096]", "3,136 MiB, 0.00390625 MiB"),
        ("file size limit", "536870912", "512 MiB"),
        ("workspace size", "1073741824", "1,024 MiB"),
        ("workspace inodes", "500000", "500,000"),
        ("processes limit", "[512, 512]", "512"),
        ("no route", "0", "none"),
        ("capabilities inside", "0", "none"),
        ("no host mounts", "[]", "none"),
        ("no network interface", '["lo"]', "lo"),
        ("runtime", "runc", "runc"),
        ("cpu limit", "2500000000", "2.5"),
    ],
)
def test_numbers_have_units_and_lists_are_words(control: str, value: str, words: str) -> None:
    assert told(control, value)[1:] == (words, words)


def test_what_is_not_known_is_shown_as_the_record_has_it() -> None:
    for text in ("1" * 400, "[[1]]", "-5", "{", '[true, "x"]', "[" * 5000):
        assert told("new control", text) == ("new control", text, text)


@given(st.text(max_size=30), st.text(alphabet='[]{}0123456789,.eE-+"truefalsnN ', max_size=40))
def test_no_text_makes_it_fail(control: str, text: str) -> None:
    told(control, text, "false")
