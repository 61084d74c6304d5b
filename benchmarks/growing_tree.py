"""What calls cost in ever larger trees. The runs are open side by side, and the sizes are taken in turn.

The trees are the same but for their size: folders of 50 small files each, and twenty files that hold the needle.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from benchmarks.growth import series_name
from benchmarks.interleave import Side, interleave, timed
from benchmarks.repositories import NEEDLE
from benchmarks.samples import Samples
from benchmarks.stage import OpenRun, Stage
from runner.controller.baseline import whole_scan
from runner.policy.ledger import Ledger
from runner.policy.load import LoadedPolicy

__all__ = ["FILES_IN_A_FOLDER", "growing_tree", "tree_files"]

FILES_IN_A_FOLDER = 50
_NEEDLES = 20
_WARM_UP = 2
_VERSION = ["git", "--version"]


def tree_files(count: int) -> dict[str, bytes]:
    """`count` files of a line each, by path."""
    step = max(1, count // _NEEDLES)
    files = {}
    for number in range(count):
        text = f"{NEEDLE}\n" if number % step == 0 else f"file {number}\n"
        files[f"part{number // FILES_IN_A_FOLDER:05}/file{number:06}.txt"] = text.encode()
    return files


def growing_tree(stage: Stage, rounds: int, sizes: tuple[int, ...]) -> dict[str, Samples]:
    """For each size: the root's listing, a search, a command with its scan, and the baseline's scan and ledger."""
    with ExitStack() as stack:
        sides: list[Side] = []
        for size in sizes:
            repository = stage.repository(f"tree{size}", tree_files(size))
            run = stack.enter_context(stage.open(repository, _policy(stage)))
            sides += _sides(run, size)
        return interleave(sides, rounds, warm_up=_WARM_UP)


def _sides(run: OpenRun, size: int) -> list[Side]:
    def baseline() -> None:
        Ledger(whole_scan(run.sandbox).entries)

    def command() -> None:
        run.call("workspace.run_command", argv=_VERSION)

    def forgetting() -> Mapping[str, float]:
        # After it, a scan lists everything, as the first one of a run does; the ledger of the open run is not touched.
        run.sandbox.reconnect()
        return timed(series_name("baseline", size), baseline)()

    return [
        timed(series_name("list", size), lambda: run.call("workspace.list_dir", path=".")),
        timed(series_name("search", size), lambda: run.call("workspace.search", pattern=NEEDLE)),
        timed(series_name("command", size), command),
        forgetting,
    ]


def _policy(stage: Stage) -> LoadedPolicy:
    """Room for several large trees side by side on one host: small files need little memory each."""
    limits = stage.policy.policy.limits.model_copy(update={"memory_mib": 1024, "workspace_mib": 512})
    return replace(stage.policy, policy=stage.policy.policy.model_copy(update={"limits": limits}))
