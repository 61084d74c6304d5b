"""Host settings: the only module that reads the process environment.

Everything below it is handed what it needs, so that a test, a second door or a server can run several controllers with
different settings in one process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["DEFAULT_GATE_IMAGE", "DEFAULT_IMAGE", "Settings", "completing"]

DEFAULT_IMAGE = "runner-workspace:dev"
DEFAULT_GATE_IMAGE = "runner-gate:dev"
_SYSTEM_CA = Path("/etc/ssl/certs/ca-certificates.crt")
_DOCKER_KEYS = ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the host says. `state_dir` holds mirrors, run records and this controller's identity; owner only."""

    state_dir: Path
    image: str = DEFAULT_IMAGE
    gate_image: str = DEFAULT_GATE_IMAGE
    gate: str = "container"  # or `host`: where the gate's git runs
    ssh_known_hosts: Path | None = None  # the keys of the code hosts that are spoken to over ssh
    ca_file: Path | None = None  # the host's trust store, handed into workspaces that get a network
    npm_registry: str | None = None  # overrides what the image's npm says its registry is
    npm_registry_address: str | None = None  # where that registry is, when no look-up of its name may decide it
    cache_mib: str | None = None  # bound of the kept package caches, as it was written
    max_runs: str | None = None  # how many runs go on at once, as it was written
    queue_seconds: str | None = None  # how long one waits for a place, as it was written
    pool_max: str | None = None  # most warm runs that a process keeps, as it was written
    accept_engine: frozenset[str] = frozenset()  # flaws of the engine that runs are started in spite of
    require_engine: frozenset[str] = frozenset()  # what the engine must confine runs by: apparmor, userns, runtime:NAME
    audit_key: Path | None = None  # what seals runs, instead of the state folder's own key
    otlp_endpoint: str | None = None  # a collector of traces that `runner serve` tells what it does
    docker: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # for `credential: {env: NAME}` only

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Settings from the variables that docs/OPERATIONS.md lists."""
        env = os.environ if environment is None else environment
        home = Path(env.get("HOME") or "/")
        base = Path(env.get("XDG_STATE_HOME") or home / ".local" / "state")
        ca = Path(env["SSL_CERT_FILE"]) if env.get("SSL_CERT_FILE") else _SYSTEM_CA
        return cls(
            state_dir=Path(env.get("RUNNER_STATE_DIR") or base / "runner"),
            image=env.get("RUNNER_IMAGE") or DEFAULT_IMAGE,
            gate_image=env.get("RUNNER_GATE_IMAGE") or DEFAULT_GATE_IMAGE,
            gate=env.get("RUNNER_GATE") or "container",
            ssh_known_hosts=Path(env.get("RUNNER_SSH_KNOWN_HOSTS") or home / ".ssh" / "known_hosts"),
            ca_file=ca if ca.is_file() else None,
            npm_registry=env.get("RUNNER_NPM_REGISTRY") or None,
            npm_registry_address=env.get("RUNNER_NPM_REGISTRY_ADDRESS") or None,
            cache_mib=env.get("RUNNER_CACHE_MIB") or None,
            pool_max=env.get("RUNNER_POOL_MAX") or None,
            max_runs=env.get("RUNNER_MAX_RUNS") or None,
            queue_seconds=env.get("RUNNER_QUEUE_SECONDS") or None,
            accept_engine=_words(env, "RUNNER_ACCEPT_ENGINE"),
            require_engine=_words(env, "RUNNER_REQUIRE_ENGINE"),
            audit_key=Path(env["RUNNER_AUDIT_KEY"]) if env.get("RUNNER_AUDIT_KEY") else None,
            otlp_endpoint=_otlp_endpoint(env),
            docker={key: env[key] for key in _DOCKER_KEYS if env.get(key)},
            secrets=dict(env),
        )


def completing(environment: Mapping[str, str] | None = None) -> bool:
    """Whether a shell asks how a command line of ours may go on."""
    return "_RUNNER_COMPLETE" in (os.environ if environment is None else environment)


def _otlp_endpoint(env: Mapping[str, str]) -> str | None:
    """As OpenTelemetry's own variables say it: the second is the beginning of an address for all kinds of data."""
    base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or (f"{base.rstrip('/')}/v1/traces" if base else None)


def _words(env: Mapping[str, str], name: str) -> frozenset[str]:
    """What a variable lists, with commas or blanks between."""
    return frozenset(env.get(name, "").replace(",", " ").split())
