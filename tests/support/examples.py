"""How many examples a property is tried with: all of them, or half where an answer is wanted within a minute."""

from __future__ import annotations

import os

__all__ = ["examples"]

QUICK = "RUNNER_QUICK_EXAMPLES"
"""Set by `make test-unit` alone: `make test`, CI, the mutants and pytest by hand try all."""


def examples(full: int) -> int:
    """For `max_examples` of a property that takes as long as hundreds of other tests."""
    return -(-full // 2) if os.environ.get(QUICK) == "1" else full
