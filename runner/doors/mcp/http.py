"""MCP over streamable HTTP: each session has its run, each request a token, and a session is its own tenant's alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from runner.doors.http.callers import Callers, require_verb
from runner.doors.http.listening import Place
from runner.doors.http.problems import Unauthorized, problem
from runner.serving.refusals import ServiceRefusal
from runner.store.tokens import Token, Verb

__all__ = ["PATH", "Admit", "mcp_app", "reached_by"]

PATH = "/mcp"

Admit = Callable[[Token], None]


def reached_by(place: Place, further: Iterable[str] = ()) -> list[str]:
    """What a client's Host header may say; without a port where the protocol's own is meant."""
    own = f"[{place.host}]" if ":" in place.host else place.host
    names = dict.fromkeys((own, "127.0.0.1", "localhost", *further))
    implied = place.port == (443 if place.tls_cert else 80)
    return [f"{name}:{place.port}" for name in names] + (list(names) if implied else [])


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

    return Starlette(routes=[Route(PATH, _Door(manager, callers, admit))], lifespan=life)


class _Door:
    """Looks at the token; whose a session is, the manager knows from the user that it is told."""

    def __init__(self, manager: StreamableHTTPSessionManager, callers: Callers, admit: Admit) -> None:
        self._manager = manager
        self._callers = callers
        self._admit = admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        request = Request(scope)
        try:
            token = await self._callers.of_headers(request.headers)
            self._admit(require_verb(token, Verb.RUN))
        except Unauthorized as error:
            headers = {"WWW-Authenticate": 'Bearer realm="runner"'}
            await problem(401, error.code, error.message, error.hint, headers)(scope, receive, send)
            return
        except ServiceRefusal as error:
            await problem(403, error.code, error.message, error.hint)(scope, receive, send)
            return
        await self._manager.handle_request({**scope, "user": _user(token)}, receive, send)


def _user(token: Token) -> AuthenticatedUser:
    """The tenant: any of its tokens may go on with a session, and to all others there is no such session."""
    return AuthenticatedUser(AccessToken(token="", client_id=token.tenant, scopes=[]))  # it is not asked for again
