"""The configuration lines for agents are lines that their programs and ours can read."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import Any

import pytest
from typer.main import get_command

from runner.doors.cli import command_line
from tests.architecture.sources import ROOT

PAGES = ("README.md", "docs/MCP.md")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    part = text.partition("## 2. An agent over MCP")[2].partition("\n## ")[0] if page == "README.md" else text
    return re.findall(rf"^```{language}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_what_an_agent_is_configured_with_starts_our_command(page: str) -> None:
    servers: list[dict[str, Any]] = [json.loads(block)["mcpServers"]["runner"] for block in blocks(page, "json")]
    servers += [tomllib.loads(block)["mcp_servers"]["runner"] for block in blocks(page, "toml")]
    assert len(servers) == 2
    for server in servers:
        assert server["command"] == "runner"
        understood(server["args"])


@pytest.mark.parametrize("page", PAGES)
def test_the_command_lines_are_understood(page: str) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if "runner mcp" in line]
    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        understood(words[words.index("mcp", words.index("--") if "--" in words else 0) :])


def understood(words: list[str]) -> None:
    command = get_command(command_line("mcp")).commands["mcp"]  # type: ignore[attr-defined]
    command.make_context("mcp", words[1:], resilient_parsing=False)
