"""Every measure by its name: the series that it gives at least, how it is taken, and how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks import calls, decisions, gate, growing_audit, growing_bytes, growing_tree, growths, ledger, life, mixed
from benchmarks import scale as scales
from benchmarks import warm as warms
from benchmarks.samples import Series
from benchmarks.stage import Stage

__all__ = ["MEASURES", "Measure"]

Take = Callable[[Stage, int], Mapping[str, Series]]
Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """`rounds` and `quick_rounds` are samples per series: fewer of what takes seconds.

    A quick bench leaves out what has no `quick_rounds`, and takes `quick_take`, where there is one, in place of `take`.
    """

    series: frozenset[str]
    take: Take
    rounds: int
    quick_rounds: int
    quick_take: Take | None = None

    def samples(self, stage: Stage, *, quick: bool) -> Mapping[str, Series]:
        """The series."""
        if quick:
            return (self.quick_take or self.take)(stage, self.quick_rounds)
        return self.take(stage, self.rounds)


def _growing(
    take: Callable[[Stage, int, Sizes], Mapping[str, Series]], sizes: Sizes, quick_sizes: Sizes, rounds: int
) -> Measure:
    """A measure whose series are named by sizes, so that none is listed here."""
    return Measure(
        frozenset(),
        lambda stage, rounds: take(stage, rounds, sizes),
        rounds,
        4,
        lambda stage, rounds: take(stage, rounds, quick_sizes),
    )


MEASURES: Mapping[str, Measure] = {
    "command": Measure(frozenset({"runner", "exec", "host", "posix_spawn"}), calls.command, 100, 15),
    "command_large": Measure(frozenset({"runner", "exec", "host"}), calls.command_large, 60, 15),
    "read_4k": Measure(frozenset({"runner", "exec", "socket"}), calls.read_4k, 100, 15),
    "copy_1m": Measure(frozenset({"runner read", "pipe read", "runner write", "pipe write"}), calls.copy_1m, 200, 60),
    "search": Measure(frozenset({"runner", "rg"}), calls.search, 60, 15),
    "added": Measure(
        frozenset({"read_file", "sandbox read", "write_file", "sandbox write", "run_command", "sandbox spawn"}),
        calls.added,
        300,
        100,
    ),
    "decide_file": Measure(frozenset({"default"}), decisions.file_call, 2000, 500),
    "decide_argv": Measure(frozenset({"default", "strict"}), decisions.git_argv, 1000, 300),
    "ledger_50k": Measure(frozenset({"ledger", "find"}), ledger.ledger_50k, 40, 0),
    "life": Measure(
        frozenset({"cold start", "teardown", "create and start", "rm -f", "create and start two", "rm -f two"}),
        life.life,
        30,
        4,
    ),
    "acquire": Measure(frozenset({"warm", "cold", "create and start"}), warms.acquire, 30, 3),
    "warm_run": Measure(frozenset({"warm", "cold"}), warms.warm_run, 30, 2),
    "idle": Measure(frozenset({"idle"}), warms.idle, 30, 2),
    "clone": Measure(frozenset({"ready", "clone --shared"}), life.clone, 30, 3),
    "scale": Measure(frozenset({"run", "container", "two containers", "memory"}), scales.scale, 10, 0),
    "growing_tree": _growing(growing_tree.growing_tree, growths.TREE, growths.QUICK_TREE, 30),
    "growing_files": _growing(growing_bytes.growing_files, growths.FILE, growths.QUICK_FILE, 15),
    "growing_output": _growing(growing_bytes.growing_output, growths.OUTPUT, growths.QUICK_OUTPUT, 15),
    "growing_audit": _growing(growing_audit.growing_audit, growths.AUDIT, growths.QUICK_AUDIT, 5),
    # Last are those that take long before they have a figure, so that they take a quick bench's time from no others.
    "peers_command": Measure(frozenset({"runner", "SWE-ReX", "testcontainers"}), calls.peers_command, 60, 15),
    "peers_read": Measure(frozenset({"runner", "SWE-ReX", "testcontainers"}), calls.peers_read, 60, 15),
    "push_small": Measure(frozenset({"runner", "plain"}), gate.push_small, 30, 3),
    "mixed": Measure(frozenset({"runner", "exec"}), mixed.mixed, 30, 1),
    "push_pack": Measure(frozenset({"runner", "plain"}), gate.push_pack, 3, 0),
}
