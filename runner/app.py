"""The composition root: the one place where real parts are chosen and put together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from runner.controller.host import Host
from runner.controller.records import StateFolder
from runner.engine.docker_engine import DockerEngine
from runner.settings import Settings

__all__ = ["compose"]


@contextmanager
def compose(settings: Settings) -> Iterator[Host]:
    """A host with a Docker engine; its sockets are given back at the end.

    Raises:
        EngineUnavailable: when the engine's address cannot be used.
        UsageError: when the state folder cannot be used.
    """
    state = StateFolder(settings.state_dir)
    engine = DockerEngine(settings.docker)
    try:
        yield Host(
            engine=engine,
            state=state,
            image=settings.image,
            ca_file=settings.ca_file,
            npm_registry=settings.npm_registry,
            secrets=settings.secrets,
            monotonic=time.monotonic,
            unix=time.time,
        )
    finally:
        engine.close()
