"""The gate's git in a container of its own: what parses the remote's and the workspace's bytes runs caged.

A room is a sandbox like the workspace's, from the gate's image, without a network of its own. It runs no code of a
repository. It sees the folders that it was started with, and what `way_out` gives for the seconds of a transfer: a
relayed connection to the one address at hand and to nothing else.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Protocol

from runner.engine.contract import Sandbox, SpawnRequest, SpawnResult
from runner.gate.address import Address
from runner.gate.credentials import DEFAULT_SSH_USER, Credential, SshKey
from runner.gate.git import Git, Invocation
from runner.gate.process import Output
from runner.model.errors import RepositoryUnavailable

__all__ = ["RoomGit", "WayOut"]


class WayOut(Protocol):
    """How a room reaches the one address that is not its own."""

    def to(self, address: Address) -> int:
        """The way leads to the address; the answer is the port of its end on the room's loopback."""
        ...

    def refused(self) -> str | None:
        """The rule by which a connection was refused since this was asked last."""
        ...


_GATE_GIT = "/opt/runner/gate-git.sh"
_CONFIG = "/opt/runner/gitconfig"
_STDERR_CAP_BYTES = 65536  # what a person may read of a failure
_KIB = 1024
_SSH_PORT = 22
_LOGIN = re.compile(r"(?:ssh://)?[^/@:]+@")  # the address's own, which goes before any other
_SSH = (
    "ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "UpdateHostKeys=no",
    "-o", "GlobalKnownHostsFile=/dev/null", "-o", "VerifyHostKeyDNS=no", "-o", "PreferredAuthentications=publickey",
    "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes",
    "-o", "PermitLocalCommand=no", "-o", "ControlPath=none", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=15",
)  # fmt: skip


class RoomGit(Git):
    """git in `room`. `ca_file` and `known_hosts` are paths that the room sees; None where there is none."""

    program = "/usr/bin/git"
    scratch = Path("/tmp")  # noqa: S108 - the room's own memory

    def __init__(
        self, room: Sandbox, way_out: WayOut | None, *, ca_file: Path | None, known_hosts: Path | None
    ) -> None:
        self._room = room
        self._way_out = way_out
        self._ca_file = ca_file
        self._known_hosts = known_hosts

    def _execute(self, invocation: Invocation) -> Output:
        address, way = invocation.address, self._way_out
        environment = self._environment(invocation)
        options = list(invocation.options)
        if way is not None and address is not None and address.endpoint is not None:
            port = way.to(address)
            options += _proxy_options(address, port)
            environment |= self._ssh_environment(invocation, address, port)
        handover, lines = _handover(invocation, options)
        files = "unlimited" if invocation.max_file_bytes is None else str(invocation.max_file_bytes // _KIB)
        argv = (_GATE_GIT, files, handover, *options, *invocation.arguments)
        cap = max(invocation.max_stdout_bytes, _STDERR_CAP_BYTES)
        stdin = chain(lines, invocation.stdin)
        deadline = invocation.deadline_seconds
        result = self._room.spawn(SpawnRequest(argv, environment, deadline, cap, stdin=stdin, kill_at_bytes=cap + 1))
        refused = way.refused() if way is not None else None
        why = "" if refused is None or address is None else _why(refused, address)
        return _output(result, invocation.max_stdout_bytes, why)

    def _environment(self, invocation: Invocation) -> dict[str, str]:
        own = {"HOME": "/tmp", "GIT_CONFIG_GLOBAL": _CONFIG}  # noqa: S108 - the room's own
        trust = {} if self._ca_file is None else {"GIT_SSL_CAINFO": str(self._ca_file)}
        return {**invocation.environment, **own, **trust}

    def _ssh_environment(self, invocation: Invocation, address: Address, port: int) -> dict[str, str]:
        if address.scheme != "ssh":
            return {}
        if self._known_hosts is None:
            raise RepositoryUnavailable(
                "no keys of code hosts are known here, so none can be recognised over ssh",
                hint="Put the host's key, checked, into ~/.ssh/known_hosts, or name a file in RUNNER_SSH_KNOWN_HOSTS.",
                code="ssh_host_key_unknown",
            )
        user = invocation.secret.user if isinstance(invocation.secret, SshKey) else DEFAULT_SSH_USER
        name, behind = address.endpoint or (address.host, _SSH_PORT)
        alias = name if behind == _SSH_PORT else f"[{name}]:{behind}"  # as known_hosts names it
        words = [
            *_SSH,
            *("-o", "HostName=127.0.0.1", "-o", f"Port={port}", "-o", f"HostKeyAlias={alias}"),
            *("-o", f"UserKnownHostsFile={self._known_hosts}"),
            *(() if _LOGIN.match(address.url) else ("-o", f"User={user}")),
        ]
        command = shlex.join(words)
        return {"GATE_SSH": command, "GIT_SSH_COMMAND": command, "GIT_SSH_VARIANT": "ssh"}


def _proxy_options(address: Address, port: int) -> list[str]:
    """How git finds the relay. Over http, which is for this machine alone, it takes the relay for the host."""
    return ["-c", f"http.proxy=http://127.0.0.1:{port}"] if address.scheme == "https" else ["-c", "http.proxy="]


def _handover(invocation: Invocation, options: list[str]) -> tuple[str, Iterable[bytes]]:
    secret, address = invocation.secret, invocation.address
    if secret is None or address is None:
        return "none", ()
    if isinstance(secret, Credential):
        # git appends `get`, `store` or `erase`; only `get` reads. The first option drops every other helper.
        scope = f"credential.{address.scheme}://{address.host}"
        options += ["-c", "credential.helper=", "-c", f'{scope}.helper=!f() {{ test "$1" = get && exec cat <&9; }}; f']
        return "token", (secret.lines,)
    return "key", (secret.lines,)


def _why(rule: str, address: Address) -> str:
    """In words like git's own, which cannot know it: the connection was made from outside its room."""
    if rule == "egress.dns":
        return f"fatal: Could not resolve host: {address.host}\n"
    if rule.startswith("egress.address."):
        return f"fatal: Failed to connect to {address.host}: the name leads to a {rule.rpartition('.')[2]} address\n"
    return f"fatal: Failed to connect to {address.host}\n"


def _output(result: SpawnResult, max_stdout_bytes: int, why: str) -> Output:
    overflowed = result.stdout_bytes > max_stdout_bytes
    killed = 137 if result.exit is None else result.exit
    return Output(
        exit=killed,
        stdout=result.stdout[:max_stdout_bytes],
        stderr=why.encode() + result.stderr[:_STDERR_CAP_BYTES],
        timed_out=result.timed_out,
        overflowed=overflowed,
    )
