"""The composition root: the one place where real parts are chosen and put together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from runner.controller.cache_store import bound_of
from runner.controller.host import GateMode, Host
from runner.controller.records import StateFolder
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import UsageError
from runner.settings import Settings

__all__ = ["compose"]


@contextmanager
def compose(settings: Settings) -> Iterator[Host]:
    """A host with a Docker engine; its sockets are given back at the end.

    Raises:
        EngineUnavailable: when the engine's address cannot be used.
        UsageError: when the state folder cannot be used, or the settings name no place for the gate.
    """
    state = StateFolder(settings.state_dir)
    engine = DockerEngine(settings.docker, settings.accept_engine)
    try:
        yield Host(
            engine=engine,
            state=state,
            image=settings.image,
            gate=_gate_mode(settings.gate),
            gate_image=settings.gate_image,
            ssh_known_hosts=settings.ssh_known_hosts,
            ca_file=settings.ca_file,
            npm_registry=settings.npm_registry,
            secrets=settings.secrets,
            monotonic=time.monotonic,
            unix=time.time,
            npm_registry_address=settings.npm_registry_address,
            cache_mib=bound_of(settings.cache_mib),
            audit_key=settings.audit_key,
        )
    finally:
        engine.close()


def _gate_mode(said: str) -> GateMode:
    try:
        return GateMode(said)
    except ValueError:
        hint = "Say `container`, which is the default, or `host`."
        raise UsageError(f"RUNNER_GATE is {said!r}", hint=hint) from None
