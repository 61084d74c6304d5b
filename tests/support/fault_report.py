"""How many faults a test run let happen, how many of them it survived, and what they left: counted, not claimed.

A test says of a fault that it happened and what was found afterwards. Whether it was survived is the verdict
of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

__all__ = ["CountFault", "count_fault", "counter", "pytest_terminal_summary", "summary"]

CountFault = Callable[[bool, Sequence[str]], None]
"""Called with whether the fault happened, and what was left of the run after it and the sweep."""

_HAPPENED, _LEFT = "fault happened", "left after a fault"


@pytest.fixture
def count_fault(record_property: Callable[[str, object], None]) -> CountFault:
    """Puts one fault of this test into the counts at the end."""
    return counter(record_property)


def counter(record: Callable[[str, object], None]) -> CountFault:
    """Writes into a test's report what `summary` reads from it."""

    def count(happened: bool, leftovers: Sequence[str]) -> None:
        record(_HAPPENED, int(happened))
        record(_LEFT, len(leftovers))

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line, where there were faults: from the reports alone, which tests in other processes send here too."""
    reports = [
        report
        for verdict in ("passed", "failed")
        for report in terminalreporter.stats.get(verdict, [])
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    line = summary(reports)
    if line:
        terminalreporter.write_line(line)


def summary(reports: Sequence[pytest.TestReport]) -> str:
    """`faults: I injected, S survived, L leftovers`; nothing when no test spoke of a fault."""
    counts = [(sum_of(report, _HAPPENED), sum_of(report, _LEFT), report.passed) for report in reports]
    if not any(name == _HAPPENED for report in reports for name, _ in report.user_properties):
        return ""
    injected = sum(happened for happened, _, _ in counts)
    survived = sum(happened for happened, _, passed in counts if passed)
    return f"faults: {injected} injected, {survived} survived, {sum(left for _, left, _ in counts)} leftovers"


def sum_of(report: pytest.TestReport, name: str) -> int:
    """What the test recorded under the name, all together."""
    return sum(int(str(value)) for found, value in report.user_properties if found == name)
