"""The application: `/v1`, health, metrics and, where they are given, the web pages, over one service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from anyio import to_thread
from fastapi import APIRouter, FastAPI

from runner.controller.host import Host
from runner.doors.http.admission import OPENAPI_URL, Access, Admission, Seen
from runner.doors.http.api import api
from runner.doors.http.callers import Callers
from runner.doors.http.described import describe
from runner.doors.http.health import Readiness, health
from runner.doors.http.limits import BodyLimits, Shares, TransportLimits
from runner.doors.http.metrics import Metrics
from runner.doors.http.problems import handle_errors
from runner.doors.http.tracing import Tracing
from runner.model.errors import RunnerError
from runner.model.version import VERSION
from runner.serving.service import Service
from runner.store.tokens import TokenStore

__all__ = ["Parts", "make_app"]

_SWEEP_SECONDS = 60.0  # what a crashed run left ends itself after half a minute, and is removed with the next sweep
_ABOUT = "Runs of untrusted repositories in fresh, hardened containers, under a policy. Errors are problem+json."


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is put together from. `pages` are for people; `clock` is monotonic.

    `access` is told of each request that was answered.
    """

    host: Host
    service: Service
    tokens: TokenStore
    clock: Callable[[], float]
    limits: TransportLimits = field(default_factory=TransportLimits)
    pages: Callable[[Callers, Shares], APIRouter] | None = None
    tracing: Tracing = field(default_factory=Tracing)
    access: Access | None = None


def make_app(parts: Parts) -> FastAPI:
    """The application. Its start ends what a former process left, its stop ends every run."""

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        await to_thread.run_sync(parts.service.recover)
        sweeping = asyncio.create_task(_sweep_now_and_then(parts.service))
        try:
            yield
        finally:
            sweeping.cancel()
            await to_thread.run_sync(parts.service.shutdown)

    app = FastAPI(
        title="runner", version=VERSION, description=_ABOUT, lifespan=life, docs_url=None, redoc_url=None,
        openapi_url=OPENAPI_URL,
    )  # fmt: skip
    metrics = Metrics(parts.service.live_count, lambda: len(parts.host.places.waiting()))
    parts.service.watch = metrics
    callers, shares = Callers(parts.tokens, parts.host.unix), Shares(parts.limits, parts.clock)
    handle_errors(app)
    readiness = Readiness(lambda: _ask(parts), parts.clock, parts.limits.ready_seconds)
    app.include_router(health(readiness, callers, metrics))
    app.include_router(api(parts.service, metrics, parts.host.state))
    if parts.pages is not None:
        app.include_router(parts.pages(callers, shares))
    app.add_middleware(BodyLimits, limits=parts.limits)  # the last that is added sees a request first
    app.add_middleware(Admission, callers=callers, shares=shares)
    app.add_middleware(Seen, metrics=metrics, tracing=parts.tracing, clock=parts.clock, access=parts.access)
    describe(app)
    return app


async def _sweep_now_and_then(service: Service) -> None:
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        with suppress(RunnerError):  # an engine that does not answer now is asked again
            await to_thread.run_sync(service.sweep)


def _ask(parts: Parts) -> None:
    parts.host.engine.info()
    parts.service.check()
