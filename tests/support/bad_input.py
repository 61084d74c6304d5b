"""Input that nobody means: huge, deep, doubled, or no text at all. As data, with the code that each call gets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["CALLS", "DOCUMENTS", "LINES", "MIB", "PATHS", "BadCall", "nested"]

MIB = 1024 * 1024
HUGE = 10**4000

INVALID = "invalid_arguments"
NO_PATH = "path_invalid"
NO_WRITE = "workspace_write_not_allowed"

PATHS = {
    "of 1 MiB": "src/" + "a" * MIB,
    "5,000 deep": "src/" + "a/" * 5000 + "x",
    "2,000 deep": "src/" + "a/" * 2000 + "x",
    "with a NUL": "src/a\0b",
    "with half a surrogate pair": "src/\ud800",
    "with a byte that is no text": "src/\udcff",
}


@dataclass(frozen=True)
class BadCall:
    """One call and the code that it is refused with."""

    tool: str
    arguments: dict[str, Any]
    code: str

    @property
    def line(self) -> str:
        """As a calls file has it."""
        return json.dumps({"tool": self.tool, "arguments": self.arguments})


def nested(depth: int) -> object:
    """A list in a list, `depth` times."""
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def _file_calls() -> dict[str, BadCall]:
    made: dict[str, BadCall] = {}
    for flaw, path in PATHS.items():
        for tool in ("read_file", "list_dir"):
            # The kernel's own bound on a path is met by what looks, ours by what writes.
            made[f"{tool}: a path {flaw}"] = BadCall(f"workspace.{tool}", {"path": path}, NO_PATH)
        for tool, rest in (
            ("write_file", {"content": "x"}),
            ("delete_file", {}),
            ("edit", {"oldString": "a", "newString": "b"}),
        ):
            made[f"{tool}: a path {flaw}"] = BadCall(f"workspace.{tool}", {"path": path, **rest}, NO_WRITE)
    # A path of 4 KiB may be named; there is nothing at its end, and nothing is made.
    for tool in ("read_file", "list_dir", "write_file", "delete_file", "edit"):
        del made[f"{tool}: a path 2,000 deep"]
    return made


def _argv_calls() -> dict[str, BadCall]:
    words = {
        "an element of 1 MiB": ["log", "a" * MIB],
        "an element that no program can be given": ["log", "a" * (128 * 1024)],
        "10,000 elements after the program": ["log"] * 10_000,
        "100,000 elements": ["log"] * 100_000,
        "a NUL": ["log", "a\0b"],
        "half a surrogate pair": ["log", "\ud800"],
        "a byte that is no text": ["log", "\udcff"],
    }
    made = {f"git: {flaw}": BadCall("git", {"args": args}, INVALID) for flaw, args in words.items()}
    made["git: a first word with a NUL"] = BadCall("git", {"args": ["log\0"]}, INVALID)
    made["git: a number"] = BadCall("git", {"args": ["log", 7]}, "argv_required")
    for flaw, args in words.items():
        made[f"run_command: {flaw}"] = BadCall("workspace.run_command", {"argv": ["git", *args]}, INVALID)
    made["git: a line of 1 MiB"] = BadCall("git", {"args": "log " + "a" * MIB}, INVALID)
    made["git: a line of 100,000 words"] = BadCall("git", {"args": "log " * 100_000}, INVALID)
    made["run_command: a program with a NUL"] = BadCall(
        "workspace.run_command", {"argv": ["git\0"]}, "bin_not_allowlisted"
    )
    made["run_command: a number"] = BadCall("workspace.run_command", {"argv": ["git", 7]}, "argv_required")
    return made


def _text_calls() -> dict[str, BadCall]:
    edit = {"path": "src/app.mjs", "oldString": "const", "newString": "let"}
    return {
        "write_file: half a surrogate pair": BadCall(
            "workspace.write_file", {"path": "src/new.txt", "content": "\ud800"}, INVALID
        ),
        "edit: half a surrogate pair to find": BadCall("workspace.edit", {**edit, "oldString": "\ud800"}, INVALID),
        "edit: half a surrogate pair to put": BadCall("workspace.edit", {**edit, "newString": "\ud800"}, INVALID),
        "git_commit: a NUL": BadCall("workspace.git_commit", {"message": "a\0b"}, INVALID),
        "git_commit: half a surrogate pair": BadCall("workspace.git_commit", {"message": "\ud800"}, INVALID),
        "git_commit: a message over 1 MiB": BadCall("workspace.git_commit", {"message": "a" * (MIB + 1)}, INVALID),
        "search: 1 MiB": BadCall("workspace.search", {"pattern": "a" * MIB}, INVALID),
        "search: a NUL": BadCall("workspace.search", {"pattern": "a\0"}, "search_pattern_invalid"),
        "search: half a surrogate pair": BadCall("workspace.search", {"pattern": "\ud800"}, INVALID),
        "search: groups 5,000 deep": BadCall(
            "workspace.search", {"pattern": "(" * 5000 + ")" * 5000, "regex": True}, "search_pattern_invalid"
        ),
        "search: an endless repetition": BadCall(
            "workspace.search", {"pattern": "a{1,99999999999999999999}", "regex": True}, "search_pattern_invalid"
        ),
        "search: 10,000 globs": BadCall("workspace.search", {"pattern": "a", "globs": ["a"] * 10_000}, INVALID),
        "search: a glob with a NUL": BadCall("workspace.search", {"pattern": "a", "globs": ["a\0"]}, INVALID),
        "search: a glob that is no text": BadCall("workspace.search", {"pattern": "a", "globs": ["\ud800"]}, INVALID),
        "search: a huge number": BadCall("workspace.search", {"pattern": "a", "maxResults": HUGE}, INVALID),
        "read_file: a huge first line": BadCall(
            "workspace.read_file", {"path": "README.md", "startLine": HUGE}, INVALID
        ),
        "read_file: a huge window": BadCall("workspace.read_file", {"path": "README.md", "limit": HUGE}, INVALID),
    }


_WHOLE: dict[str, dict[str, Any]] = {
    "workspace.read_file": {"path": "README.md"},
    "workspace.list_dir": {"path": "src"},
    "workspace.write_file": {"path": "src/new.txt", "content": "x"},
    "workspace.delete_file": {"path": "src/app.mjs"},
    "workspace.edit": {"path": "src/app.mjs", "oldString": "const", "newString": "let"},
    "workspace.search": {"pattern": "a"},
    "workspace.run_command": {"argv": ["git", "status"]},
    "workspace.git_commit": {"message": "x"},
    "workspace.git_push": {},
    "git": {"args": ["status"]},
}


def _any_tool() -> dict[str, BadCall]:
    """Calls that are whole but for one field more, which is out of reach."""
    made = {}
    for tool, arguments in _WHOLE.items():
        name = tool.removeprefix("workspace.")
        made[f"{name}: a field 40 deep"] = BadCall(tool, {**arguments, "more": nested(40)}, INVALID)
        made[f"{name}: a field 900 deep"] = BadCall(tool, {**arguments, "more": nested(900)}, INVALID)
        made[f"{name}: a field of a million values"] = BadCall(tool, {**arguments, "more": ["a"] * 1_000_000}, INVALID)
        made[f"{name}: a number of 4,000 digits"] = BadCall(tool, {**arguments, "more": HUGE}, INVALID)
    return made


CALLS: dict[str, BadCall] = {**_file_calls(), **_argv_calls(), **_text_calls(), **_any_tool()}
"""By flaw. Each is JSON that a caller could send."""

LINES: dict[str, bytes] = {
    "the tool twice": b'{"tool": "workspace.list_dir", "tool": "workspace.git_push"}',
    "the arguments twice": b'{"tool": "git", "arguments": {"args": "status"}, "arguments": {"args": "clean -fdx"}}',
    "a field twice": b'{"tool": "git", "arguments": {"args": "status", "args": "clean -fdx"}}',
    "a field twice, by an escape": b'{"tool": "git", "arguments": {"args": "status", "\\u0061rgs": "clean -fdx"}}',
    "100,000 lists in each other": b'{"tool": "git", "arguments": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "an identity 500 deep": b'{"tool": "git", "id": ' + b"[" * 500 + b"]" * 500 + b"}",
    "an identity of 4,000 digits": b'{"tool": "git", "id": ' + b"9" * 4000 + b"}",
    "a million values": b'{"tool": "git", "arguments": {"args": [' + b'"a",' * 1_000_000 + b'"a"]}}',
    "an identity of a million values": b'{"tool": "git", "id": [' + b"1," * 1_000_000 + b"1]}",
    "a million digits": b'{"tool": "git", "id": ' + b"9" * 1_000_000 + b"}",
    "a number beyond every float": b'{"tool": "git", "id": 1e999}',
    "NUL bytes": b"\0" * 1000,
    "a NUL in a text": b'{"tool": "git\0"}',
    "bytes that are no text": b'{"tool": "git\xff"}',
}
"""Lines of a calls file that are no calls, each refused with invalid_arguments."""

_BOMB = b"\n".join([b"a0: &a0 [x, x]", *(b"a%d: &a%d [*a%d, *a%d]" % (n, n, n - 1, n - 1) for n in range(1, 40))])

DOCUMENTS: dict[str, bytes] = {
    "100,000 lines": b"writeAllow:\n" + b"  - a\n" * 100_000,
    "more than 1 MiB": b"#" * (MIB + 1),
    "an anchor bomb": _BOMB,
    "a merge bomb": b"a: &a {x: 1}\nb: &b {<<: [*a, *a]}\nlimits: {<<: [*b, *b]}",
    "lists 500,000 deep": b"[" * 500_000,
    "lists 500,000 deep, as JSON": b'{"writeAllow": ' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "blocks 500,000 deep": b"- " * 500_000,
    "mappings 5,000 deep": b"{a: " * 5000,
    "30,000 values": b"bins: [" + b"git," * 30_000 + b"]",
    "a key twice": b"limits: {pids: 64}\nlimits: {pids: 100000}\n",
    "a key twice, as JSON": b'{"limits": {"pids": 64, "pids": 100000}}',
    "a number of 5,000 digits": b"limits: {pids: " + b"9" * 5000 + b"}",
    "a number of a million digits": b"limits: {cpus: " + b"9" * 1_000_000 + b"}",
    "a number of a million decimals": b"limits: {cpus: 1." + b"9" * 1_000_000 + b"}",
    "a number beyond every float": b"limits: {cpus: 1" + b"0" * 400 + b".0}",
    "a pattern of 1 MB": b"writeAllow: ['" + b"a" * 1_000_000 + b"']",
    "a path 5,000 deep": b"writeAllow: ['" + b"a/" * 5000 + b"x']",
    "a host of 1 MB": b"network: {run: {allow: ['" + b"a." * 500_000 + b"com']}}",
    "a task of 1 MB": b"verifyTask: " + b"a" * 1_000_000,
    "9,000 unknown keys": b"".join(b"key%d: 1\n" % n for n in range(9000)),
    "19,000 wrong values": b"writeAllow: [" + b"1," * 19_000 + b"]",
    "NUL bytes": b"\0" * 1000,
    "a NUL in a value": b"verifyTask: a\0b\n",
    "an escaped NUL": b'verifyTask: "a\\0b"\n',
    "half a surrogate pair": b'verifyTask: "\\ud800"\n',
    "bytes that are no text": b"verifyTask: \xff\xfe\n",
}
"""Policies that are none, by flaw."""
