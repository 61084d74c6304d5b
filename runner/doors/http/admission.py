"""What is settled of a request before anything of it is read: who sends it, and whether the tenant has a share left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.doors.http.callers import Callers
from runner.doors.http.limits import Shares
from runner.doors.http.metrics import Metrics
from runner.doors.http.problems import Unauthorized, problem, problem_of
from runner.doors.http.tracing import Tracing
from runner.model.errors import RunnerError
from runner.serving.refusals import ServiceRefusal

__all__ = ["OPENAPI_URL", "Access", "Admission", "Seen"]

OPENAPI_URL = "/v1/openapi.json"
_API = "/v1/"
_LOGGED_CHARS = 500

Access = Callable[[Mapping[str, Any]], None]
"""Takes a line of the access log: method, path, status, ms, tenant. Never a query, a header or a body."""


class Admission:
    """ASGI middleware: a request of the API has a good token, which is `request.state.token` from here on.

    The tenant's share is taken until the last byte of the answer, streams included, and longer where the work for it
    goes on (`request.state.share`). A body is not read before that: it may be large, and its sender anybody.
    """

    def __init__(self, app: ASGIApp, callers: Callers, shares: Shares) -> None:
        self._app, self._callers, self._shares = app, callers, shares

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] == "http" and {b"content-length", b"transfer-encoding"} <= dict(scope["headers"]).keys():
            # Whatever is in front of the server may have taken the other one, and then sees another request than it.
            answer = problem(400, "ambiguous_length", "The body has two lengths.", "Send one.", {"Connection": "close"})
            await answer(scope, receive, send)
            return
        if scope["type"] != "http" or not scope["path"].startswith(_API) or scope["path"] == OPENAPI_URL:
            await self._app(scope, receive, send)
            return
        try:
            token = await self._callers.of_headers(Headers(scope=scope))
            share = self._shares.take(token.tenant)
        except (Unauthorized, ServiceRefusal, RunnerError) as error:
            await problem_of(error)(scope, receive, send)
            return
        with share:
            scope.setdefault("state", {}).update(token=token, share=share)
            await self._app(scope, receive, send)


class Seen:
    """ASGI middleware: each request is counted by its status, is a span by its route, and a line for `access`."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, tracing: Tracing, clock: Callable[[], float], access: Access | None
    ) -> None:
        self._app, self._metrics, self._tracing, self._clock, self._access = app, metrics, tracing, clock, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        began, status = self._clock(), 0

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._metrics.answered(status)
            await send(message)

        try:
            with self._tracing.request(scope):
                await self._app(scope, receive, counted)
        finally:
            if self._access is not None:
                self._access(self._told(scope, status, self._clock() - began))

    def _told(self, scope: Scope, status: int, seconds: float) -> dict[str, Any]:
        token = scope.get("state", {}).get("token")
        return {
            "method": scope["method"],
            "path": scope["path"][:_LOGGED_CHARS],
            "status": status,  # 0: the client went away before there was one
            "ms": round(seconds * 1000, 1),
            "tenant": None if token is None else token.tenant,
        }
