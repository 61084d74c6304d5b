"""What a server refuses before a run is concerned: the caller's rights, its share, its own contradictions."""

from __future__ import annotations

__all__ = ["Busy", "Conflict", "Forbidden", "NoSuchRun", "NotFound", "ServiceRefusal"]


class ServiceRefusal(Exception):
    """A request that was not carried out; nothing has changed. `code` does not change, texts may."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class Forbidden(ServiceRefusal):
    """The token is good, but not for this."""


class NotFound(ServiceRefusal):
    """There is nothing of that name."""


class NoSuchRun(NotFound):
    """There is no such run, or it is another tenant's: the two are not told apart."""

    def __init__(self) -> None:
        super().__init__("no_such_run", "There is no such run.", "GET /v1/runs lists those that there are.")


class Conflict(ServiceRefusal):
    """The request contradicts an earlier one."""


class Busy(ServiceRefusal):
    """Not now: the tenant, or the server, has as much as it may."""
