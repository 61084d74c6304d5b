"""The table of readers in tests/README.md: complete, and true of the tests that it names."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT

_SECTION = (
    (ROOT / "tests" / "README.md").read_text(encoding="utf-8").partition("\n## Readers of what others wrote\n")[2]
)
_ROWS = [line.strip("|").split("|") for line in _SECTION.splitlines() if line.startswith("|")][2:]
_MODULE = re.compile(r"`(runner/[a-z_/]+\.py)`")
_TEST = re.compile(r"`(tests/[a-z_/]+\.py)`")
_READS = re.compile(
    r"json\.loads|JSONDecoder|tomllib\.loads|yaml\.(?:parse|load|compose|scan)|[A-Z]\w*\.unpack\(|unpack_from\(|struct\.unpack|int\.from_bytes"
    r"|read_yaml\(|read_json\(|model_validate_json"
)


def test_every_module_that_takes_a_form_apart_is_in_the_table_or_said_to_read_only_what_is_trusted() -> None:
    reading = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "runner").rglob("*.py")
        if _READS.search(path.read_text(encoding="utf-8"))
    }
    assert reading - set(_MODULE.findall(_SECTION)) == set()


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row[0].strip())
def test_what_a_row_names_is_there_and_its_tests_are_given_garbage(row: list[str]) -> None:
    _, modules, tests = row
    assert _MODULE.findall(modules) and _TEST.findall(tests)
    text = "".join((ROOT / test).read_text(encoding="utf-8") for test in _TEST.findall(tests))
    assert "@given(" in text
    package = [module.removesuffix(".py").replace("/", ".") for module in _MODULE.findall(modules)]
    assert [name for name in package if name not in text and name not in _BEHIND] == []


_BEHIND = {
    # Reached through what the test calls: the judge of a command, the channel, the quarantine,
    # the verifier, the one reader of JSON.
    "runner.engine.helper_answers",
    "runner.policy.manifest",
    "runner.policy.mise_tasks",
    "runner.policy.scratch",
    "runner.gate.contents",
    "runner.doors.holding.commands",
    "runner.doors.holding.wire",
    "runner.doors.http.api",
    "runner.audit.chain",
}
