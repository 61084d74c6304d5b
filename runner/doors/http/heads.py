"""Connections that send no request: they are closed in time, so that they do not take the places of those that do."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["PromptHeads"]


class PromptHeads(H11Protocol):
    """uvicorn's protocol, and a whole request head is there in time; else the connection is closed.

    Timed are the first head from the beginning of the connection and each further one from its first byte: without a
    byte uvicorn's own, shorter time for connections that are kept applies.
    """

    head_seconds: ClassVar[float] = 10.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """The time of the first head begins."""
        super().connection_made(transport)
        self._begin()

    def data_received(self, data: bytes) -> None:
        """The time goes on while the head is not whole, and ends with the head."""
        self._begin()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The time ends."""
        self._end()
        super().connection_lost(exc)

    def _begin(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(self.head_seconds, self.timeout_keep_alive_handler)

    def _end(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
