"""The gate's git on this host: for engines elsewhere, where the mirrors cannot be mounted into a container.

git is the host's own, found on a fixed PATH. What it parses comes from the repository, so a flaw in it would act with
the controller's rights; that is why the gate has a container of its own unless the operator says otherwise.
"""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

from runner.gate.credentials import Credential
from runner.gate.git import FIXED_PATH, Git, GitFailed, GitResult, Invocation
from runner.gate.process import Output, run_program
from runner.model.errors import EngineUnavailable, RepositoryUnavailable

__all__ = ["GitFailed", "GitResult", "HostGit"]


class HostGit(Git):
    """git on the host. `state` is a folder of ours; `ca_file` is the trust store for https."""

    def __init__(self, state: Path, *, ca_file: Path | None = None) -> None:
        self.scratch = state
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
        self.program = found

    def _execute(self, invocation: Invocation) -> Output:
        address, secret = invocation.address, invocation.secret
        if address is not None and address.scheme == "ssh":
            raise RepositoryUnavailable(
                "ssh addresses need the gate's container, and RUNNER_GATE is `host`",
                hint="Unset RUNNER_GATE, or use the repository's https:// address.",
                code="gate_host_ssh",
            )
        if isinstance(secret, Credential) and address is not None:
            with secret.handover(address) as handover:
                return self._start(invocation, handover.options, (handover.descriptor,))
        return self._start(invocation, (), ())

    def _start(self, invocation: Invocation, options: tuple[str, ...], descriptors: tuple[int, ...]) -> Output:
        environment = {
            **invocation.environment,
            "HOME": str(self._home),
            "GIT_CONFIG_GLOBAL": str(self._config),
        }
        if self._ca_file is not None:
            environment["GIT_SSL_CAINFO"] = str(self._ca_file)
        return run_program(
            [self.program, *invocation.options, *options, *invocation.arguments],
            env=environment,
            deadline_seconds=invocation.deadline_seconds,
            max_stdout_bytes=invocation.max_stdout_bytes,
            stdin=invocation.stdin,
            pass_fds=descriptors,
            max_file_bytes=invocation.max_file_bytes,
        )
