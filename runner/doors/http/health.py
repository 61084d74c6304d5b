"""What a monitor asks: whether the process answers, whether runs can be opened, and the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse

from runner.doors.http.callers import Callers, require_verb
from runner.doors.http.described import BEARER, errors
from runner.doors.http.forms import HealthForm
from runner.doors.http.metrics import CONTENT_TYPE, Metrics
from runner.doors.http.problems import problem
from runner.model.errors import RunnerError
from runner.store.tokens import Verb

__all__ = ["Readiness", "health"]

_KEPT_SECONDS = 1.0  # as often as a monitor may want to know


class Readiness:
    """Whether engine and database answer.

    Whoever asks has no token. So all who ask at once share one question and its one thread, and none waits for it
    longer than `patience_seconds`. The answer is kept for a second of `clock`.
    """

    def __init__(self, ask: Callable[[], None], clock: Callable[[], float], patience_seconds: float) -> None:
        self._ask, self._clock, self._patience = ask, clock, patience_seconds
        self._own = CapacityLimiter(1)
        self._asking: asyncio.Future[str | None] | None = None
        self._asked = 0.0

    async def lacking(self) -> str | None:
        """What keeps runs from being opened, by its code; None for nothing."""
        asking = self._asking
        if asking is None or (asking.done() and self._clock() - self._asked >= _KEPT_SECONDS):
            self._asked = self._clock()
            asking = self._asking = asyncio.ensure_future(to_thread.run_sync(self._told, limiter=self._own))
        done, _ = await asyncio.wait({asking}, timeout=self._patience)
        return asking.result() if done else "not_answered_yet"

    def _told(self) -> str | None:
        try:
            self._ask()
        except RunnerError as error:
            return error.code
        return None


def health(readiness: Readiness, callers: Callers, metrics: Metrics) -> APIRouter:
    """The routes. None of them takes a thread of those that others need."""
    router = APIRouter()

    @router.get("/healthz", response_model=HealthForm, summary="Whether the process answers")
    async def healthz() -> HealthForm:
        return HealthForm(status="ok")

    @router.get(
        "/readyz", response_model=HealthForm, summary="Whether engine and database answer", responses=errors(503)
    )
    async def readyz() -> Response | HealthForm:
        lacking = await readiness.lacking()
        if lacking is not None:
            # Which of the two is enough for whoever may not know more: the request has no token.
            return problem(503, lacking, "The server cannot open runs.", "`runner doctor` on its host says more.")
        return HealthForm(status="ok")

    async def monitor(request: Request) -> None:
        require_verb(await callers.of_headers(request.headers), Verb.METRICS)

    @router.get(
        "/metrics",
        summary="Prometheus' metrics",
        dependencies=[Depends(monitor), BEARER],
        response_class=PlainTextResponse,
        responses=errors(401, 403, 503),
    )
    async def exposed() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return router
