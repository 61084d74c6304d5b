"""Which variables a repository may set for its set-up: those that a policy may set, less what only an operator may.

Pure. The values are the repository's own and reach only the sandbox.
"""

from __future__ import annotations

from runner.policy.environment import check_name, check_value

__all__ = ["env_refusal"]

_OPERATORS_ALONE = frozenset({"CI"})  # with it, mise trusts a repository's configuration on any verb


def env_refusal(name: str, value: str) -> str | None:
    """Why a repository may not set this variable; None when it may."""
    if name.upper() in _OPERATORS_ALONE:
        return "only an operator may set it"
    try:
        check_name(name)
        check_value(value)
    except ValueError as refusal:
        return str(refusal)
    return None
