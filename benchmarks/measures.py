"""Every measure by its name: the series that it gives at least, how it is taken, and how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks import calls, decisions, gate, ledger, life, mixed, scale
from benchmarks.samples import Samples
from benchmarks.stage import Stage

__all__ = ["MEASURES", "Measure"]


@dataclass(frozen=True, slots=True)
class Measure:
    """`rounds` and `quick_rounds` are samples per series: fewer of what takes seconds."""

    series: frozenset[str]
    take: Callable[[Stage, int], dict[str, Samples]]
    rounds: int
    quick_rounds: int


MEASURES: Mapping[str, Measure] = {
    "command": Measure(frozenset({"runner", "exec", "host"}), calls.command, 200, 40),
    "command_large": Measure(frozenset({"runner", "exec", "host"}), calls.command_large, 60, 30),
    "read_4k": Measure(frozenset({"runner", "exec"}), calls.read_4k, 200, 40),
    "copy_1m": Measure(frozenset({"runner read", "pipe read", "runner write", "pipe write"}), calls.copy_1m, 200, 60),
    "search": Measure(frozenset({"runner", "rg"}), calls.search, 60, 30),
    "added": Measure(
        frozenset({"read_file", "sandbox read", "write_file", "sandbox write", "run_command", "sandbox spawn"}),
        calls.added,
        300,
        100,
    ),
    "decide_file": Measure(frozenset({"default"}), decisions.file_call, 2000, 500),
    "decide_argv": Measure(frozenset({"default", "strict"}), decisions.git_argv, 1000, 300),
    "ledger_50k": Measure(frozenset({"ledger", "find"}), ledger.ledger_50k, 40, 15),
    "life": Measure(
        frozenset({"cold start", "teardown", "create and start", "rm -f", "create and start two", "rm -f two"}),
        life.life,
        30,
        8,
    ),
    "clone": Measure(frozenset({"ready", "clone --shared"}), life.clone, 20, 5),
    "push_small": Measure(frozenset({"runner", "plain"}), gate.push_small, 20, 5),
    "push_pack": Measure(frozenset({"runner", "plain"}), gate.push_pack, 3, 2),
    "scale": Measure(frozenset({"run", "container", "two containers"}), scale.scale, 10, 2),
    "mixed": Measure(frozenset({"runner", "exec"}), mixed.mixed, 10, 3),
}
