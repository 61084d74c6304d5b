"""Limits of transport, so that a slow or huge client harms nobody else.

A body is counted as it comes, whatever its length header says, and has to be there in time; `Admission` has let its
sender in before. Requests of a tenant are counted by the minute and side by side; a tenant's flood leaves the others'
share alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.doors.http.problems import problem
from runner.serving.refusals import Busy

__all__ = ["BodyLimits", "Shares", "Taken", "TransportLimits"]

_CALL = "/tools/"
_FIXED = "No request of this kind is as large; only the bound of calls can be changed (--max-body-mib)."


@dataclass(frozen=True, slots=True)
class TransportLimits:
    """Bounds of the HTTP door."""

    body_bytes: int = 8 * 1024 * 1024  # of a call; a larger file is written by a command
    form_body_bytes: int = 64 * 1024  # of any other request: a run's has 8,000 characters, each six bytes if escaped
    open_body_bytes: int = 16 * 1024  # of a request that needs no token: the form to sign in with
    body_seconds: float = 30.0
    ready_seconds: float = 5.0  # for engine and database to say that they are there
    requests_per_minute: int = 1200  # of a tenant: an agent makes some calls a second
    requests_at_once: int = 32  # of a tenant, those that wait for a run included


class BodyLimits:
    """ASGI middleware: the body is complete, in time and within its bound, before the application sees the request."""

    def __init__(self, app: ASGIApp, limits: TransportLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        body = bytearray()
        most = self._most(scope)
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                complete = await _read(receive, body, most)
        except TimeoutError:
            answer = problem(
                408,
                "body_too_slow",
                f"The body was not there within {self._limits.body_seconds:.0f} s.",
                "Send it again.",
            )
            await answer(scope, receive, send)
            return
        if complete is None:
            return  # the client went away
        if not complete:
            governed = most == self._limits.body_bytes
            hint = "Write large files with a command, or raise --max-body-mib." if governed else _FIXED
            await problem(413, "body_too_large", f"The body is larger than {most} bytes.", hint)(scope, receive, send)
            return
        await self._app(scope, _replay(bytes(body), receive), send)

    def _most(self, scope: Scope) -> int:
        # Who is not known yet must not fill the server's memory; nor is a form of ours checked at the length of a file:
        # each of a million fields that it does not know costs the one thread that all requests share.
        if "token" not in scope.get("state", {}):
            return self._limits.open_body_bytes
        return self._limits.body_bytes if _CALL in scope["path"] else self._limits.form_body_bytes


async def _read(receive: Receive, body: bytearray, most: int) -> bool | None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > most:
            return False
        if not message.get("more_body", False):
            return True


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


@dataclass(slots=True)
class _Share:
    at_once: int = 0
    allowance: float = 0.0
    seen: float = 0.0
    fresh: bool = field(default=True)


class Taken:
    """One request's place in its tenant's share: given back with the end of the block that it is entered for."""

    def __init__(self, share: _Share) -> None:
        self._share = share
        self._work: asyncio.Future[Any] | None = None

    def until(self, work: asyncio.Future[Any]) -> None:
        """Kept until that is done, also past the block: whoever hangs up does not free the thread that works on."""
        self._work = work

    def __enter__(self) -> None:
        """The block begins."""

    def __exit__(self, *_: object) -> None:
        if self._work is None or self._work.done():
            self._give_back()
        else:
            self._work.add_done_callback(self._give_back)

    def _give_back(self, _done: object = None) -> None:
        self._share.at_once -= 1


class Shares:
    """What each tenant has of the server. For one event loop: nothing in it waits. There are as many as have tokens."""

    def __init__(self, limits: TransportLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._of: dict[str, _Share] = {}

    def take(self, tenant: str) -> Taken:
        """One more request of the tenant is being answered.

        Raises:
            Busy: it has had its share.
        """
        share = self._of.setdefault(tenant, _Share())
        self._refill(share)
        if share.allowance < 1:
            hint = f"{self._limits.requests_per_minute} a minute are allowed; wait some seconds."
            raise Busy("too_many_requests", "The tenant sends too many requests.", hint)
        if share.at_once >= self._limits.requests_at_once:
            hint = f"{self._limits.requests_at_once} are answered at once; wait for one of them."
            raise Busy("too_many_requests", "The tenant has too many requests in flight.", hint)
        share.allowance -= 1
        share.at_once += 1
        return Taken(share)

    def _refill(self, share: _Share) -> None:
        now, most = self._clock(), float(self._limits.requests_per_minute)
        gained = most if share.fresh else (now - share.seen) * most / 60
        share.allowance, share.seen, share.fresh = min(most, share.allowance + gained), now, False
