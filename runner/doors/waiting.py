"""Blocking calls from an event loop, such that a cancelled task never leaves its work behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

__all__ = ["cut_with_its_task", "settled", "whole"]

Value = TypeVar("Value")
_CUT_AGAIN_SECONDS = 0.05  # the work may not have come so far yet that it could be cut


async def cut_with_its_task(act: Callable[[], Value], cut: Callable[[], object], thread: Executor | None) -> Value:
    """What `act` comes to, in a thread. When the task is cancelled, `cut` ends the work, and then the task goes on."""
    work = asyncio.get_running_loop().run_in_executor(thread, act)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await settled(asyncio.ensure_future(_cut_off(work, cut)))
        await settled(work)
        raise


async def _cut_off(work: asyncio.Future[Value], cut: Callable[[], object]) -> None:
    while not work.done():
        await asyncio.to_thread(cut)
        await asyncio.wait({work}, timeout=_CUT_AGAIN_SECONDS)


async def whole(work: asyncio.Future[Value]) -> Value:
    """What the work comes to. A task that is cancelled meanwhile waits for it all the same, and is cancelled then."""
    if await settled(work):
        raise asyncio.CancelledError
    return work.result()


async def settled(work: asyncio.Future[Value]) -> bool:
    """Whether the task was cancelled while it waited for the work, which is done, whatever came of it."""
    cancelled = False
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            cancelled = True
    if not work.cancelled():
        work.exception()  # looked at, so that nobody is told of one that nobody waits for any more
    return cancelled
