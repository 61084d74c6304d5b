"""The line of counts says what the tests' own reports say."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.support.fault_report import counter, summary


def report(outcome: Literal["passed", "failed"], *faults: tuple[bool, list[str]]) -> pytest.TestReport:
    properties: list[tuple[str, object]] = []
    count = counter(lambda name, value: properties.append((name, value)))
    for happened, leftovers in faults:
        count(happened, leftovers)
    return pytest.TestReport("t", ("t", 0, "t"), {}, outcome, None, "call", user_properties=properties)


def test_no_line_where_no_test_spoke_of_a_fault() -> None:
    assert summary([report("passed"), report("failed")]) == ""


def test_a_fault_is_survived_when_its_test_passed_and_is_injected_when_it_happened() -> None:
    reports = [
        report("passed", (True, []), (True, [])),
        report("passed"),
        report("failed", (True, ["a", "b"])),
        report("failed", (False, [])),
    ]
    assert summary(reports) == "faults: 3 injected, 2 survived, 2 leftovers"
