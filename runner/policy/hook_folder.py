"""Words that name a place in the folder where git looks for hooks by itself: no honest command writes there."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["into_hooks"]

# As the whole word, behind `=`, or at the end of a longer path; case does not count, as on some file systems.
_HOOKS = re.compile(r"(?:^|[/=])\.git/+(?:\./+)*hooks(?:/|$)", re.IGNORECASE)


def into_hooks(words: Iterable[str]) -> str | None:
    """The first of the words that leads into `.git/hooks`, cut for a message; None when none does."""
    return next((word[:200] for word in words if _HOOKS.search(word)), None)
