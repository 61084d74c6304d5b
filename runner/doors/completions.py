"""What a shell may complete on our command lines beside commands and options: names of runs, tools and presets.

A shell asks while somebody types: nothing is made, no engine is asked, and what cannot be read completes nothing.
"""

from __future__ import annotations

from contextlib import suppress

from runner.policy.presets import preset_names
from runner.settings import Settings
from runner.tools.registry import TOOLS

__all__ = ["held_names", "policy_names", "run_names", "tool_names"]

_MOST = 100


def run_names(incomplete: str) -> list[str]:
    """Runs of the state folder."""
    return _files("runs", "", incomplete)


def held_names(incomplete: str) -> list[str]:
    """Runs that a process holds, for `runner call` and `close`."""
    return _files("held", ".sock", incomplete)


def tool_names(incomplete: str) -> list[str]:
    """The tools of a run."""
    return [name for name in TOOLS if name.startswith(incomplete)]


def policy_names(incomplete: str) -> list[str]:
    """The presets; a file's path is the shell's own to complete."""
    return [name for name in preset_names() if name.startswith(incomplete)]


def _files(folder: str, ending: str, incomplete: str) -> list[str]:
    found: list[str] = []
    with suppress(OSError):
        names = (path.name for path in (Settings.from_environment().state_dir / folder).iterdir())
        found = [name.removesuffix(ending) for name in names if name.startswith(incomplete) and name.endswith(ending)]
    return sorted(name for name in found if not name.startswith("."))[:_MOST]
