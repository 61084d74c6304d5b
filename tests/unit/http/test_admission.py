"""Limits of transport: bodies, rates, requests at once, runs of a tenant. A flood of one leaves the others alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from runner.doors.http.limits import BodyLimits, Shares, TransportLimits
from runner.serving.refusals import Busy
from tests.support.clocks import ManualClock
from tests.support.http_bench import HttpBench

SMALL = TransportLimits(body_bytes=1000, open_body_bytes=10)


async def pieces(*sizes: int) -> AsyncIterator[bytes]:
    for size in sizes:
        yield b"x" * size


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_whether_or_not_it_tells_its_length(tmp_path: Path, chunked: bool) -> None:
    with HttpBench(tmp_path, limits=SMALL) as http:
        a = http.tenant("a")
        run = a.open()
        answer = a.call(run, content=pieces(600, 401) if chunked else b"x" * 1001)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert a.call(run, content=pieces(600, 400) if chunked else b"x" * 1000).status_code == 200
        assert a.call(run).json()["seq"] == 2


def test_nothing_is_read_of_the_body_of_somebody_without_a_token(tmp_path: Path) -> None:
    read: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(1)
        yield b"x"

    with HttpBench(tmp_path) as http:
        assert http.client.request("POST", "/v1/runs", content=body()).status_code == 401
        assert read == []


def test_a_form_that_needs_no_token_is_small(tmp_path: Path) -> None:
    with HttpBench(tmp_path, limits=SMALL) as http:
        assert http.client.request("POST", "/sign-in", content=b"x" * 11).json()["code"] == "body_too_large"


def _driven(limits: TransportLimits, *messages: Message | None) -> list[Message]:
    """What a client is sent whose body comes as these messages; None is one that never comes."""
    sent: list[Message] = []
    left = list(messages)

    async def receive() -> Message:
        message = left.pop(0)
        if message is None:
            await asyncio.Event().wait()
        assert message is not None
        return message

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(_scope: Scope, again: Receive, answer: Send) -> None:
        whole = await again()
        await answer({"type": "seen", "body": whole["body"]})

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": [], "state": {"token": 1}}
    asyncio.run(BodyLimits(app, limits)(scope, receive, send))
    return sent


def test_a_body_that_does_not_come_in_time_is_refused() -> None:
    first = {"type": "http.request", "body": b"a", "more_body": True}
    assert _driven(TransportLimits(body_seconds=0.001), first, None)[0]["status"] == 408


def test_a_body_is_handed_on_whole_and_a_client_that_went_away_is_not_answered() -> None:
    first = {"type": "http.request", "body": b"a", "more_body": True}
    assert _driven(TransportLimits(), first, {"type": "http.request", "body": b"b"}) == [
        {"type": "seen", "body": b"ab"}
    ]
    assert _driven(TransportLimits(), first, {"type": "http.disconnect"}) == []


def test_a_tenant_that_sends_too_much_waits_and_the_others_do_not(tmp_path: Path) -> None:
    with HttpBench(tmp_path, limits=TransportLimits(requests_per_minute=2)) as http:
        a, b = http.tenant("a"), http.tenant("b")
        assert [a.get("/v1/runs").status_code for _ in range(3)] == [200, 200, 429]
        refused = http.tenant("a").get("/v1/runs")  # another token of the tenant has no share of its own
        assert (refused.json()["code"], refused.headers["retry-after"]) == ("too_many_requests", "5")
        assert b.get("/v1/runs").status_code == 200
        http.clock.advance(30)
        assert [a.get("/v1/runs").status_code for _ in range(2)] == [200, 429]


def test_a_share_is_given_back_with_the_end_of_the_answer_and_however_it_ended() -> None:
    shares = Shares(TransportLimits(requests_at_once=1), ManualClock())
    with pytest.raises(ZeroDivisionError), shares.take("a"):
        with pytest.raises(Busy) as busy:
            shares.take("a")
        assert busy.value.code == "too_many_requests"
        shares.take("b")
        raise ZeroDivisionError
    with shares.take("a"):
        pass


def test_a_tenant_has_no_more_runs_than_it_may_until_one_has_ended(tmp_path: Path) -> None:
    with HttpBench(tmp_path, runs_per_tenant=1) as http:
        a = http.tenant("a")
        run = a.open()
        refused = a.ask()
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_runs")
        assert http.tenant("b").ask().json()["state"] == "open"
        a.end(run)
        assert a.ask().json()["state"] == "open"


def test_twenty_who_want_runs_at_once_get_as_many_as_they_may(tmp_path: Path) -> None:
    with HttpBench(tmp_path, runs_per_tenant=2) as http:
        a, told = http.tenant("a"), []
        asking = [threading.Thread(target=lambda: told.append(a.ask().status_code)) for _ in range(20)]
        for one in asking:
            one.start()
        for one in asking:
            one.join()
        assert sorted(told) == [202] * 2 + [429] * 18
