"""The network of a phase: none, or the egress proxy over a held stream while the phase lasts, and the proof of its end.

The container never has more than loopback. A relay inside hands connections to the proxy on the host, which judges
each; closing the stream ends the relay, and with it the only way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from runner.audit.log import AuditLog
from runner.controller.host import Host
from runner.egress.addresses import AddressJudge
from runner.egress.environment import RELAY_PORT, ca_environment, proxy_environment
from runner.egress.network import begin_connect, is_own_address, resolve
from runner.egress.proxy import EgressProxy
from runner.egress.registry import Roles, host_of_registry, operators_registry, without_user
from runner.egress.rules import EgressRules
from runner.egress.values import EgressDialled, EgressEvent, EgressOpened, EgressTold
from runner.engine.contract import ImageInfo, Sandbox, SpawnRequest
from runner.model.errors import PostureFailed, RepositoryUnavailable

__all__ = ["CA_PATH", "RELAY", "deliver_ca", "network", "prove_cut", "roles_of", "tell_egress"]

CA_PATH = "/home/agent/.runner-ca.pem"
_NPM_ROLE = "npm"
_REGISTRY_LABEL = "runner.npm-registry"
RELAY = ("/usr/bin/python3", "-I", "-S", "/opt/runner/relay.py")
_ENDED_BY_CLIENT = "egress.closed"
_MAX_CA_BYTES = 4 * 1024 * 1024
# The relay ends when it sees its stream end, which takes a moment; after five seconds the proof has failed.
_PROBE = f"""
import socket, sys, time
end = time.monotonic() + 5
while time.monotonic() < end:
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", {RELAY_PORT})):
            sys.exit(0)
    time.sleep(0.02)
sys.exit(1)
"""
_PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")


def roles_of(host: Host, image: ImageInfo) -> Roles:
    """Roles by the operator's settings, else by what the image says of itself.

    Raises:
        UsageError: a setting cannot be used as it is.
    """
    opened = operators_registry(host.npm_registry, host.npm_registry_address)
    url = host.npm_registry or image.labels.get(_REGISTRY_LABEL)
    told = None if host.npm_registry is None else without_user(host.npm_registry)
    return Roles({_NPM_ROLE: host_of_registry(url)} if url else {}, opened, told)


def tell_egress(audit: AuditLog, phase: str, told: EgressTold) -> None:
    """What the proxy tells of a connection is in the log.

    Raises:
        AuditUnwritable: it is not, or the run has lost a line before; the proxy ends of it, and its connections.
    """
    data = {"phase": phase, **asdict(told)}
    match told:
        case EgressOpened():
            audit.append("egress.open", data)
        case EgressDialled():
            audit.append("egress.dial", data)
        case EgressEvent():
            audit.tell("egress", data)


@contextmanager
def network(
    sandbox: Sandbox,
    allow: Sequence[str],
    roles: Roles,
    audit: AuditLog,
    phase: str,
    on_refusal: Callable[[EgressEvent], None] = lambda _event: None,
    on_event: Callable[[EgressEvent], None] = lambda _event: None,
    is_proof: Callable[[EgressTold], bool] = lambda _event: False,
) -> Iterator[dict[str, str]]:
    """The environment that makes programs use the proxy while the block runs; empty when nothing is allowed.

    `on_event` is told each connection that ended or was refused, `on_refusal` each refused one, by the proxy's thread.
    One of which `is_proof` says so is ours: it was made to see that it can be, and ended before a byte of it went out.

    Raises:
        PolicyInvalid: an entry names a role that nobody gave a host.
        SandboxLost: when the relay does not come up.
    """
    rules = EgressRules.compile(allow, roles.hosts)
    if not rules.allows_any:
        yield {}
        return

    def record(told: EgressTold) -> None:
        if is_proof(told):
            if isinstance(told, EgressEvent):
                told = replace(told, allowed=told.allowed or told.rule == _ENDED_BY_CLIENT)
            tell_egress(audit, "proof", told)
            return
        tell_egress(audit, phase, told)
        if isinstance(told, EgressEvent):
            on_event(told)
            if not told.allowed:
                on_refusal(told)

    stream = sandbox.open_stream(RELAY, user="relay")
    opened = roles.registry
    with EgressProxy(
        stream,
        rules=rules,
        judge=AddressJudge(is_own_address),
        judges={} if opened is None else opened.judges(is_own_address),
        resolver=resolve if opened is None else opened.resolver(resolve),
        dialer=begin_connect,
        audit=record,
    ) as proxy:
        yield {**proxy_environment(proxy.start()), **_registry_environment(allow, roles)}


def _registry_environment(allow: Sequence[str], roles: Roles) -> dict[str, str]:
    """Npm and pnpm ask the operator's registry where it is what the policy opens."""
    if roles.registry_url is None or _NPM_ROLE not in allow:
        return {}
    return {"npm_config_registry": roles.registry_url}


def deliver_ca(sandbox: Sandbox, bundle: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """The host's trust store is inside, and the variables that make programs use it; nothing when there is none.

    Raises:
        RepositoryUnavailable: when the file cannot be read.
    """
    if bundle is None:
        return {}
    try:
        data = bundle.read_bytes()
    except OSError as error:
        raise RepositoryUnavailable(
            f"the CA file {bundle} cannot be read: {error.strerror}", hint="Correct `ca` in the policy."
        ) from error
    if len(data) > _MAX_CA_BYTES:
        raise RepositoryUnavailable(f"the CA file {bundle} is larger than 4 MiB", hint="Name a PEM bundle.")
    pieces = (data[start : start + 65536] for start in range(0, len(data), 65536))
    written = sandbox.spawn(
        SpawnRequest(("/usr/bin/tee", CA_PATH), environment, 30, 0, stdin=pieces, sink=lambda _name, _data: None)
    )
    if written.exit != 0:
        raise RepositoryUnavailable("the CA file could not be put into the workspace", hint="See `runner doctor`.")
    return ca_environment(CA_PATH)


def prove_cut(sandbox: Sandbox, environment: Mapping[str, str]) -> None:
    """The relay's port refuses, seen from inside, now that the set-up's network has been closed.

    Raises:
        PostureFailed: when something still listens there.
    """
    probe = sandbox.spawn(SpawnRequest((*_PYTHON, _PROBE), environment, 20, 4096))
    if probe.exit != 0:
        raise PostureFailed("the set-up's network is still open inside the workspace", hint="Please report this.")
