"""What is settled of a request before anything of it is read: who sends it, and whether the tenant has a share left."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.doors.http.callers import Callers
from runner.doors.http.limits import Shares
from runner.doors.http.metrics import Metrics
from runner.doors.http.problems import Unauthorized, problem, problem_of
from runner.doors.http.tracing import Tracing
from runner.model.errors import RunnerError
from runner.serving.refusals import ServiceRefusal

__all__ = ["OPENAPI_URL", "Admission", "Seen"]

OPENAPI_URL = "/v1/openapi.json"
_API = "/v1/"


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
    """ASGI middleware: each request is counted by its status, and is a span by its route."""

    def __init__(self, app: ASGIApp, metrics: Metrics, tracing: Tracing) -> None:
        self._app, self._metrics, self._tracing = app, metrics, tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.answered(message["status"])
            await send(message)

        with self._tracing.request(scope):
            await self._app(scope, receive, counted)
