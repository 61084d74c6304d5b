"""What a controller has of its host, put together once by the composition root and handed down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runner.audit.keys import PublicKey, SigningKey, named_key, own_key
from runner.controller.confinement import NOTHING_REQUIRED, Required
from runner.controller.places import DEFAULT_QUEUE_SECONDS, Places
from runner.controller.pool import Pool
from runner.controller.records import StateFolder
from runner.engine.contract import Engine

__all__ = ["Draw", "GateMode", "Host"]

Draw = Callable[[Path, PublicKey], bytes]
"""The page of a run that has ended, from its folder, as one file; its receipt is checked with the key."""


class GateMode(StrEnum):
    """Where the gate's git runs: on the host only where the operator says so, for an engine on another machine."""

    CONTAINER = "container"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Host:
    """The engine, the state folder, the clocks, and the operator's settings that runs need.

    `monotonic` measures durations and deadlines, in seconds; `unix` stamps records. `secrets` is only looked into for a
    credential that a policy names. `audit_key` None means the state folder's own. Of `max_runs` 0 means no bound.
    `draw` None means that no page is made of a run. `pool` is there in a process that lives long.
    """

    engine: Engine
    state: StateFolder
    image: str
    gate: GateMode
    gate_image: str
    ssh_known_hosts: Path | None
    ca_file: Path | None
    npm_registry: str | None
    secrets: Mapping[str, str]
    monotonic: Callable[[], float]
    unix: Callable[[], float]
    npm_registry_address: str | None = None
    cache_mib: int = 0
    audit_key: Path | None = None
    required: Required = NOTHING_REQUIRED
    max_runs: int = 0
    queue_seconds: float = DEFAULT_QUEUE_SECONDS
    draw: Draw | None = None
    pool: Pool | None = None

    @property
    def places(self) -> Places:
        """The queue before this host's places for runs."""
        return Places(self.state.places, self.max_runs, self.queue_seconds, self.monotonic)

    def signing_key(self) -> SigningKey:
        """What seals this controller's runs: the file that the operator names, else the state folder's own.

        Raises:
            AuditKeyUnusable: it cannot be used.
        """
        return own_key(self.state.path) if self.audit_key is None else named_key(self.audit_key)
