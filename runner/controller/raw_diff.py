"""git's raw diff format (`diff-tree -r -z --raw --no-renames --full-index`) as `TreeChange` values, parsed strictly.

The text comes from the untrusted side, so anything that is not exactly the format ends the call.
"""

from __future__ import annotations

import re

from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange

__all__ = ["parse_raw_diff"]

_RECORD = re.compile(
    rb":(?P<old_mode>[0-7]{6}) (?P<new_mode>[0-7]{6}) (?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) [AMDTU]\Z"
)


def parse_raw_diff(listing: bytes) -> tuple[TreeChange, ...]:
    """The changes of a NUL-separated raw diff.

    Raises:
        ToolError: `git_commit_failed`, when the listing is not in git's format.
    """
    fields = listing.split(b"\0")
    if fields and fields[-1] == b"":
        fields.pop()
    changes: list[TreeChange] = []
    position = 0
    while position < len(fields):
        record = _RECORD.fullmatch(fields[position])
        if record is None or position + 1 >= len(fields) or not fields[position + 1]:
            raise ToolError(ErrorCode.GIT_COMMIT_FAILED, "git's list of changes could not be read.")
        changes.append(_change(record, fields[position + 1]))
        position += 2
    return tuple(changes)


def _change(record: re.Match[bytes], path: bytes) -> TreeChange:
    old_mode, new_mode = int(record["old_mode"], 8), int(record["new_mode"], 8)
    return TreeChange(
        path=path.decode("utf-8", "surrogateescape"),
        old_mode=old_mode or None,
        new_mode=new_mode or None,
        old_blob=record["old"].decode("ascii") if old_mode else None,
        new_blob=record["new"].decode("ascii") if new_mode else None,
    )
