"""The published forms: what is written has them, docs/schemas says them, and nothing else passes."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from runner.audit.forms import EVENTS, check_line
from runner.audit.record_forms import ReceiptFile, record_schemas
from tests.architecture.sources import ROOT, modules
from tests.support.sealed_run import make_record

SCHEMAS = ROOT / "docs" / "schemas"
MAKE = "run: .venv/bin/runner audit schemas --out docs/schemas"


def test_the_schemas_in_docs_are_fresh_and_complete() -> None:
    for name, schema in record_schemas().items():
        assert json.loads((SCHEMAS / name).read_text(encoding="utf-8")) == schema, MAKE
    assert {path.name for path in SCHEMAS.glob("*.json")} == set(record_schemas()), MAKE


def test_every_event_that_the_runner_writes_has_a_form_and_every_form_an_event() -> None:
    written = {event for module in modules() for event in _appended(module.tree)}
    assert written == set(EVENTS)


_WRITES = ("append", "tell")


def _appended(tree: ast.Module) -> list[str]:
    """The event names of `….audit.append("event", …)`, of `audit.append(…)`, and of `tell` the same."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _WRITES:
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name in ("audit", "_audit") and len(node.args) == 2 and isinstance(node.args[0], ast.Constant):
                found.append(str(node.args[0].value))
    return found


def test_a_record_has_the_published_forms(tmp_path: Path) -> None:
    record = make_record(tmp_path)
    for line in record.lines:
        check_line(json.loads(line))
    assert record.receipt is not None
    ReceiptFile.model_validate_json(record.receipt)


@pytest.mark.parametrize(
    "change",
    [
        {"event": "run.begun"},
        {"data": {}},
        {"v": 2},
        {"extra": 1},
        {"prev": "0"},
        {"seq": 0},
    ],
    ids=str,
)
def test_another_form_is_told_from_the_published_one(tmp_path: Path, change: dict[str, Any]) -> None:
    line = json.loads(make_record(tmp_path).lines[0])
    with pytest.raises(ValueError):
        check_line({**line, **change})


def test_a_form_takes_no_further_key(tmp_path: Path) -> None:
    record = make_record(tmp_path)
    assert record.receipt is not None
    told = json.loads(record.receipt)
    told["statement"]["more"] = 1
    with pytest.raises(ValidationError):
        ReceiptFile.model_validate(told)


def test_the_schema_of_a_line_ties_each_event_to_the_form_of_its_data() -> None:
    schema = record_schemas()["audit-line.schema.json"]
    cases = {case["properties"]["event"]["const"]: case["properties"]["data"]["$ref"] for case in schema["oneOf"]}
    assert set(cases) == set(EVENTS)
    assert all(reference.rpartition("/")[2] in schema["$defs"] for reference in cases.values())
