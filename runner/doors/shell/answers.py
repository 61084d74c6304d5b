"""Answers as a person reads them: text as it is, with everything made visible that a terminal would act on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runner.doors import render

__all__ = ["show_answer"]


def show_answer(answer: Mapping[str, Any]) -> None:
    """The answer is on the terminal."""
    if not answer["ok"]:
        error = answer["error"]
        render.text(f"refused: {error['code']}: {error['message']}", style="red")
        return
    result = answer["result"]
    _SHOWN.get(answer["tool"], _plain)(result)
    render.text(f"{answer['duration_ms']:.0f} ms", style="dim")


def _plain(result: Any) -> None:
    render.text(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=1))


def _listing(result: Any) -> None:
    marks = {"dir": "/", "symlink": "@", "other": "?"}
    for entry in result["entries"]:
        render.text(f"{entry['size']:>10}  {entry['name']}{marks.get(entry['kind'], '')}")
    _cut(result)


def _matches(result: Any) -> None:
    for match in result["matches"]:
        render.text(f"{match['path']}:{match['line']}: {match['text']}")
    _cut(result)


def _cut(result: Any) -> None:
    if result["truncated"]:
        render.text("(there is more)", style="dim")


def _program(result: Any) -> None:
    for stream, style in (("stdout", None), ("stderr", "yellow")):
        if result[stream]:
            render.text(result[stream].rstrip("\n"), style=style)
    code = result.get("code", result.get("exit"))
    said = "ended by a limit" if code is None else f"exit {code}"
    notes = [*result.get("limits_hit", ()), *(f"wrote outside: {path}" for path in result.get("outside_writes", ()))]
    render.text("; ".join([said, *notes]), style=None if code == 0 else "yellow")


_SHOWN = {
    "workspace.list_dir": _listing,
    "workspace.search": _matches,
    "workspace.run_command": _program,
    "git": _program,
}
