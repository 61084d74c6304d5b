"""What can only be proved once the clone and its network are there: the hooks that were switched on, and allowed hosts.

Each was asked for in so many words, by the set-up or the policy, so that a miss refuses the run like any other control.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from runner.controller import posture
from runner.controller.posture import Check
from runner.controller.posture_mends import REACHABLE
from runner.egress.environment import RELAY_PORT
from runner.egress.rules import EgressRules
from runner.egress.values import EgressDialled, EgressTold
from runner.engine.contract import FileRefused, Sandbox, SpawnRequest

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["GITS_OWN", "AllowedHosts", "prove_late"]

GITS_OWN = "/workspace/.git/hooks"
"""Where git looks for hooks when nobody says otherwise."""

_NO_HOOKS = "/dev/null"  # the usual way to say that there are none
_ROOT = "/workspace"
_SECONDS = 10  # for all hosts together; a host that takes longer than this to connect to is no use to a command
_AT_ONCE = 32  # the proxy and the relay carry 64 connections at a time
_CONNECTED = "connected"
_PATTERN = "not tried: a pattern names no host"
# Each target is asked of the proxy as a program would, some at a time. It says 200 once its connection stands; no
# byte is sent to the host. One line for each target: the status, or nothing.
_PROBE = f"""
import selectors, socket, sys, time
end = time.monotonic() + {_SECONDS}
said, chosen = dict.fromkeys(sys.argv[1:], b""), selectors.DefaultSelector()
due = list(said)
while (due or chosen.get_map()) and time.monotonic() < end:
    while due and len(chosen.get_map()) < {_AT_ONCE}:
        target = due.pop()
        way = socket.create_connection(("127.0.0.1", {RELAY_PORT}), timeout=2)
        way.sendall(f"CONNECT {{target}} HTTP/1.1\\r\\nHost: {{target}}\\r\\n\\r\\n".encode())
        chosen.register(way, selectors.EVENT_READ, target)
    for key, _ in chosen.select(max(0, end - time.monotonic())):
        piece = key.fileobj.recv(256)
        said[key.data] += piece
        if not piece or b"\\r\\n" in said[key.data]:
            chosen.unregister(key.fileobj)
            key.fileobj.close()
for answer in said.values():
    print((answer.split() + [b"", b""])[1].decode("ascii", "replace")[:3])
"""
_PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")


def prove_late(run: Prepared, hosts: Sequence[Check]) -> None:
    """The report and the log have these checks beside the container's own.

    Raises:
        PostureFailed: a control that was asked for is not active.
    """
    checks = [*_hooks(run), *hosts]
    if checks:
        run.facts["posture"] += [asdict(check) for check in checks]
        run.audit.append("posture", {"checks": run.facts["posture"]})
        posture.require(checks)


class AllowedHosts:
    """What an allowlist names, and the connections that prove it: one for each host and port, before all others."""

    def __init__(self, rules: EgressRules) -> None:
        entries = {(each.host, each.port, each.below): None for each in rules.entries}
        self._entries = list(entries)
        self._due = {(host, port) for host, port, below in entries if not below}
        self._ours: set[int] = set()

    def is_proof(self, told: EgressTold) -> bool:
        """Whether it is of a connection that was made for the proof. For the proxy's thread."""
        if not isinstance(told, EgressDialled) and (told.host, told.port) in self._due:
            self._due.discard((told.host, told.port))
            self._ours.add(told.connection)
        return told.connection in self._ours

    def checks(self, sandbox: Sandbox, environment: Mapping[str, str]) -> list[Check]:
        """One check for each entry of the allowlist, tried through the proxy that runs now."""
        targets = [f"{host}:{port}" for host, port, below in self._entries if not below]
        said = dict(zip(targets, _tried(sandbox, targets, environment), strict=True))
        return [
            _check(f"*.{host}:{port}", None) if below else _check(f"{host}:{port}", said[f"{host}:{port}"])
            for host, port, below in self._entries
        ]


def _check(target: str, status: str | None) -> Check:
    if status is None:
        return Check(f"{REACHABLE}{target}", _PATTERN, _PATTERN, active=True)
    seen = _CONNECTED if status == "200" else f"the proxy says {status}" if status.isdigit() else "no answer"
    return Check(f"{REACHABLE}{target}", _CONNECTED, seen, active=status == "200")


def _tried(sandbox: Sandbox, targets: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """What the proxy answered for each, in order."""
    if not targets:
        return []
    probe = sandbox.spawn(SpawnRequest((*_PYTHON, _PROBE, *targets), environment, _SECONDS * 2, 64 * 1024))
    lines = probe.stdout.decode("ascii", "replace").splitlines() if probe.exit == 0 else []
    return lines if len(lines) == len(targets) else [""] * len(targets)


def _hooks(run: Prepared) -> list[Check]:
    """A set-up that names a hooks folder asked for the clone's own. That no hook is in it is told, and refuses nothing.

    The repository says what it has of hooks; a folder elsewhere would be somebody else's.
    """
    path = run.baseline.hooks_path
    if path in (GITS_OWN, _NO_HOOKS):
        return []
    active: list[str] = run.facts["hooks"]["active"]
    within = _within(run.sandbox, path)
    seen = f"{path}: {len(active)} hooks" if within else f"{path}: not in the clone"
    return [Check("hooks path", "a folder of the clone", seen, active=within)]


def _within(sandbox: Sandbox, path: str) -> bool:
    """Whether the folder is really below the clone, links followed."""
    whole = posixpath.normpath(posixpath.join(_ROOT, path))
    if whole == _ROOT:
        return True
    if not whole.startswith(f"{_ROOT}/"):
        return False
    try:
        sandbox.resolve(whole.removeprefix(f"{_ROOT}/"))
        return True
    except FileRefused:
        return False
