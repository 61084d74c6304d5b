"""Server-sent events: a command's output while it runs, and a run's log while it is written."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread

from runner.model.errors import RunnerError
from runner.serving.refusals import ServiceRefusal

__all__ = ["audit_events", "call_events"]

_LOOK_SECONDS = 0.2  # the log is looked at this often: a person reads along
_KEEP_ALIVE_LOOKS = 75  # a comment every 15 s, so that proxies on the way keep the connection
_MAX_WAITING = 256
"""Pieces of output that wait for a slow reader. More are left out of the stream; the answer has what the policy's cap
leaves of them, so nothing is lost and no command waits for a reader."""


def _event(name: str, data: str, identity: int | None = None) -> str:
    head = "" if identity is None else f"id: {identity}\n"
    return f"{head}event: {name}\ndata: {data}\n\n"


async def call_events(
    act: Callable[..., dict[str, Any]], calls: CapacityLimiter, begun: Callable[[asyncio.Future[Any]], None]
) -> AsyncIterator[str]:
    """`output` events in base64, since output is bytes and untrusted; `skipped`, `answer` or `problem` at the end.

    `begun` is told the work, which goes on when nobody reads any more.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[str, bytes] | None] = asyncio.Queue()
    skipped = 0

    def put(piece: tuple[str, bytes]) -> None:
        nonlocal skipped
        if waiting.qsize() < _MAX_WAITING:
            waiting.put_nowait(piece)
        else:
            skipped += len(piece[1])

    def see(stream: str, data: bytes) -> None:
        loop.call_soon_threadsafe(put, (stream, data))

    task = asyncio.ensure_future(to_thread.run_sync(lambda: act(see), limiter=calls))
    begun(task)
    task.add_done_callback(lambda _done: waiting.put_nowait(None))
    while (piece := await waiting.get()) is not None:
        stream, data = piece
        yield _event("output", json.dumps({"stream": stream, "data": base64.b64encode(data).decode("ascii")}))
    if skipped:
        yield _event("skipped", json.dumps({"bytes": skipped}))
    yield _last(task)


def _last(task: asyncio.Future[dict[str, Any]]) -> str:
    error = task.exception()
    if error is None:
        return _event("answer", json.dumps(task.result()))
    if isinstance(error, RunnerError | ServiceRefusal):
        return _event("problem", json.dumps({"code": error.code, "detail": error.message, "hint": error.hint}))
    raise error


async def audit_events(path: Path, after: int, alive: Callable[[], bool]) -> AsyncIterator[str]:
    """One event for each whole line after line `after`, numbered from 1; a comment now and then while nothing comes."""
    number, position, quiet = 0, 0, 0
    while True:
        going = alive()  # asked before the look: what was written before its end is then seen
        lines, position = await to_thread.run_sync(_new_lines, path, position)
        for line in lines:
            number += 1
            if number > after:
                yield _event("audit", line, number)
        if not lines and not going:
            yield _event("end", "{}")
            return
        quiet = 0 if lines else quiet + 1
        if quiet % _KEEP_ALIVE_LOOKS == _KEEP_ALIVE_LOOKS - 1:
            yield ": still here\n\n"
        if not lines:
            await asyncio.sleep(_LOOK_SECONDS)


def _new_lines(path: Path, position: int) -> tuple[list[str], int]:
    try:
        with path.open("rb") as file:
            file.seek(position)
            data = file.read(1024 * 1024)
    except FileNotFoundError:
        return [], position
    whole = data[: data.rfind(b"\n") + 1]
    return [line.decode("ascii", "replace") for line in whole.splitlines()], position + len(whole)
