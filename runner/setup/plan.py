"""What a set-up is: commands, and why each of them. Frozen values; nothing is run here.

The commands run in the sandbox, through the same guard as every other command, with no secret in reach. So what a
repository makes a package manager execute (`.pnpmfile.cjs`, `.npmrc`, a script) is contained like all of its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["SetupPlan", "SetupSource", "SetupStep"]


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
    """

    steps: tuple[SetupStep, ...]
    needs_network: bool
    source: SetupSource
    note: str
