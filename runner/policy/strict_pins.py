"""What decides which programs a command starts is the base commit's; what this run made of it does not count."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.argv_values import Call
from runner.policy.scratch import inside_workspace
from runner.policy.strict_values import NotAllowed

__all__ = ["require_pinned"]


def require_pinned(call: Call, folders: Iterable[str], names: Iterable[str]) -> None:
    """Nothing happens when none of the files was made or changed by this run. At set-up, all are the base commit's.

    Raises:
        NotAllowed: one was.
    """
    if call.phase == "setup":
        return
    names = tuple(names)
    for folder in dict.fromkeys(folders):
        for name in names:
            path = inside_workspace(call, posixpath.join(folder, name))
            if path is not None and (call.tree.created_by_run(path) or call.tree.changed_by_run(path)):
                raise NotAllowed(
                    Decision.deny(
                        ErrorCode.SCRATCH_EXECUTION_REFUSED,
                        "strict.pinned",
                        f"Refused by strict.pinned: {path!r} says what is started, and this run made or changed it.",
                        "Put it back as it was in the base commit (git restore), or leave this to a later run.",
                    )
                )
