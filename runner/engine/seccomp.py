"""Our own system call filter, as it is handed to the engine: what the tools in the images need, and nothing else.

`seccomp.json` is an allowlist in the engine's own form, each group with its reason. It is at least as tight as the
engine's default profile with every capability dropped, and does not change with the engine's version.

Filters of different profiles look alike from inside: all of them are mode 2. So ours answers one system call, which no
kernel carries out any more, with a number made from its own digest. What sees that number sees this very filter.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["MARK_CALL", "NO_FILTER", "OTHER_FILTER", "OWN_FILTER", "mark", "named", "profile"]

MARK_CALL = "nfsservctl"
"""Its numbers are kept on every architecture, and no kernel since 3.1 does anything for it."""

OWN_FILTER = "runner's own"
OTHER_FILTER = "another"
NO_FILTER = "unconfined"

_FILE = Path(__file__).with_name("seccomp.json")
# Above what the kernel answers with by itself (133), and not above what it takes for an error at all (4095).
_MARK_FIRST, _MARK_COUNT = 256, 3840


@cache
def mark() -> int:
    """What the filter answers the marked system call with: the same number only for the same rules."""
    digest = hashlib.sha256(json.dumps(_rules(), sort_keys=True).encode("ascii")).digest()
    return _MARK_FIRST + int.from_bytes(digest[:4], "big") % _MARK_COUNT


@cache
def profile() -> str:
    """The filter in the engine's form, on one line."""
    rules = _rules()
    rules["syscalls"].append({"names": [MARK_CALL], "action": "SCMP_ACT_ERRNO", "errnoRet": mark()})
    return json.dumps(rules, separators=(",", ":"))


def named(options: list[str]) -> str:
    """Which filter a container's security options ask for, in a word."""
    asked = [option[len("seccomp") + 1 :] for option in options if option.startswith(("seccomp=", "seccomp:"))]
    if asked == [profile()]:
        return OWN_FILTER
    return NO_FILTER if NO_FILTER in asked else OTHER_FILTER


def _rules() -> dict[str, Any]:
    """The rules without their reasons, which are for people."""
    read: dict[str, Any] = json.loads(_FILE.read_text(encoding="ascii"))
    read["syscalls"] = [{key: said for key, said in rule.items() if key != "comment"} for rule in read["syscalls"]]
    return read
