"""What pnpm makes of its words: the command, its parameters and options, as its two readings leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.policy.nopt import Given, read_options
from runner.policy.pnpm_options import COMMANDS, FIRST_READING, RECURSIVE, second_reading

__all__ = ["PnpmCommand", "read_pnpm"]

_ENDS_OPTIONS = frozenset({"create", "exec", "test"})
_READ_TO_THE_NAME = frozenset({"run", "dlx"})  # what stands behind the script's or package's name is handed on


@dataclass(frozen=True, slots=True)
class PnpmCommand:
    """pnpm's words in their parts. `name` is None where there is no command.

    With `implied`, the first word was no command: the script of that name is run, and where there is none `program`.
    """

    name: str | None
    params: list[str]
    given: Given
    implied: bool
    program: list[str]

    @property
    def folder(self) -> str:
        """The folder that pnpm works in."""
        return ([*self.given.values("prefix")[-1:], *self.given.values("dir")[-1:]] or ["."])[-1] or "."

    @property
    def recursive(self) -> bool:
        """Whether it goes through the packages below the folder."""
        return self.given.has_switch("recursive") or bool(self.given.values("filter", "filter-prod"))


def read_pnpm(words: Sequence[str]) -> PnpmCommand:
    """The words after `pnpm`, in their parts."""
    first = _all_words(read_options(words, FIRST_READING, stop_at=_ENDS_OPTIONS))
    spread = first[:1] != [] and first[0] in RECURSIVE
    typed = _typed(first[1:] if spread else first)
    if typed is None:
        given = read_options(words, second_reading(""), stop_at=_ENDS_OPTIONS)
        return PnpmCommand("recursive" if spread else None, _all_words(given), given, False, [])
    name = COMMANDS.get(typed)
    implied = name is None
    name = name or "run"
    stop = _ENDS_OPTIONS
    if name in _READ_TO_THE_NAME:
        stop = frozenset(first[int(spread) + int(not implied) :][:1])
    given = read_options(["run", *words] if implied else words, second_reading(name), stop_at=stop)
    left = _all_words(given)
    params = left[1:]
    if spread and not given.has_switch("recursive") and left[1:2] and left[1] in COMMANDS:
        name, params = COMMANDS[left[1]], left[2:]
    if name == "install" and params:
        name = "add"
    if spread and not implied and name != "recursive":
        given.options.append(("recursive", ""))  # last, since `--no-recursive` does not take it back
    return PnpmCommand(name, params, given, implied, _program(words) if implied else [])


def _all_words(given: Given) -> list[str]:
    return given.words + given.verbatim


def _typed(names: list[str]) -> str | None:
    """The command as it was written; an install that names packages is an `add`."""
    if not names:
        return None
    return "add" if COMMANDS.get(names[0]) == "install" and len(names) > 1 else names[0]


def _program(words: Sequence[str]) -> list[str]:
    """The words without those at their start that look like options: the values of such options stay where they are."""
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "--":
        left.pop(0)
    return left[1:] if left[:1] == ["--"] else left
