"""git inside the workspace, for the controller's own questions and for commit and push.

It runs where untrusted code lives, so nothing that it answers is believed without a check; the options here are guard
rails that keep configuration written by the run from starting programs during our own calls.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.engine.contract import FileRefused, OutputSink, Sandbox, SpawnRequest, SpawnResult
from runner.model.errors import SandboxLost

__all__ = ["GuestGit", "hex_name"]

_MIB = 1024 * 1024
_OUTPUT_CAP_BYTES = 64 * _MIB  # a raw diff of 500,000 paths; more is an error, not a cut
_HEX = frozenset("0123456789abcdef")
_OWN_OBJECTS = "/workspace/.git/objects"
_FATAL = 128  # git's exit when it cannot go on at all
_NOT_STARTED = 126
_START_ANEW = "A command or hook did that; start a new run."

_SAFE = (
    "-c", "core.fsmonitor=false",
    "-c", "core.pager=cat",
    "-c", "commit.gpgSign=false",
    "-c", "push.gpgSign=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "submodule.recurse=false",
    "-c", "core.sparseCheckout=false",  # or a changed file would be in no patch
    "-c", "advice.detachedHead=false",
    "-c", "advice.graftFileDeprecated=false",  # which git says whenever GIT_GRAFT_FILE is set
)  # fmt: skip


def hex_name(text: str) -> str | None:
    """`text` when it is a full object name, else None."""
    name = text.strip()
    return name if len(name) in (40, 64) and set(name) <= _HEX else None


@dataclass(frozen=True, slots=True)
class GuestGit:
    """git in one sandbox. `hooks_path` is where set-up left the hooks; our commits and pushes run those, no others.

    No program runs longer than `deadline_seconds`, or than the seconds that `remaining` says the run has left.
    """

    sandbox: Sandbox
    environment: Mapping[str, str]
    hooks_path: str
    deadline_seconds: float
    remaining: Callable[[], float] = lambda: math.inf

    def run(
        self,
        *args: str,
        stdin: Iterable[bytes] | None = None,
        index: str | None = None,
        sink: OutputSink | None = None,
        hooks: bool = False,
        deadline_seconds: float | None = None,
        whole: bool = False,
    ) -> SpawnResult:
        """The result of `git ARGS`; without `hooks`, no hook runs. `index` names another index file.

        With `whole`, output that is too large to be kept ends the program: a part of it would be of no use.
        """
        argv = _argv(args, self.hooks_path if hooks else "/dev/null")
        environment = self._git_environment(index)
        return self._spawn(argv, environment, stdin, sink=sink, deadline_seconds=deadline_seconds, whole=whole)

    def sequence(
        self,
        *commands: Sequence[str],
        index: str,
        sink: OutputSink,
        deadline_seconds: float,
        objects: str | None = None,
    ) -> SpawnResult:
        """The result of a `git` for each command, one after the other in one program; the first to fail ends it.

        Each start of a program inside is a round trip, which costs more than a small git does. `objects` is a folder
        to be made, for what they write; without it that goes to the repository's own.
        """
        words = [_argv(command) for command in commands]
        # No hook runs here, which might mean another repository's: the tree is ours whatever the configuration says.
        environment = {**self._git_environment(index), "GIT_WORK_TREE": "/workspace"}
        if objects is not None:
            words.insert(0, ("/usr/bin/mkdir", "-p", "-m", "700", objects))
            environment |= {"GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": _OWN_OBJECTS}
        argv = ("/bin/sh", "-c", " && ".join(map(shlex.join, words)))
        return self._spawn(argv, environment, None, sink=sink, deadline_seconds=deadline_seconds)

    def program(self, *argv: str, stdin: Iterable[bytes] | None = None, whole: bool = False) -> SpawnResult:
        """The result of one of the image's own programs, named by absolute path, in the workspace's root."""
        return self._spawn(argv, self.environment, stdin, whole=whole)

    def _git_environment(self, index: str | None) -> dict[str, str]:
        # A graft would make the workspace's git see a history that the gate, and the remote, do not.
        environment = {**self.environment, "GIT_GRAFT_FILE": "/dev/null"}
        return environment if index is None else {**environment, "GIT_INDEX_FILE": index}

    def _spawn(
        self,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        stdin: Iterable[bytes] | None,
        *,
        sink: OutputSink | None = None,
        deadline_seconds: float | None = None,
        whole: bool = False,
    ) -> SpawnResult:
        seconds = min(deadline_seconds or self.deadline_seconds, self.remaining())
        kill_at = _OUTPUT_CAP_BYTES if whole else None
        request = SpawnRequest(
            argv, environment, seconds, _OUTPUT_CAP_BYTES, stdin=stdin, sink=sink, kill_at_bytes=kill_at
        )
        return self.sandbox.spawn(request)

    def require_base(self, commit: str) -> None:
        """The repository may still be the one that the run started from, with that commit. To be asked once git failed.

        A repository whose settings are broken is not gone: who broke them can mend them.

        Raises:
            SandboxLost: it is gone, or its folder is closed; nothing that a run does can come to anything any more.
        """
        asked = self.run("cat-file", "--batch-check", stdin=(f"{commit}\n".encode(),))
        if not asked.started and asked.exit == _NOT_STARTED:
            said = "the workspace's own folder was closed by its mode, so that nothing can be started in it"
            raise SandboxLost(said, hint=_START_ANEW)
        missing = asked.exit == 0 and asked.stdout.rstrip().endswith(b" missing")
        if missing or (asked.exit == _FATAL and not self._has_repository()):
            said = "the repository that the run started from is gone from the workspace (.git, or its base commit)"
            raise SandboxLost(said, hint=_START_ANEW)

    def _has_repository(self) -> bool:
        """Whether there is one whose settings alone may keep git from going on, as far as that can be told."""
        try:
            return all(self.sandbox.resolve(f".git/{name}").exists for name in ("objects", "HEAD"))
        except FileRefused:
            return True

    def line(self, *args: str) -> str | None:
        """The first line that `git ARGS` prints, None when it fails or prints nothing."""
        result = self.run(*args)
        if result.exit != 0:
            return None
        lines = result.stdout.decode("utf-8", "surrogateescape").splitlines()
        return lines[0] if lines else None

    def object_name(self, revision: str) -> str | None:
        """The full name of a commit, or None."""
        return hex_name(self.line("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") or "")


def _argv(args: Sequence[str], hooks_path: str = "/dev/null") -> tuple[str, ...]:
    return ("git", "--no-replace-objects", *_SAFE, "-c", f"core.hooksPath={hooks_path}", *args)
