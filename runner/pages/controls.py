"""The rows of a posture proof in words: what was asked for and seen, in units that people read.

A control is named by what should hold. So a yes or no is told as whether that holds: `main process not root, false`
would read as its opposite. What is not known here is shown as the record has it.
"""

from __future__ import annotations

import json
import re

from runner.audit.forms import Check

__all__ = ["in_words"]

_LABELS = {
    "user": "user of its programs",
    "non-root user": "user of its programs, not root",
    "cpu limit": "processors limit",
    "no swap growth": "memory and swap limit",
}
_BYTES = re.compile(r"(?:^| )(?:size|size limit|memory limit|swap growth|space)$")
_NONE = re.compile(r"^(?:no |capabilit)")
_MIB = 1024 * 1024
_MOST = 10**15  # beyond it a number is none of ours, and may not even fit what formats it


def in_words(check: Check) -> tuple[str, str, str]:
    """The control's name, what was asked for, and what was seen."""
    expected, seen = _value(check.expected), _value(check.seen)
    told = _said(check.control, expected, check.expected), _said(check.control, seen, check.seen)
    if isinstance(expected, bool) and isinstance(seen, bool):
        told = "holds", "holds" if seen is expected else "does not hold"
    return _LABELS.get(check.control, check.control), *told


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _said(control: str, value: object, text: str) -> str:
    if isinstance(value, list):
        return _listed(control, value, text)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        return text
    if control == "cpu limit":
        return f"{value / 1e9:g}"
    if value == 0 and _NONE.search(control):
        return "none"
    return f"{value / _MIB:,.10g} MiB" if value and _BYTES.search(control) else f"{value:,}"


def _listed(control: str, value: list[object], text: str) -> str:
    """A list; the engine's word and what was seen inside are one where they are alike."""
    if not value:
        return "none"
    if not all(isinstance(item, int | str) and not isinstance(item, bool) for item in value):
        return text
    parts = [_said(control, item, str(item)) if isinstance(item, int) else str(item) for item in value]
    return ", ".join(dict.fromkeys(parts)) if all(isinstance(item, int) for item in value) else ", ".join(parts)
