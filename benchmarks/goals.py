"""What is to be reached: each figure, what it is held against, and the bound. Medians of one run are compared.

A goal names a measure (`benchmarks.measures`) and two of its series; an absolute goal may do with one. What is compared
with what stands in `how`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["GOALS", "TIMES", "Bound", "Goal"]

TIMES = "\N{MULTIPLICATION SIGN}"


class Bound(StrEnum):
    """What the number of a goal bounds."""

    FASTER = "faster"  # the other takes at least so many times as long
    LONGER = "longer"  # ours takes at most so many times as long
    ADDED = "added"  # ours takes at most so many units more
    WITHIN = "within"  # ours takes at most so many units, whatever the other takes
    TOLD = "told"  # no goal: how many times as long ours takes is told, for what it buys is not to be had otherwise


@dataclass(frozen=True, slots=True)
class Goal:
    """One line of the table. `ours` and `other` are names of series of the measure `measure`.

    `unit` is that of the series. Only a goal of the kind WITHIN may have no `other`; its ratio is then to its number.
    """

    figure: str
    against: str
    bound: Bound
    number: float
    measure: str
    ours: str
    other: str | None
    how: str
    unit: str = "ms"

    def __post_init__(self) -> None:
        if self.other is None and self.bound is not Bound.WITHIN:
            raise ValueError("a goal that bounds a comparison needs two series")

    @property
    def words(self) -> str:
        """The goal as a reader sees it."""
        if self.bound is Bound.ADDED:
            return f"≤ {self.number:g} {self.unit} more"
        if self.bound is Bound.WITHIN:
            return f"≤ {self.number:g} {self.unit}"
        if self.bound is Bound.TOLD:
            return "none"
        return f"≥ {self.number:g}{TIMES} faster" if self.bound is Bound.FASTER else f"≤ {self.number:g}{TIMES}"

    def ratio(self, ours: float, other: float | None) -> float:
        """How many times faster ours is for FASTER, else how many times as long it takes; of the goal without other."""
        if other is None:
            return ours / self.number
        return other / ours if self.bound is Bound.FASTER else ours / other

    def met(self, ours: float, other: float | None) -> bool:
        """Whether two medians reach the goal; the bound itself is within."""
        if self.bound is Bound.TOLD:
            return True
        if other is None or self.bound is Bound.WITHIN:
            return ours <= self.number
        if self.bound is Bound.ADDED:
            return ours - other <= self.number
        ratio = self.ratio(ours, other)
        return ratio >= self.number if self.bound is Bound.FASTER else ratio <= self.number


_COMMAND = "`git --version` through the call pipeline: policy, ledger scan and audit included"
_EXEC = "`docker exec` through the SDK (create, start, exit code) in the same container as the same user"
_READ = "The tool call through the pipeline, 4 KiB of text"
_SWEREX = (
    "SWE-ReX's own client against its server, preinstalled in a container made from the workspace image with the same "
    "hardening and a network, which it needs"
)
_TESTCONTAINERS = "testcontainers' `exec` in a container of the workspace image"
_ADDED = (
    "In a burst of calls: the tool call through the pipeline less the one operation of the sandbox that does the work"
)
_PUSH = (
    "`workspace.git_push` through the pipeline, to a local repository: hook, judging room, strict checks, judgement of "
    "each commit, push; a plain `git push`"
)
_ARGV = (
    "`git status`, `git -C . log --oneline -5`, `git commit -m x`, an alias and `git rebase -i`, the tree's answers at "
    "hand; a sample is the mean of one pass"
)

GOALS = (
    Goal("run_command, small tree", "docker exec", Bound.FASTER, 25, "command", "runner", "exec",
         f"{_COMMAND}; {_EXEC}."),
    Goal("run_command, small tree", "subprocess on the host", Bound.LONGER, 2, "command", "runner", "host",
         f"{_COMMAND}; the same program by subprocess.run with both outputs captured."),
    Goal("run_command, small tree", "SWE-ReX execute", Bound.FASTER, 3, "peers_command", "runner", "SWE-ReX",
         f"{_COMMAND}; {_SWEREX}, by `execute` with an argument list."),
    Goal("run_command, small tree", "testcontainers' exec", Bound.TOLD, 1, "peers_command", "runner", "testcontainers",
         f"{_COMMAND}; {_TESTCONTAINERS}."),
    Goal("run_command, small tree", "the floor: posix_spawn and wait on the host", Bound.TOLD, 1,
         "command", "runner", "posix_spawn", f"{_COMMAND}; the same program by posix_spawn, its output thrown away."),
    Goal("run_command, 5,000 files", "docker exec", Bound.FASTER, 25, "command_large", "runner", "exec",
         "The same in a workspace of 5,000 files, whose scan after each command is part of the call."),
    Goal("run_command, 5,000 files", "subprocess on the host", Bound.LONGER, 2, "command_large", "runner", "host",
         "The same, with the scan; the program on the host scans nothing."),
    Goal("read_file 4 KB", "docker exec cat", Bound.FASTER, 100, "read_4k", "runner", "exec",
         f"{_READ}; {_EXEC}."),
    Goal("read_file 4 KB", "SWE-ReX read", Bound.FASTER, 8, "peers_read", "runner", "SWE-ReX",
         f"{_READ}; {_SWEREX}, by `read_file`."),
    Goal("read_file 4 KB", "testcontainers' exec cat", Bound.TOLD, 1, "peers_read", "runner", "testcontainers",
         f"{_READ}; {_TESTCONTAINERS}."),
    Goal("read_file 4 KB", "the floor: a Unix socket's round trip", Bound.TOLD, 1, "read_4k", "runner", "socket",
         f"{_READ}; a process on the host that answers each byte on a Unix socket with 4 KiB."),
    Goal("read_file 1 MB", "a local pipe copy", Bound.LONGER, 10, "copy_1m", "runner read", "pipe read",
         "The tool call through the pipeline; a held process on this host that sends 1 MiB through a pipe."),
    Goal("write_file 1 MB", "a local pipe copy", Bound.LONGER, 10, "copy_1m", "runner write", "pipe write",
         "The tool call through the pipeline; a held process on this host that takes 1 MiB through a pipe."),
    Goal("search, 5,000 files", "rg in the same container", Bound.LONGER, 1.3, "search", "runner", "rg",
         "The tool call through the pipeline; `rg` over the same files, started through the sandbox."),
    Goal("what policy, ledger and audit add to read_file", "the bare sandbox call", Bound.ADDED, 0.5,
         "added", "read_file", "sandbox read", f"{_ADDED}: 4 KiB read."),
    Goal("what policy, ledger and audit add to write_file", "the bare sandbox call", Bound.ADDED, 0.5,
         "added", "write_file", "sandbox write", f"{_ADDED}: 4 KiB written."),
    Goal("what policy, ledger and audit add to run_command", "the bare sandbox call", Bound.ADDED, 0.5,
         "added", "run_command", "sandbox spawn", f"{_ADDED}: `git --version` run; the scan counts as added."),
    Goal("cold start to first answer, posture proved", "bare create and start", Bound.LONGER, 1.3,
         "life", "cold start", "create and start",
         "From the request to the answer of the first call, less the phases that deal with the repository (the "
         "next line); the engine's create and start of the same container."),
    Goal("cold start to first answer, posture proved", "bare create and start of two containers", Bound.LONGER, 1.3,
         "life", "cold start", "create and start two",
         "The same; a run has two containers, its own and the gate's: the engine's create and start of two, one after "
         "the other."),
    Goal("a warm workspace's first answer, posture proved again", "cold start", Bound.FASTER, 50,
         "acquire", "warm", "cold",
         "Taken out of the pool, every control seen from inside and from the engine, one listing; a "
         "workspace container created, started, proved and asked for the same."),
    Goal("one container, cold start to first answer, posture proved", "bare create and start", Bound.LONGER, 1.3,
         "acquire", "cold", "create and start",
         "The same cold start; the engine's create and start of the same container."),
    Goal("a whole run to its first answer, warm", "the same run, cold", Bound.TOLD, 1, "warm_run", "warm", "cold",
         "From the request to the answer of the first call on a small local repository with a warm mirror, clone "
         "included, the workspace and the gate's room from the pool; the same run without a pool."),
    Goal("an idle warm workspace, in memory", "the goal itself", Bound.WITHIN, 10, "idle", "idle", None,
         "The processes of a warm workspace, pages that they share with others by their share, beside one other "
         "container of the image; what the engine has outside of the container is not in it.", unit="MB"),
    Goal("5,000-file repository, warm mirror to ready workspace", "host git clone --shared", Bound.LONGER, 1.3,
         "clone", "ready", "clone --shared",
         "The phases fetch (asking the remote whether the mirror is fresh), clone, setup and baseline of a run; a "
         "clone on this host from the same mirror into memory."),
    Goal("a run of 100 mixed calls, start to verified teardown", "the same as docker exec in one container",
         Bound.FASTER, 10, "mixed", "runner", "exec",
         "A whole run with a warm mirror; create and start of the same container, one exec that makes the same files, "
         "100 execs through the SDK that do the same work, and the removal."),
    Goal("teardown, verified", "docker rm -f", Bound.LONGER, 1.5, "life", "teardown", "rm -f",
         "The phase teardown of a run: removal until the engine does not know the containers, of which the gate's "
         "began to go a phase earlier, and a look at everything that carries the run's label; one forced "
         "removal of the same container."),
    Goal("teardown, verified", "docker rm -f of two containers", Bound.LONGER, 1.5, "life", "teardown", "rm -f two",
         "The same, for a run's two containers; forced removals of two, one after the other."),
    Goal("git_push, one small commit", "git push on the host", Bound.TOLD, 1, "push_small", "runner", "plain",
         f"{_PUSH} of such a commit from a clone on this host to the same repository."),
    Goal("git_push, 200 MB", "git push on the host", Bound.TOLD, 1, "push_pack", "runner", "plain",
         f"{_PUSH} of 200 MB of noise in one file from a clone on this host, into a fresh repository each time. So "
         "many times fewer MB/s leave."),
    Goal("decide a file call", "the goal itself", Bound.WITHIN, 0.1, "decide_file", "default", None,
         "The preset `default` over five writes, allowed and denied, facts at hand; a sample is the mean of one pass."),
    Goal("decide a git argv, preset default", "the goal itself", Bound.WITHIN, 1, "decide_argv", "default", None,
         f"{_ARGV}."),
    Goal("decide a git argv, preset strict", "the goal itself", Bound.WITHIN, 1, "decide_argv", "strict", None,
         f"{_ARGV}; in turn with the preset `default`."),
    Goal("ledger after a command, 50,000 files", "find in the same container", Bound.WITHIN, 50,
         "ledger_50k", "ledger", "find",
         "One file of 50,000 was changed by a program: the sandbox's scan and the ledger's update; `find` over the "
         "same tree that looks at every inode and prints nothing, started through the sandbox."),
    Goal("a run of 200, 4 at once", "create, exec and remove of bare containers, 4 at once", Bound.LONGER, 1.11,
         "scale", "run", "container",
         "Time per run and per container: 1.11 times as long is 0.9 of the rate. A run that fails ends the measure."),
    Goal("a run of 200, 4 at once", "create, exec and remove of two bare containers for each", Bound.TOLD, 1,
         "scale", "run", "two containers",
         "The same, for as many containers as a run has: its own and the gate's, one after the other."),
    Goal("controller's memory over 200 runs", "the goal itself", Bound.WITHIN, 150, "scale", "memory", None,
         "The largest resident size of the controller's process meanwhile.", unit="MB"),
)  # fmt: skip
"""Each figure of the performance goals. One whose measure is not there is told as not measured."""
