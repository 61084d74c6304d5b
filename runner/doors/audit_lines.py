"""An audit line in one row for a person. Everything in it may be a workspace's text; `render` makes it visible."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["COLUMNS", "row_of"]

COLUMNS = ("line", "at", "event", "call", "what")

_MAX_CHARACTERS = 400
"""Of one row; `-o json` has everything."""


def row_of(line: Mapping[str, Any]) -> list[str]:
    """The cells of a line, whoever wrote it: a chain proves no form."""
    data = line["data"] if isinstance(line["data"], Mapping) else {"data": line["data"]}
    try:
        told = _WORDS.get(str(line["event"]), _anything)(data)
    except (KeyError, TypeError, AttributeError):
        told = _anything(data)
    shown = told if len(told) <= _MAX_CHARACTERS else f"{told[:_MAX_CHARACTERS]}…"
    return [str(line["seq"]), str(line["at"]), str(line["event"]), str(data.get("seq", "")), shown]


def _anything(data: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {_short(value)}" for key, value in data.items() if key != "seq")


def _short(value: Any) -> str:
    if isinstance(value, list) and value and not isinstance(value[0], str):
        return f"{len(value)} entries"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _call(data: Mapping[str, Any]) -> str:
    arguments = data.get("arguments")
    named = [arguments[key] for key in ("path", "argv", "args", "pattern") if key in arguments] if arguments else []
    subject = [" ".join(map(str, value)) if isinstance(value, list) else str(value) for value in named]
    return " ".join([str(data["tool"]), *subject])


def _end(data: Mapping[str, Any]) -> str:
    how = "ok" if data["ok"] else str(data["code"])
    code = "" if data.get("exit") is None else f", exit {data['exit']}"
    return f"{data['tool']}: {how}{code}, {data['ms']} ms"


def _decision(data: Mapping[str, Any]) -> str:
    said = "allowed" if data["allowed"] else f"denied ({data['code']})"
    return f"{said} by {data['rule']}, {data['subject'].get('kind', '')}"


def _egress(data: Mapping[str, Any]) -> str:
    said = "allowed" if data["allowed"] else "refused"
    sums = f"{data['bytes_up']} up, {data['bytes_down']} down"
    return f"{data['phase']}: {data['host']}:{data['port']} {said} by {data['rule']}, {sums}"


def _opening(data: Mapping[str, Any]) -> str:
    return f"{data['phase']}: {data['host']}:{data['port']} allowed by {data['rule']}, connection {data['connection']}"


def _proof(data: Mapping[str, Any]) -> str:
    missed = [str(check["control"]) for check in data["checks"] if not check["active"]]
    role = f"{data['role']}: " if "role" in data else ""
    return f"{role}{len(data['checks'])} controls, " + (f"not active: {', '.join(missed)}" if missed else "all active")


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "call.started": _call,
    "call.finished": _end,
    "decision": _decision,
    "egress.open": _opening,
    "egress": _egress,
    "posture": _proof,
    "gate.posture": _proof,
}
