"""The application: `/v1`, health, metrics and, where they are given, the web pages, over one service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import PlainTextResponse

from runner.controller.host import Host
from runner.doors.http.admission import OPENAPI_URL, Admission, Seen
from runner.doors.http.api import api
from runner.doors.http.callers import Callers, require_verb
from runner.doors.http.described import BEARER, describe, errors
from runner.doors.http.forms import HealthForm
from runner.doors.http.limits import BodyLimits, Shares, TransportLimits
from runner.doors.http.metrics import CONTENT_TYPE, Metrics
from runner.doors.http.problems import handle_errors, problem
from runner.doors.http.tracing import Tracing
from runner.model.errors import RunnerError
from runner.model.version import VERSION
from runner.serving.service import Service
from runner.store.tokens import TokenStore, Verb

__all__ = ["Parts", "make_app"]

_SWEEP_SECONDS = 60.0  # what a crashed run left ends itself after half a minute, and is removed with the next sweep
_ABOUT = "Runs of untrusted repositories in fresh, hardened containers, under a policy. Errors are problem+json."


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is put together from. `pages` are for people; `clock` is monotonic."""

    host: Host
    service: Service
    tokens: TokenStore
    clock: Callable[[], float]
    limits: TransportLimits = field(default_factory=TransportLimits)
    pages: Callable[[Callers, Shares], APIRouter] | None = None
    tracing: Tracing = field(default_factory=Tracing)


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
    metrics = Metrics(parts.service.live_count)
    callers, shares = Callers(parts.tokens, parts.host.unix), Shares(parts.limits, parts.clock)
    handle_errors(app)
    app.include_router(_health(parts, callers, metrics))
    app.include_router(api(parts.service, metrics, parts.host.state))
    if parts.pages is not None:
        app.include_router(parts.pages(callers, shares))
    app.add_middleware(BodyLimits, limits=parts.limits)  # the last that is added sees a request first
    app.add_middleware(Admission, callers=callers, shares=shares)
    app.add_middleware(Seen, metrics=metrics, tracing=parts.tracing)
    describe(app)
    return app


async def _sweep_now_and_then(service: Service) -> None:
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        with suppress(RunnerError):  # an engine that does not answer now is asked again
            await to_thread.run_sync(service.sweep)


def _health(parts: Parts, callers: Callers, metrics: Metrics) -> APIRouter:
    router = APIRouter()

    @router.get("/healthz", response_model=HealthForm, summary="Whether the process answers")
    def healthz() -> HealthForm:
        return HealthForm(status="ok")

    @router.get(
        "/readyz", response_model=HealthForm, summary="Whether engine and database answer", responses=errors(503)
    )
    def readyz() -> Response | HealthForm:
        try:
            parts.host.engine.info()
            parts.service.check()
        except RunnerError as error:
            # Which of the two is enough for whoever may not know more: the request has no token.
            return problem(503, error.code, "The server cannot open runs.", "`runner doctor` on its host says more.")
        return HealthForm(status="ok")

    def monitor(request: Request) -> None:
        require_verb(callers.of_headers(request.headers), Verb.METRICS)

    @router.get(
        "/metrics",
        summary="Prometheus' metrics",
        dependencies=[Depends(monitor), BEARER],
        response_class=PlainTextResponse,
        responses=errors(401, 403, 503),
    )
    def exposed() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return router
