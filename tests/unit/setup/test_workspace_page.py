"""docs/WORKSPACE.md: its examples are read, its tables are run."""

from __future__ import annotations

import json
import re

import pytest

from runner.setup.detect import plan_setup
from runner.setup.tool_versions import fits
from runner.setup.workspace_yml import WorkspaceFile, parse_workspace_file
from tests.architecture.sources import ROOT
from tests.unit.setup.test_detect import Tree

PAGE = (ROOT / "docs" / "WORKSPACE.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
KEYS = re.findall(r"^\| `([a-z]+)` \| .+ \| .+ \|", PAGE, re.MULTILINE)
DETECTED = re.findall(r"^\| (`[^|]+`) \| (?:`([^|]+)` )?\| (nothing|`[^|]+`) \|$", PAGE, re.MULTILINE)
VERSIONS = re.findall(r"^\| `([^|]+)` \| `([0-9.]+)` \| (fits|differs|not compared) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_each_example_is_a_workspace_file(text: str) -> None:
    parse_workspace_file(text.encode())


def test_the_examples_use_every_key_and_the_table_has_each() -> None:
    used = {name for text in EXAMPLES for name in parse_workspace_file(text.encode()).model_fields_set}
    assert used == set(WorkspaceFile.model_fields)
    assert set(KEYS) >= {*WorkspaceFile.model_fields, "setup"}


@pytest.mark.parametrize(("files", "manager", "installs"), DETECTED)
def test_the_table_of_detection_is_true(files: str, manager: str, installs: str) -> None:
    names = re.findall(r"`([^`]+)`", files)
    package = {"dependencies": {"a": "1"}, **({"packageManager": manager} if manager else {})}
    tree = Tree({name: json.dumps(package) if name == "package.json" else "" for name in names})
    plan = plan_setup("auto", tree, names)
    said = [] if installs == "nothing" else [installs.strip("`")]
    assert [" ".join(step.argv) for step in plan.steps] == said


@pytest.mark.parametrize(("wanted", "has", "fit"), VERSIONS)
def test_the_table_of_versions_is_true(wanted: str, has: str, fit: str) -> None:
    assert fits(wanted, has) is {"fits": True, "differs": False, "not compared": None}[fit]


def test_the_tables_are_found() -> None:
    assert (len(EXAMPLES), len(DETECTED), len(VERSIONS)) == (4, 13, 8)
