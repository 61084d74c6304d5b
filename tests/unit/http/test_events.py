"""Streams: a reader that is slow or gone holds up no command, and is told what it missed."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from anyio import CapacityLimiter, to_thread

from runner.doors.http.events import audit_events, call_events
from runner.serving.refusals import NoSuchRun

ANSWER = {"ok": True}


def unheeded(_work: object) -> None:
    """Whoever keeps a place until the work is done."""


def _kinds(told: list[str]) -> list[tuple[str, Any]]:
    lines = [dict(line.split(": ", 1) for line in one.strip().splitlines()) for one in told]
    return [(one["event"], json.loads(one["data"])) for one in lines]


def test_a_slow_reader_holds_up_no_command_and_is_told_how_much_it_missed() -> None:
    go_on, done = threading.Event(), threading.Event()

    def act(see: Any) -> dict[str, Any]:
        see("stdout", b"first")
        assert go_on.wait(60)
        for _ in range(1000):
            see("stdout", b"xy")
        done.set()
        return ANSWER

    async def read() -> list[str]:
        stream = call_events(act, CapacityLimiter(1), unheeded)
        told = [await anext(stream)]
        go_on.set()
        await to_thread.run_sync(done.wait)  # the command ends although nobody reads
        return told + [one async for one in stream]

    kinds = _kinds(asyncio.run(read()))
    seen = sum(len(base64.b64decode(one["data"])) for kind, one in kinds if kind == "output")
    missed = [one["bytes"] for kind, one in kinds if kind == "skipped"]
    assert kinds[-1] == ("answer", ANSWER)
    assert missed and seen + missed[0] == len(b"first") + 2000
    assert seen < 1000


def test_a_reader_that_goes_away_leaves_the_command_to_its_end() -> None:
    go_on, done = threading.Event(), threading.Event()

    def act(see: Any) -> dict[str, Any]:
        see("stdout", b"first")
        assert go_on.wait(60)
        see("stdout", b"second")
        done.set()
        return ANSWER

    async def leave() -> None:
        stream = call_events(act, CapacityLimiter(1), unheeded)
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
        go_on.set()
        await to_thread.run_sync(done.wait)

    asyncio.run(leave())
    assert done.is_set()


def test_a_refusal_while_a_stream_is_open_is_its_last_event() -> None:
    def act(_see: Any) -> dict[str, Any]:
        raise NoSuchRun

    async def read() -> list[str]:
        return [one async for one in call_events(act, CapacityLimiter(1), unheeded)]

    (only,) = _kinds(asyncio.run(read()))
    assert (only[0], only[1]["code"]) == ("problem", "no_such_run")


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_a_log_is_followed_by_whole_lines_while_it_is_written(tmp_path: Path, after: int) -> None:
    log = tmp_path / "audit.jsonl"
    steps = iter([b"", b'{"a":1}\n{"b"', b":2}\n", b""])  # what is written before each look; there is no file at first

    def alive() -> bool:
        step = next(steps, None)
        if step:
            with log.open("ab") as file:
                file.write(step)
        return step is not None

    async def read() -> list[str]:
        return [one async for one in audit_events(log, after, alive)]

    expected = ['id: 1\nevent: audit\ndata: {"a":1}\n\n', 'id: 2\nevent: audit\ndata: {"b":2}\n\n']
    assert asyncio.run(read()) == [*expected[after:], "event: end\ndata: {}\n\n"]
