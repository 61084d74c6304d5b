"""What a decision costs by itself: the pure rules of the shipped presets, with the facts at hand.

A side passes once over its mix in each round. The figure held against the goal is the mean of a pass, so that no case
hides behind a middle one; each case is a series of its own as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.failure import BenchFailed
from benchmarks.interleave import Reading, Side, interleave
from benchmarks.samples import Samples
from benchmarks.stage import Stage
from runner.model.tree import EntryKind
from runner.policy.argv import decide_argv
from runner.policy.argv_policy import argv_policy
from runner.policy.load import load_policy
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write

__all__ = ["ARGV_CASES", "FILE_CASES", "AliasTree", "file_call", "git_argv"]

_WARM_UP = 20
_ALIAS = "st"

FILE_CASES: Mapping[str, tuple[WriteIntent, PathFacts]] = {
    "write a new file": (
        WriteIntent(WriteOp.WRITE, "src/parser/new.ts"),
        PathFacts("src/parser/new.ts", via_link=False, existed_at_start=False),
    ),
    "edit a file of the repository": (
        WriteIntent(WriteOp.EDIT, "packages/core/src/index.ts"),
        PathFacts("packages/core/src/index.ts", via_link=False, existed_at_start=True),
    ),
    "delete a file of the repository": (
        WriteIntent(WriteOp.DELETE, "docs/old.md"),
        PathFacts("docs/old.md", via_link=False, existed_at_start=True),
    ),
    "write a denied file": (
        WriteIntent(WriteOp.WRITE, ".github/workflows/ci.yml"),
        PathFacts(".github/workflows/ci.yml", via_link=False, existed_at_start=True),
    ),
    "write through a link": (
        WriteIntent(WriteOp.WRITE, "src/linked.ts"),
        PathFacts("lib/real.ts", via_link=True, existed_at_start=True),
    ),
}
"""Writes that the preset `default` allows and denies, by what they are."""

ARGV_CASES: Mapping[str, tuple[str, ...]] = {
    "git status": ("git", "status"),
    "git -C . log": ("git", "-C", ".", "log", "--oneline", "-5"),
    "git commit": ("git", "commit", "-m", "x"),
    "a git alias": ("git", _ALIAS),
    "git rebase -i": ("git", "rebase", "-i"),
}
"""Commands as an agent mixes them; some are denied by one preset or both, which takes its time too."""


class AliasTree:
    """A `CommandTree` of one folder and one alias that answers from memory."""

    def kind(self, path: str) -> EntryKind | None:
        """The root is there, and nothing else."""
        return EntryKind.DIR if path == "." else None

    def read_text(self, path: str) -> str | None:
        """No file has a text."""
        return None

    def created_by_run(self, path: str) -> bool:
        """Nothing was made."""
        return False

    def changed_by_run(self, path: str) -> bool:
        """Nothing was changed."""
        return False

    def real_path(self, path: str) -> str:
        """There are no links."""
        return path

    def created_files(self) -> tuple[str, ...]:
        """Nothing was made."""
        return ()

    def git_aliases(self) -> Mapping[str, str]:
        """One alias, for a command that every preset knows."""
        return {_ALIAS: "status --short"}


def file_call(_stage: Stage, rounds: int) -> dict[str, Samples]:
    """The write rules of the preset `default` over `FILE_CASES`."""
    rules = WriteRules.compile(load_policy("default").policy)

    def act(intent: WriteIntent, facts: PathFacts) -> Callable[[], object]:
        return lambda: decide_write(rules, intent, facts)

    side = _pass("default", {name: act(*case) for name, case in FILE_CASES.items()})
    return interleave([side], rounds, warm_up=_WARM_UP)


def git_argv(_stage: Stage, rounds: int) -> dict[str, Samples]:
    """The argv rules of the presets `default` and `strict` over `ARGV_CASES`, in turn."""
    return interleave([_argv_side("default"), _argv_side("strict")], rounds, warm_up=_WARM_UP)


def _argv_side(preset: str) -> Side:
    document, tree = load_policy(preset).policy, AliasTree()
    if document.argv.preset != preset:
        raise BenchFailed(f"the policy {preset} judges commands by the rules of {document.argv.preset}")
    policy = argv_policy(document, WriteRules.compile(document), tree)

    def act(argv: Sequence[str]) -> Callable[[], object]:
        return lambda: decide_argv(argv, policy, tree)

    return _pass(preset, {name: act(argv) for name, argv in ARGV_CASES.items()})


def _pass(name: str, acts: Mapping[str, Callable[[], object]]) -> Side:
    """A side that does each act once: the mean as `name`, and each as `name: act`."""

    def side() -> Reading:
        spent: dict[str, float] = {}
        for case, act in acts.items():
            started = time.perf_counter()
            act()
            spent[f"{name}: {case}"] = (time.perf_counter() - started) * 1000
        return {name: sum(spent.values()) / len(spent), **spent}

    return side
