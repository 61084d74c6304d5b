"""Every git invocation of the gate. To run the gate's git elsewhere, replace this class.

Rules: git is the host's own, found on a fixed PATH; the environment is built from nothing; no configuration but ours
and that of repositories we made is obeyed; no hook, helper, pager, prompt, submodule, lazy fetch, replacement object,
redirect or clean-up takes part; only the protocol of the address at hand is allowed. Repositories are always named by
their git folder, so none is ever searched for.

A local repository is read and written by git's serving half, which does obey that repository's own configuration. The
serving half is started with the dangerous keys overridden (`serving_command`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.gate.address import Address
from runner.gate.credentials import Credential, Redactor
from runner.gate.process import Output, run_program
from runner.model.errors import EngineUnavailable

__all__ = ["GitFailed", "GitResult", "HostGit"]

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


class HostGit:
    """git on the host, scrubbed. `state` is a folder of ours; `ca_file` is the trust store for https."""

    def __init__(self, state: Path, *, ca_file: Path | None = None) -> None:
        self._home = state / "home"
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._config = state / "gitconfig"
        # Repositories of other owners are served, with their configuration overridden. From `-c`, git ignores this key.
        staged = state / f"gitconfig.{os.getpid()}.{threading.get_ident()}"
        staged.write_text("[safe]\n\tdirectory = *\n", encoding="ascii")
        staged.replace(self._config)
        self._ca_file = ca_file
        found = shutil.which("git", path=FIXED_PATH)
        if found is None:
            raise EngineUnavailable("git is not installed on this host", hint="Install git.", code="git_missing")
        self._git = found

    def run(
        self,
        arguments: Sequence[str],
        *,
        repository: Path | None = None,
        address: Address | None = None,
        credential: Credential | None = None,
        stdin: Iterable[bytes] = (),
        deadline_seconds: float = DEFAULT_SECONDS,
        max_stdout_bytes: int = _DEFAULT_STDOUT_BYTES,
        max_file_bytes: int | None = None,
    ) -> GitResult:
        """Git has run. `arguments` begin with the subcommand; the caller puts `--` where it belongs.

        Args:
            arguments: the subcommand and what follows it.
            repository: the git folder to work in; one that we made, except to read its configuration with `config`.
            address: where it may connect to; None forbids every protocol.
            credential: answered to that address alone.
            stdin: chunks; what the iterable raises, this raises.
            deadline_seconds: then the whole process group is killed.
            max_stdout_bytes: then too.
            max_file_bytes: the largest file that git may write; None is no bound.
        """
        with self._prepared(arguments, repository, address, credential) as (argv, env, descriptors):
            output = run_program(
                argv,
                env=env,
                deadline_seconds=deadline_seconds,
                max_stdout_bytes=max_stdout_bytes,
                stdin=stdin,
                pass_fds=descriptors,
                max_file_bytes=max_file_bytes,
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

        A local repository's configuration and hooks would otherwise be obeyed on this host: hooks run, a command
        lists alternates' refs, a partial clone fetches what it lacks, a push checks out.
        """
        options = [word for option in _SERVING_OPTIONS for word in ("-c", option)]
        return shlex.join(["env", "GIT_ALLOW_PROTOCOL=none", self._git, *options, program])

    @contextmanager
    def _prepared(
        self,
        arguments: Sequence[str],
        repository: Path | None,
        address: Address | None,
        credential: Credential | None,
    ) -> Iterator[tuple[list[str], Mapping[str, str], tuple[int, ...]]]:
        argv = [self._git, *(word for option in _OPTIONS for word in ("-c", option))]
        if repository is not None:
            argv.append(f"--git-dir={repository}")
        with ExitStack() as stack:
            descriptors: tuple[int, ...] = ()
            if credential is not None and address is not None:
                handover = stack.enter_context(credential.handover(address))
                argv += handover.options
                descriptors = (handover.descriptor,)
            yield [*argv, *arguments], self._environment(address), descriptors

    def _environment(self, address: Address | None) -> dict[str, str]:
        environment = {
            "PATH": FIXED_PATH,
            "HOME": str(self._home),
            "LC_ALL": "C",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self._config),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "GIT_ALLOW_PROTOCOL": "none" if address is None else address.scheme,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        if self._ca_file is not None:
            environment["GIT_SSL_CAINFO"] = str(self._ca_file)
        return environment


def _result(output: Output, credential: Credential | None) -> GitResult:
    redactor = Redactor() if credential is None else credential.redactor()
    return GitResult(
        exit=output.exit,
        stdout=output.stdout,
        stderr=redactor.scrub(output.stderr.decode("utf-8", "replace")),
        timed_out=output.timed_out,
        overflowed=output.overflowed,
    )
