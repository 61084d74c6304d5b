"""`argv.preset: strict`: what is not known is refused, and what runs is the canonical argv.

The rules that always hold have been asked before; this can only refuse more. Reading a canonical argv again gives the
same argv.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runner.policy.argv_values import Call, deny_program
from runner.policy.strict_git import canonical_git
from runner.policy.strict_mise import canonical_mise
from runner.policy.strict_node import canonical_node
from runner.policy.strict_packages import canonical_npm, canonical_pnpm
from runner.policy.strict_values import NotAllowed

__all__ = ["canonical"]

_PROGRAMS: dict[str, Callable[[Call, Sequence[str]], tuple[str, ...]]] = {
    "git": canonical_git,
    "npm": canonical_npm,
    "pnpm": canonical_pnpm,
    "node": canonical_node,
    "mise": canonical_mise,
}


def canonical(call: Call, words: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs for `words`, whose first one is an allowed program.

    Raises:
        NotAllowed: the words are outside the closed world; its decision says why.
    """
    program = _PROGRAMS.get(words[0])
    if program is None:
        raise NotAllowed(deny_program("argv.bin", f"the preset strict has no grammar for {words[0][:80]!r}"))
    return program(call, words[1:])
