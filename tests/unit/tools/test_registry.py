"""The registry is the contract: names, fields, effects, retry rules, and schemas that others can read."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from runner.doors.tool_pages import ToolFormat, markdown_page, tool_schemas
from runner.model.errors import ErrorCode
from runner.tools.base import Effect, Retry
from runner.tools.registry import ANY_CALL, TOOLS

CONTRACT: dict[str, tuple[set[str], set[str], Effect, Retry]] = {
    "workspace.read_file": ({"path"}, {"startLine", "limit"}, Effect.READ, Retry.SAFE),
    "workspace.list_dir": (set(), {"path"}, Effect.READ, Retry.SAFE),
    "workspace.write_file": ({"path", "content"}, set(), Effect.WRITE, Retry.IDEMPOTENT),
    "workspace.delete_file": ({"path"}, set(), Effect.WRITE, Retry.NOT_RETRY_SAFE),
    "workspace.edit": ({"path", "oldString", "newString"}, {"replaceAll"}, Effect.WRITE, Retry.NOT_RETRY_SAFE),
    "workspace.search": ({"pattern"}, {"globs", "ignoreCase", "regex", "maxResults"}, Effect.READ, Retry.SAFE),
    "workspace.run_command": ({"argv"}, set(), Effect.WRITE, Retry.NOT_RETRY_SAFE),
    "workspace.git_commit": ({"message"}, set(), Effect.WRITE, Retry.NOT_RETRY_SAFE),
    "workspace.git_push": (set(), set(), Effect.WRITE, Retry.IDEMPOTENT),
    "git": ({"args"}, set(), Effect.WRITE, Retry.NOT_RETRY_SAFE),
}
TYPES = {"string", "integer", "boolean", "array", "null"}
FORMS = (ToolFormat.JSON, ToolFormat.OPENAI, ToolFormat.ANTHROPIC, ToolFormat.MCP)


def schema_in(form: ToolFormat, tool: dict[str, Any]) -> dict[str, Any]:
    """The arguments' schema, wherever the form keeps it."""
    inside = tool["function"] if form is ToolFormat.OPENAI else tool
    key = {"json": "arguments", "openai": "parameters", "anthropic": "input_schema", "mcp": "inputSchema"}[form]
    schema: dict[str, Any] = inside[key]
    return schema


def well_formed(schema: dict[str, Any]) -> bool:
    """Whether it is a schema of the few kinds that arguments need: a type of JSON's, or a choice of such."""
    if "anyOf" in schema:
        return all(well_formed(choice) for choice in schema["anyOf"])
    return schema["type"] in TYPES and (schema["type"] != "array" or well_formed(schema["items"]))


def test_the_tools_are_those_of_the_contract_with_their_fields_effects_and_retry_rules() -> None:
    held = {}
    for name, tool in TOOLS.items():
        fields = tool.arguments.model_fields.items()
        required = {field for field, info in fields if info.is_required()}
        held[name] = (required, {field for field, _ in fields} - required, tool.effect, tool.retry)
    assert held == CONTRACT


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_tool_says_what_it_does_what_each_field_is_and_whether_a_repeat_is_harmless(name: str) -> None:
    tool = TOOLS[name]
    assert tool.name == name and len(tool.description) > 20
    assert tool.retry_note.startswith({"safe": "safe", "idempotent": "idempotent"}.get(tool.retry, "not retry-safe"))
    for field in tool.arguments.model_fields.values():
        assert field.description and len(field.description) > 10


@pytest.mark.parametrize("form", FORMS)
def test_each_form_has_every_tool_with_a_schema_that_is_valid_and_described(form: ToolFormat) -> None:
    tools = tool_schemas(form)
    assert json.loads(json.dumps(tools)) == tools and len(tools) == len(CONTRACT)
    for tool, (required, optional, _, _) in zip(tools, CONTRACT.values(), strict=True):
        schema = schema_in(form, tool)
        assert schema["type"] == "object" and "$defs" not in schema and "$ref" not in json.dumps(schema)
        assert set(schema["properties"]) == required | optional
        assert set(schema.get("required", ())) == required
        assert schema["additionalProperties"] is not bool(required | optional)
        for field in schema["properties"].values():
            assert field["description"] and "title" not in field and well_formed(field)


@pytest.mark.parametrize("form", [ToolFormat.OPENAI, ToolFormat.ANTHROPIC, ToolFormat.MCP])
def test_names_are_of_the_form_that_apis_take_and_stay_apart(form: ToolFormat) -> None:
    names = [(tool["function"] if form is ToolFormat.OPENAI else tool)["name"] for tool in tool_schemas(form)]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert len(set(names)) == len(TOOLS) and "workspace_read_file" in names


def test_the_forms_have_just_the_keys_that_they_are_known_for() -> None:
    keys = {form: set(tool_schemas(form)[0]) for form in FORMS}
    assert keys == {
        ToolFormat.JSON: {"name", "description", "result", "errors", "effect", "retry", "arguments"},
        ToolFormat.OPENAI: {"type", "function"},
        ToolFormat.ANTHROPIC: {"name", "description", "input_schema"},
        ToolFormat.MCP: {"name", "description", "inputSchema", "annotations"},
    }
    assert set(tool_schemas(ToolFormat.OPENAI)[0]["function"]) == {"name", "description", "parameters"}


def test_mcp_hints_follow_effect_and_retry_rule() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in tool_schemas(ToolFormat.MCP)}
    for name, (_, _, effect, retry) in CONTRACT.items():
        assert hints[name.replace(".", "_")] == {
            "readOnlyHint": effect is Effect.READ,
            "destructiveHint": effect is Effect.WRITE,
            "idempotentHint": retry is not Retry.NOT_RETRY_SAFE,
            "openWorldHint": name == "workspace.git_push",
        }


def test_a_schema_that_was_handed_out_and_changed_leaves_the_next_one_whole() -> None:
    first = tool_schemas(ToolFormat.JSON)
    first[0]["arguments"]["properties"].clear()
    assert tool_schemas(ToolFormat.JSON)[0]["arguments"]["properties"]


def test_the_reference_page_has_every_tool_and_every_field() -> None:
    page = markdown_page()
    for name, tool in TOOLS.items():
        section = page.partition(f"## `{name}`")[2].partition("\n## ")[0]
        assert tool.description in section and tool.retry_note in section
        assert all(f"| `{field}` |" in section for field in tool.arguments.model_fields)


def test_every_code_of_the_contract_is_named_by_a_tool() -> None:
    named = {code for tool in TOOLS.values() for code in tool.errors} | set(ANY_CALL)
    assert set(ErrorCode) - named == {ErrorCode.ENGINE_UNAVAILABLE}  # what keeps a run from starting
