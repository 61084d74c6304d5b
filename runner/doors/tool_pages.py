"""`runner tools`: the tool contract as the registry holds it, for models, for people, and as the reference page."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from runner.doors import render
from runner.tools.base import Effect, Retry, Tool
from runner.tools.registry import ANY_CALL, TOOLS

__all__ = ["ToolFormat", "flat_name", "markdown_page", "tool_schemas", "tools_command"]


class ToolFormat(StrEnum):
    """For whom the tools are described."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    MCP = "mcp"
    MARKDOWN = "markdown"


def tools_command(
    form: Annotated[ToolFormat, typer.Option("--format", "-o", help="For whom.")] = ToolFormat.TABLE,
) -> None:
    """Describe the tools that a run offers.

    Example: runner tools --format openai
    """
    if form is ToolFormat.MARKDOWN:
        sys.stdout.write(markdown_page())
    elif form is ToolFormat.TABLE:
        rows = [[tool.name, ", ".join(_fields(tool)), str(tool.effect), tool.retry_note] for tool in TOOLS.values()]
        render.table(("tool", "fields (? optional)", "effect", "retry"), rows)
    elif form is ToolFormat.JSONL:
        for shape in tool_schemas(form):
            render.json_line(shape)
    else:
        render.json_line(tool_schemas(form))


def tool_schemas(form: ToolFormat) -> list[dict[str, Any]]:
    """The tools in the form that an API takes. Names with a dot become names with `_` where dots aren't allowed."""
    return [_SHAPES[form](tool) for tool in TOOLS.values()]


def _fields(tool: Tool) -> list[str]:
    fields = tool.arguments.model_fields.items()
    return [name if field.is_required() else f"{name}?" for name, field in fields]


def _schema(tool: Tool) -> dict[str, Any]:
    schema = tool.arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
    return schema


def flat_name(name: str) -> str:
    """The name for protocols that allow no dot."""
    return name.replace(".", "_")


def _plain(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "result": tool.result,
        "errors": [str(code) for code in tool.errors],
        "effect": str(tool.effect),
        "retry": str(tool.retry),
        "arguments": _schema(tool),
    }


def _openai(tool: Tool) -> dict[str, Any]:
    function = {"name": flat_name(tool.name), "description": tool.description, "parameters": _schema(tool)}
    return {"type": "function", "function": function}


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": flat_name(tool.name), "description": tool.description, "input_schema": _schema(tool)}


def _mcp(tool: Tool) -> dict[str, Any]:
    hints = {
        "readOnlyHint": tool.effect is Effect.READ,
        "destructiveHint": tool.effect is Effect.WRITE,
        "idempotentHint": tool.retry is not Retry.NOT_RETRY_SAFE,
        "openWorldHint": tool.name == "workspace.git_push",
    }
    shape = {
        "name": flat_name(tool.name),
        "description": tool.description,
        "inputSchema": _schema(tool),
        "annotations": hints,
    }
    # Text has no structure, and needs no schema.
    return shape if issubclass(tool.answer, str) else {**shape, "outputSchema": tool.answer.model_json_schema()}


_SHAPES = {
    ToolFormat.JSON: _plain,
    ToolFormat.JSONL: _plain,
    ToolFormat.OPENAI: _openai,
    ToolFormat.ANTHROPIC: _anthropic,
    ToolFormat.MCP: _mcp,
}


def markdown_page() -> str:
    """The reference page docs/tools.md, which a test keeps fresh."""
    anywhere = ", ".join(f"`{code}`" for code in ANY_CALL)
    parts = [
        "# Tools\n\nMade by `runner tools --format markdown` from the registry; don't edit it by hand.\n\n"
        'A call answers `{"ok": true, "result": …}` or `{"ok": false, "error": {"code", "message", "details"}}`. '
        f"Beside its own, any call may have the codes {anywhere}.\n"
    ]
    for tool in TOOLS.values():
        parts.append(f"\n## `{tool.name}`\n\n{tool.description}\n\nEffect: {tool.effect}. Retry: {tool.retry_note}.\n")
        parts.append(f"\nResult: {tool.result}.\n\nErrors: {', '.join(f'`{code}`' for code in tool.errors)}.\n")
        properties = _schema(tool).get("properties", {})
        if properties:
            parts.append("\n| field | required | what |\n|---|---|---|\n")
        for name, field in tool.arguments.model_fields.items():
            required = "yes" if field.is_required() else "no"
            parts.append(f"| `{name}` | {required} | {field.description or ''} |\n")
    return "".join(parts)
