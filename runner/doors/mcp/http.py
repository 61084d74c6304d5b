"""MCP over streamable HTTP: each session has its run, each request a token, and a session is its own tenant's alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from runner.doors.http.callers import Callers, require_verb
from runner.doors.http.problems import Unauthorized, problem
from runner.serving.refusals import ServiceRefusal
from runner.store.tokens import Token, Verb

__all__ = ["PATH", "Admit", "mcp_app"]

PATH = "/mcp"
_SESSION = "mcp-session-id"

Admit = Callable[[Token], None]


def mcp_app(
    server: Server[Any, Any], callers: Callers, admit: Admit, hosts: list[str], *, idle_seconds: float, most: int
) -> Starlette:
    """The application.

    `admit` refuses tokens that are not for the run's policy and repository. `hosts` are the names that the server is
    reached by: a page in a browser must not reach it by another one. A session that is idle for so long has ended.
    """
    manager = StreamableHTTPSessionManager(
        server,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=hosts),
        session_idle_timeout=idle_seconds,
        max_sessions=most,
    )

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Mount(PATH, app=_Door(manager, callers, admit))], lifespan=life)


class _Door:
    """Looks at the token first, then at whose session it is."""

    def __init__(self, manager: StreamableHTTPSessionManager, callers: Callers, admit: Admit) -> None:
        self._manager = manager
        self._callers = callers
        self._admit = admit
        self._tenants: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        request = Request(scope)
        try:
            token = await to_thread.run_sync(self._callers.of_headers, request.headers)
            self._admit(require_verb(token, Verb.RUN))
        except Unauthorized as error:
            headers = {"WWW-Authenticate": 'Bearer realm="runner"'}
            await problem(401, error.code, error.message, error.hint, headers)(scope, receive, send)
            return
        except ServiceRefusal as error:
            await problem(403, error.code, error.message, error.hint)(scope, receive, send)
            return
        asked = request.headers.get(_SESSION)
        if asked is not None and self._tenants.get(asked) != token.tenant:
            hint = "Begin a new session with `initialize`."
            await problem(404, "no_such_session", "There is no such session.", hint)(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, self._noting(token, send))

    def _noting(self, token: Token, send: Send) -> Send:
        """Remembers whose a session is when the answer names it for the first time."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in message["headers"]:
                    if name.lower() == _SESSION.encode():
                        self._tenants.setdefault(value.decode("ascii"), token.tenant)
            await send(message)

        return noting
