"""Every git invocation of the gate, wherever it runs: what is on its command line and in its environment.

Rules: the environment is built from nothing; no configuration but ours and that of repositories we made is obeyed; no
hook, helper, pager, prompt, submodule, lazy fetch, replacement object, redirect or clean-up takes part; only the
protocol of the address at hand is allowed. Repositories are always named by their git folder, so none is ever searched
for.

A local repository is read and written by git's serving half, which does obey that repository's own configuration. The
serving half is started with the dangerous keys overridden (`serving_command`).

Two places to run it: `RoomGit`, a container of the gate's own, and `HostGit`, this host.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.gate.address import Address
from runner.gate.credentials import Redactor, Secret
from runner.gate.process import Output

__all__ = ["FIXED_PATH", "Git", "GitFailed", "GitResult", "GitUnreadable", "Invocation", "reading"]

FIXED_PATH = "/usr/local/bin:/usr/bin:/bin"
DEFAULT_SECONDS = 120.0  # local object work; transfers are given their own bound
_DEFAULT_STDOUT_BYTES = 64 << 20  # a listing of 500,000 refs

_OPTIONS: tuple[str, ...] = (
    # Nothing of a repository's, or of anybody's, is executed.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "core.askPass=/bin/false",
    "credential.helper=",
    "protocol.ext.allow=never",
    # Objects are checked as they come in.
    "fetch.fsckObjects=true",
    "transfer.fsckObjects=true",
    "receive.fsckObjects=true",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    # Old flaws in the wording of commits, which real histories hold and which can do no harm, don't refuse a fetch.
    "fetch.fsck.badTimezone=ignore",
    "fetch.fsck.missingSpaceBeforeDate=ignore",
    "fetch.fsck.missingNameBeforeEmail=ignore",
    "fetch.fsck.zeroPaddedFilemode=ignore",
    # One repository at a time, nothing in the background.
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "gc.auto=0",
    "maintenance.auto=false",
    # One pack for each fetch, so that a bound on a file's size bounds the transfer.
    "fetch.unpackLimit=1",
    "transfer.unpackLimit=1",
    # A redirect would lead the credential's request, and the fetch, to a host that nobody named.
    "http.followRedirects=false",
    "http.sslVerify=true",
    "http.emptyAuth=false",
    "transfer.credentialsInUrl=die",
    # Memory: big objects are streamed, packs are mapped piece by piece.
    "core.bigFileThreshold=32m",
    "core.packedGitWindowSize=64m",
    "core.packedGitLimit=1g",
)

_SERVING_OPTIONS: tuple[str, ...] = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "receive.denyCurrentBranch=refuse",  # `updateInstead` would check out, with filters and hooks
    "receive.fsckObjects=true",
    "receive.autogc=false",
    "gc.auto=0",
)


@dataclass(frozen=True, slots=True)
class GitResult:
    """A finished git. `stderr` is text with the credential removed; `exit` is 128 + N after signal N."""

    exit: int
    stdout: bytes
    stderr: str
    timed_out: bool = False
    overflowed: bool = False

    @property
    def ok(self) -> bool:
        """It ended by itself, with success, within its bounds."""
        return self.exit == 0 and not self.timed_out and not self.overflowed


class GitFailed(Exception):
    """git did not do what was asked. The gate's callers turn it into an error of the model."""

    def __init__(self, subcommand: str, result: GitResult) -> None:
        super().__init__(f"git {subcommand}: exit {result.exit}")
        self.subcommand = subcommand
        self.result = result


class GitUnreadable(GitFailed):
    """What git wrote has a form that git does not have: it is not git any more that answers."""

    def __init__(self, subcommand: str) -> None:
        Exception.__init__(self, f"git {subcommand}: an answer in a form that there is not")
        self.subcommand = subcommand
        self.result = GitResult(0, b"", "")


