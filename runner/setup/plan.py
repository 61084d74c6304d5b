"""What a set-up is: commands, and why each of them. Frozen values; nothing is run here.

The commands run in the sandbox, through the same guard as every other command, with no secret in reach. So what a
repository makes a package manager execute (`.pnpmfile.cjs`, `.npmrc`, a script) is contained like all of its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from runner.model.tree import EntryKind

__all__ = ["Manager", "SetupFiles", "SetupPlan", "SetupSource", "SetupStep"]

Manager = Literal["pnpm", "npm"]


class SetupFiles(Protocol):
    """The two questions that planning asks of the tree; `runner.model.tree.TreeView` answers them."""

    def kind(self, path: str) -> EntryKind | None:
        """What is at the path, links followed beneath the root; None when nothing is there."""
        ...

    def read_text(self, path: str) -> str | None:
        """The text of a regular file of bounded size; None for anything else."""
        ...


class SetupSource(StrEnum):
    """Who asked for the set-up."""

    WORKSPACE_FILE = "workspace.yml"
    POLICY = "policy"
    DETECTED = "detected"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One command. `env` is added to the command environment; `why` is shown to people."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """Steps in order; the first that fails ends the set-up. `note` says what was decided and is never empty.

    `needs_network` is True when a step may want to download. Commands that we did not choose are taken to want it.

    `installs` and `lock` are there when the first step is an install as detection plans it, whoever asked for it: by
    that manager, from that lock file. `verify`, `cache` and `tools` are what the repository's own file says there.
    """

    steps: tuple[SetupStep, ...]
    needs_network: bool
    source: SetupSource
    note: str
    installs: Manager | None = None
    lock: str = ""
    verify: tuple[tuple[str, ...], ...] = ()
    cache: tuple[Manager, ...] | None = None
    tools: Mapping[str, str] = field(default_factory=dict)
