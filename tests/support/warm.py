"""A pool over an engine in memory, filled when the test says so."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from runner.controller.host import Host
from runner.controller.pool import Pool
from runner.controller.specs import CLEAN_UP_SECONDS
from runner.controller.warm_up import IDLE_SECONDS, warm_up
from tests.support.clocks import ManualClock

__all__ = ["with_pool"]


def with_pool(host: Host, clock: ManualClock, *, most: int = 8) -> tuple[Host, Pool]:
    """The host with a pool, by whose clock nothing grows old on its own."""
    pool = Pool(
        partial(warm_up, host),
        most=most,
        at_once=2,
        idle_seconds=IDLE_SECONDS,
        clean_up_seconds=CLEAN_UP_SECONDS,
        clock=clock,
        unix=host.unix,
    )
    return replace(host, pool=pool), pool
