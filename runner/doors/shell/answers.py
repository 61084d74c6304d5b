"""Answers as a person reads them: text as it is, with everything made visible that a terminal would act on."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Mapping
from typing import Any

from runner.doors import render

__all__ = ["Watched", "show_answer"]


def show_answer(answer: Mapping[str, Any], *, output_was_seen: bool = False) -> None:
    """The answer is on the terminal; what a program wrote only where it was not seen as it came."""
    if not answer["ok"]:
        error = answer["error"]
        render.text(f"refused: {error['code']}: {error['message']}", style="red")
        return
    result = answer["result"]
    if output_was_seen:
        result = {**result, "stdout": "", "stderr": ""}
    _SHOWN.get(answer["tool"], _plain)(result)
    render.text(f"{answer['duration_ms']:.0f} ms", style="dim")


class Watched:
    """Shows what a program writes as it comes. `any` says whether there was something."""

    def __init__(self) -> None:
        self.any = False
        self._decoders = {name: getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}

    def __call__(self, name: str, data: bytes) -> None:
        """A piece of one stream is on the terminal; a character that is not whole yet waits for its rest."""
        self.any = True
        render.piece(self._decoders[name].decode(data), style=None if name == "stdout" else "yellow")


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
    said = _cut_off(result) if code is None else f"exit {code}"
    notes = [*result.get("limits_hit", ()), *(f"wrote outside: {path}" for path in result.get("outside_writes", ()))]
    render.text("; ".join([said, *notes]), style=None if code == 0 else "yellow")


def _cut_off(result: Any) -> str:
    by = "deadline" if result["timed_out"] else result.get("killed_by")
    return _ENDED.get(by, "cancelled, or ended by a limit")


_ENDED = {
    "caller": "cancelled",
    "deadline": "ended by its time limit",
    "memory": "ended by its memory limit",
    "output": "ended by its output limit",
}
_SHOWN = {
    "workspace.list_dir": _listing,
    "workspace.search": _matches,
    "workspace.run_command": _program,
    "git": _program,
}
