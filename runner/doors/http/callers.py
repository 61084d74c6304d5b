"""Who is asking: a bearer token, or the cookie that the pages' login sets, and whether it may do this."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Request

from runner.doors.http.problems import Unauthorized
from runner.serving.refusals import Forbidden
from runner.store.tokens import Token, TokenStore, Verb

__all__ = ["COOKIE", "Callers"]

COOKIE = "runner_token"
"""Set for the pages only: HttpOnly, SameSite=Strict. The API never takes it, so no other site can use it there."""

_HINT = "Send `Authorization: Bearer TOKEN`; `runner token create` makes one."


class Callers:
    """Looks tokens up. `unix` is the clock that they expire by."""

    def __init__(self, tokens: TokenStore, unix: Callable[[], float]) -> None:
        self._tokens = tokens
        self._unix = unix

    def of_request(self, request: Request, verb: Verb) -> Token:
        """The token of an API request.

        Raises:
            Unauthorized: there is none, or it is wrong, expired or revoked.
            Forbidden: it was not made for this.
        """
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Unauthorized("token_missing", "The request has no token.", _HINT)
        return self.of_text(text.strip(), verb)

    def of_text(self, text: str, verb: Verb) -> Token:
        """The token that the text is. Raises as `of_request`."""
        token = self._tokens.known(text)
        if token is None:
            raise Unauthorized("token_wrong", "The token is not known here.", _HINT)
        state = token.state(self._unix())
        if state != "valid":
            raise Unauthorized(f"token_{state}", f"The token is {state}.", "Ask whoever runs the server for a new one.")
        if not token.may(verb):
            hint = f"It is for: {', '.join(sorted(token.verbs))}."
            raise Forbidden("verb_not_allowed", f"The token is not for {verb}.", hint)
        return token
