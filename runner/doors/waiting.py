"""Blocking calls from an event loop, such that a cancelled task never leaves its work behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import TypeVar

__all__ = ["cut_with_its_task", "whole"]

Value = TypeVar("Value")


async def cut_with_its_task(act: Callable[[], Value], cut: Callable[[], object], thread: Executor | None) -> Value:
    """What `act` comes to, in a thread. When the task is cancelled, `cut` ends the work, and then the task goes on."""
    work = asyncio.get_running_loop().run_in_executor(thread, act)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await whole(asyncio.ensure_future(asyncio.to_thread(cut)))
        await whole(work)
        raise


async def whole(work: asyncio.Future[Value]) -> Value:
    """What the work comes to, however often the task that waits for it is cancelled meanwhile."""
    while not work.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(work)
    return work.result()
