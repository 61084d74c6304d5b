"""What the documents say is so: examples load, tables are run, generated pages are fresh, named paths exist."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.doors.calls import bounded_lines, parse_calls
from runner.doors.cli import command_line
from runner.doors.tool_pages import markdown_page
from runner.model.errors import ErrorCode, ExitCode
from runner.policy.document import Limits, Policy, policy_schema
from runner.policy.globs import GlobSet
from runner.policy.load import load_policy, parse_narrowing
from runner.policy.patterns import check_pattern
from runner.policy.presets import preset_names
from runner.tools.base import parse_arguments
from runner.tools.registry import TOOLS
from tests.architecture.sources import ROOT, repository_files

README = (ROOT / "README.md").read_text(encoding="utf-8")
POLICY = (ROOT / "docs" / "POLICY.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
THREATS = (ROOT / "docs" / "THREAT_MODEL.md").read_text(encoding="utf-8")
PAGES = [path for path in repository_files() if path.suffix == ".md" and "examples/sample" not in path.as_posix()]

_GLOB_ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| (yes|no) \| (yes|no) \|$", re.MULTILINE)
_KEY_ROW = re.compile(r"^\| `([A-Za-z.]+)` \| (.+?) \| `(.+?)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
# `docs/a/b` and `docs/deep/a.md` are examples in the pattern tables; our documents lie in docs or docs/adr.
_PATH = re.compile(
    r"`((?:(?:runner|tests|images|policies|examples|scripts|benchmarks|\.ci)/[A-Za-z0-9_./*-]*)|docs/(?:adr/)?[A-Za-z0-9_-]+\.md)`"
)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_STATUS = re.compile(r"(shipped|partial|planned)\b")


def _heredoc(name: str) -> str:
    found = re.search(rf"^cat > {re.escape(name)} <<'END'\n(.*?)^END$", README, re.MULTILINE | re.DOTALL)
    assert found is not None, f"README.md writes no {name} any more"
    return found[1]


def test_the_readmes_policy_loads_and_is_the_one_that_it_explains(tmp_path: Path) -> None:
    text = _heredoc("policy.yml")
    file = tmp_path / "policy.yml"
    file.write_text(text, encoding="utf-8")
    policy = load_policy(file).policy
    assert policy.push.branches == ("agent/**",)
    explained = set(re.findall(r"^\| `([A-Za-z]+)(?:`|:)", README, re.MULTILINE))
    assert {line.partition(":")[0] for line in text.splitlines() if not line.startswith(" ")} <= explained


def test_the_readmes_calls_are_calls_of_tools_that_there_are() -> None:
    calls = list(parse_calls(bounded_lines(io.BytesIO(_heredoc("calls.jsonl").encode()))))
    assert [call.id for call in calls] == list(range(1, len(calls) + 1))
    for call in calls:
        assert call.error is None
        parse_arguments(TOOLS[call.tool], call.arguments)


def test_the_readme_names_every_tool_exit_code_and_command() -> None:
    assert [name for name in TOOLS if f"`{name}`" not in README] == []
    assert [code for code in ExitCode if f"\n| {int(code)} |" not in README] == []
    # Only what is there is promised: `runner VERB` in any document is a verb of the command line.
    verbs = {command.name for command in command_line().registered_commands} | {
        group.name for group in command_line().registered_groups
    }
    for page in (README, *(path.read_text(encoding="utf-8") for path in PAGES)):
        for verb in re.findall(r"`runner ([a-z]+)[ `]", page):
            assert verb in verbs, f"`runner {verb}` is no command"


def test_codes_that_documents_name_exist() -> None:
    known = {str(code) for code in ErrorCode}
    named = set(re.findall(r"`((?:workspace|git|push|edit|run|path|file|read|list|delete|search)_[a-z_]+)`", README))
    assert {name for name in named if name not in known and name not in ("git_commit", "git_push")} == set()


def test_the_tools_page_is_fresh() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    assert page == markdown_page(), "run: .venv/bin/runner tools --format markdown > docs/tools.md"


def test_the_table_of_patterns_is_true() -> None:
    rows = _GLOB_ROW.findall(POLICY)
    assert len(rows) > 15
    for pattern, path, allows, denies in rows:
        check_pattern(pattern)
        found = (GlobSet.granting([pattern]).match(path), GlobSet.denying([pattern]).match(path))
        said = tuple(pattern if word == "yes" else None for word in (allows, denies))
        assert found == said, f"{pattern} on {path}"


def test_the_reference_has_each_key_with_its_default_and_bounds() -> None:
    rows = {key: (default, bounds) for key, _, default, bounds, _ in _KEY_ROW.findall(POLICY)}
    keys = dict(_keys(policy_schema(), policy_schema()["properties"]))
    assert set(rows) == set(keys)
    defaults = Policy().model_dump(mode="json", by_alias=True)
    for key, field in keys.items():
        value: Any = defaults
        for part in key.split("."):
            value = value[part]
        assert rows[key][0] == json.dumps(value), key
        for low, high in _bounds(field):
            assert f"`{low}..{high}`" in rows[key][1], key


def test_the_references_narrowing_narrows_and_its_table_has_each_key() -> None:
    section = POLICY.partition("\n## Narrowing\n")[2].partition("\n## ")[0]
    block = section.partition("```yaml\n")[2].partition("```")[0]
    left = parse_narrowing(load_policy("node-app"), block.encode(), source="POLICY.md").policy
    assert (left.setup, left.limits.run_seconds, len(left.narrower)) == ("off", 600, 1)
    named = {key.removesuffix(".*") for key in re.findall(r"`([A-Za-z.]+(?:\.\*)?)`", section)}
    keys = dict(_keys(policy_schema(), policy_schema()["properties"]))
    assert [key for key in keys if not {key, key.partition(".")[0]} & named] == []


def test_the_reference_names_each_preset() -> None:
    section = POLICY.partition("## Presets")[2]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == set(preset_names())


def test_every_line_of_the_threat_model_has_a_status_and_a_test() -> None:
    rows = [line.split(" | ") for line in THREATS.splitlines() if line.startswith("| ")]
    lines = [cells for cells in rows if cells[0] not in ("| threat", "| what")]
    assert len(lines) > 20
    for cells in lines:
        status = next((cell for cell in cells[1:3] if _STATUS.match(cell)), None)
        assert status is not None, cells[0]
        tests = re.findall(r"`(tests/[a-z_/]+\.py)`", " ".join(cells))
        assert tests, f"{cells[0]} names no test"


def test_the_table_of_limits_has_each_limit_once() -> None:
    table = OPERATIONS.partition("\n## Limits\n")[2].partition("\n## ")[0]
    named = [
        key for row in table.splitlines() if row.startswith("| `") for key in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert sorted(named) == sorted(Limits().model_dump(by_alias=True))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_and_links_of_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in _PATH.findall(text):
        assert list(ROOT.glob(name.rstrip("/"))), f"{page.name} names {name}"
    for link in _LINK.findall(text):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_decisions_are_numbered_and_listed() -> None:
    folder = ROOT / "docs" / "adr"
    numbers = sorted(path.name[:4] for path in folder.glob("[0-9]*.md"))
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in folder.glob("[0-9]*.md") if f"({path.name})" not in index] == []


def _keys(schema: dict[str, Any], properties: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Dotted key and schema of everything that is not a section itself."""
    for name, field in properties.items():
        reference = field.get("$ref")
        section = schema["$defs"][reference.rpartition("/")[2]] if reference else field
        if "properties" in section:
            yield from _keys(schema, section["properties"], f"{before}{name}.")
        else:
            yield before + name, field


def _bounds(field: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    for choice in field.get("anyOf", [field]):
        if "minimum" in choice:
            yield choice["minimum"], choice["maximum"]
