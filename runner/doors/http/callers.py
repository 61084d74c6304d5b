"""Who is asking: a bearer token, or the cookie that the pages' login sets, and whether it may do this."""

from __future__ import annotations

from collections.abc import Callable

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers

from runner.doors.http.problems import Unauthorized
from runner.serving.refusals import Forbidden
from runner.store.tokens import Token, TokenStore, Verb

__all__ = ["COOKIE", "Callers", "require_verb"]

COOKIE = "runner_token"
"""Set for the pages only: HttpOnly, SameSite=Strict. The API never takes it, so no other site can use it there."""

_LOOKUPS_AT_ONCE = 8
"""Threads for look-ups alone: whatever else takes its time, and whoever waits for that, is in nobody's way here."""

_HINT = "Send `Authorization: Bearer TOKEN`; `runner token create` makes one."


class Callers:
    """Looks tokens up. `unix` is the clock that they expire by."""

    def __init__(self, tokens: TokenStore, unix: Callable[[], float]) -> None:
        self._tokens = tokens
        self._unix = unix
        self._lookups = CapacityLimiter(_LOOKUPS_AT_ONCE)

    async def of_headers(self, headers: Headers) -> Token:
        """The token of a request.

        Raises:
            Unauthorized: there is none, or it is wrong, expired or revoked.
        """
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Unauthorized("token_missing", "The request has no token.", _HINT)
        return await self.of_text(text.strip())

    async def of_text(self, text: str) -> Token:
        """The token that the text is. Raises as `of_headers`."""
        token = await to_thread.run_sync(self._tokens.known, text, limiter=self._lookups)
        if token is None:
            raise Unauthorized("token_wrong", "The token is not known here.", _HINT)
        state = token.state(self._unix())
        if state != "valid":
            raise Unauthorized(f"token_{state}", f"The token is {state}.", "Ask whoever runs the server for a new one.")
        return token


def require_verb(token: Token, verb: Verb) -> Token:
    """The token, which was made for that. Raises Forbidden."""
    if not token.may(verb):
        hint = f"It is for: {', '.join(sorted(token.verbs))}."
        raise Forbidden("verb_not_allowed", f"The token is not for {verb}.", hint)
    return token
