"""The composition root: the one place where real parts are chosen and put together."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from runner.audit.keys import PublicKey
from runner.controller.cache_store import DEFAULT_CACHE_MIB
from runner.controller.confinement import required_of
from runner.controller.host import GateMode, Host
from runner.controller.places import DEFAULT_QUEUE_SECONDS, runs_that_fit
from runner.controller.pool import DEFAULT_MOST, Pool
from runner.controller.records import StateFolder
from runner.controller.specs import CLEAN_UP_SECONDS
from runner.controller.warm_up import IDLE_SECONDS, warm_up
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import UsageError
from runner.settings import Settings

__all__ = ["compose", "whole_number"]

_STARTS_PER_CORE = 2  # beyond it, starts of containers only wait for each other


@contextmanager
def compose(settings: Settings, *, pool: bool = False) -> Iterator[Host]:
    """A host with a Docker engine; its sockets are given back at the end.

    `pool` is for a process that opens runs again and again: it keeps warm what its policies ask for, until the end.

    Raises:
        EngineUnavailable: when the engine's address cannot be used.
        UsageError: when the state folder cannot be used, or the settings ask for what is not known or count in what is
            no whole number.
    """
    state = StateFolder(settings.state_dir)
    most = whole_number("RUNNER_POOL_MAX", settings.pool_max, DEFAULT_MOST)
    engine = DockerEngine(settings.docker, settings.accept_engine)
    try:
        host = Host(
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
            cache_mib=whole_number("RUNNER_CACHE_MIB", settings.cache_mib, DEFAULT_CACHE_MIB),
            audit_key=settings.audit_key,
            max_runs=whole_number("RUNNER_MAX_RUNS", settings.max_runs, _runs_that_fit_here()),
            queue_seconds=whole_number("RUNNER_QUEUE_SECONDS", settings.queue_seconds, DEFAULT_QUEUE_SECONDS),
            required=required_of(settings.require_engine),
            draw=_draw,
        )
        with _pooled(host, most if pool else 0) as pooled:
            yield pooled
    finally:
        engine.close()


def _draw(folder: Path, key: PublicKey) -> bytes:
    # Imported where a run ends: no other command should wait for the templates' engine.
    from runner.pages.html import draw_report
    from runner.pages.record import RecordFolder

    return draw_report(RecordFolder(folder.name, folder), key)


@contextmanager
def _pooled(host: Host, most: int) -> Iterator[Host]:
    if not most:
        yield host
        return
    pool = Pool(
        partial(warm_up, host),
        most=most,
        at_once=_STARTS_PER_CORE * (os.cpu_count() or 1),
        idle_seconds=IDLE_SECONDS,
        clean_up_seconds=CLEAN_UP_SECONDS,
        clock=partial(time.clock_gettime, time.CLOCK_BOOTTIME),
        unix=host.unix,
    )
    try:
        yield replace(host, pool=pool)
    finally:
        pool.close()


def _gate_mode(said: str) -> GateMode:
    try:
        return GateMode(said)
    except ValueError:
        hint = "Say `container`, which is the default, or `host`."
        raise UsageError(f"RUNNER_GATE is {said!r}", hint=hint) from None


def whole_number(variable: str, text: str | None, otherwise: int) -> int:
    """What the operator wrote, `otherwise` where there is nothing.

    Raises:
        UsageError: it is not a whole number of at most nine digits.
    """
    if text is None:
        return otherwise
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise UsageError(f"{variable} is not a whole number", hint=f"Write for example {otherwise}, or leave it out.")
    return int(text)


def _runs_that_fit_here() -> int:
    memory_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return runs_that_fit(len(os.sched_getaffinity(0)), memory_mib)