@contextmanager
def reading(subcommand: str) -> Iterator[None]:
    """The block reads what git wrote, and whatever does not fit raises GitUnreadable.

    Git's room may have been taken over: what comes from there is as little trusted as what the workspace says.
    """
    try:
        yield
    except (ValueError, LookupError) as error:
        raise GitUnreadable(subcommand) from error


@dataclass(frozen=True, slots=True)
class Invocation:
    """One git to be run: `options`, then those of the place, then `arguments`. The place adds to `environment` too."""

    options: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    address: Address | None
    secret: Secret | None
    stdin: Iterable[bytes]
    deadline_seconds: float
    max_stdout_bytes: int
    max_file_bytes: int | None


class Git(ABC):
    """git, scrubbed. A subclass says where it runs."""

    program: str
    """The path of git there."""

    scratch: Path
    """A folder there that is nobody else's, for what is needed once."""

    def run(
        self,
        arguments: Sequence[str],
        *,
        repository: Path | None = None,
        borrow: Path | None = None,
        address: Address | None = None,
        credential: Secret | None = None,
        stdin: Iterable[bytes] = (),
        deadline_seconds: float = DEFAULT_SECONDS,
        max_stdout_bytes: int = _DEFAULT_STDOUT_BYTES,
        max_file_bytes: int | None = None,
    ) -> GitResult:
        """Git has run. `arguments` begin with the subcommand; the caller puts `--` where it belongs.

        Args:
            arguments: the subcommand and what follows it.
            repository: the git folder to work in; one that we made, except to read its configuration with `config`.
            borrow: a folder of objects that are seen beside the repository's own.
            address: where it may connect to; None forbids every protocol.
            credential: answered to that address alone.
            stdin: chunks; what the iterable raises, this raises.
            deadline_seconds: then the whole process group is killed.
            max_stdout_bytes: then too.
            max_file_bytes: the largest file that git may write; None is no bound.
        """
        words = [word for option in _OPTIONS for word in ("-c", option)]
        if repository is not None:
            words.append(f"--git-dir={repository}")
        output = self._execute(
            Invocation(
                tuple(words),
                tuple(arguments),
                _environment(address, borrow),
                address,
                credential,
                stdin,
                deadline_seconds,
                max_stdout_bytes,
                max_file_bytes,
            )
        )
        return _result(output, credential)

    def output(
        self,
        arguments: Sequence[str],
        *,
        repository: Path | None = None,
        stdin: Iterable[bytes] = (),
        max_stdout_bytes: int = _DEFAULT_STDOUT_BYTES,
    ) -> bytes:
        """What git wrote, working locally.

        Raises:
            GitFailed: it failed, or went over a bound.
        """
        result = self.run(arguments, repository=repository, stdin=stdin, max_stdout_bytes=max_stdout_bytes)
        if not result.ok:
            raise GitFailed(arguments[0], result)
        return result.stdout

    def serving_command(self, program: str) -> str:
        """The value for `--upload-pack` or `--receive-pack`: git's serving half with its own side made harmless.

        A local repository's configuration and hooks would otherwise be obeyed where the gate's git runs: hooks run, a
        command lists alternates' refs, a partial clone fetches what it lacks, a push checks out.
        """
        options = [word for option in _SERVING_OPTIONS for word in ("-c", option)]
        return shlex.join(["env", "GIT_ALLOW_PROTOCOL=none", self.program, *options, program])

    @abstractmethod
    def _execute(self, invocation: Invocation) -> Output: ...


def _environment(address: Address | None, borrow: Path | None) -> dict[str, str]:
    borrowed = {} if borrow is None else {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(borrow)}
    return {
        **borrowed,
        "PATH": FIXED_PATH,
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_ALLOW_PROTOCOL": "none" if address is None else address.scheme,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def _result(output: Output, secret: Secret | None) -> GitResult:
    redactor = Redactor() if secret is None else secret.redactor()
    return GitResult(
        exit=output.exit,
        stdout=output.stdout,
        stderr=redactor.scrub(output.stderr.decode("utf-8", "replace")),
        timed_out=output.timed_out,
        overflowed=output.overflowed,
    )
