"""Limits of transport: bodies, rates, requests at once, runs of a tenant. A flood of one leaves the others alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from starlette.types import Message, Receive, Scope, Send

from runner.doors.http.limits import BodyLimits, Shares, TransportLimits
from runner.engine.fake import FakeCall, FakeOutcome
from runner.serving.refusals import Busy
from tests.support.clocks import ManualClock
from tests.support.http_bench import HttpBench, Tenant
from tests.support.waiting import wait_until

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


def test_a_form_of_the_api_is_small_however_large_a_call_may_be(tmp_path: Path) -> None:
    """A million fields that a form does not know once kept the server's one loop busy for seconds."""
    with HttpBench(tmp_path) as http:
        a = http.tenant("a")
        fields = {f"k{number}": 1 for number in range(100_000)}
        answer = a.post("/v1/runs", json=fields)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        longest = {"repo": "é" * 2000, "ref": "é" * 500, "policy": "é" * 500, "tools": ["é" * 100] * 50}
        assert a.post("/v1/runs", json=longest).json()["code"] == "policy_not_allowed"


def test_a_bound_that_no_option_changes_does_not_name_the_option_as_the_mend(tmp_path: Path) -> None:
    with HttpBench(tmp_path, limits=SMALL) as http:
        a = http.tenant("a")
        assert "raise --max-body-mib" in a.call(a.open(), content=b"x" * 1001).json()["hint"]
        for path in ("/login", "/logout"):
            assert "raise" not in http.client.request("POST", path, content=b"x" * 11).json()["hint"]


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


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_a_call_whose_client_hung_up_keeps_its_share_until_its_work_is_done(tmp_path: Path, accept: str) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def node(_call: FakeCall) -> FakeOutcome:
        begun.set()
        assert go_on.wait(60)
        return FakeOutcome()

    with HttpBench(tmp_path, limits=TransportLimits(requests_at_once=1)) as http:
        http.program("node", node)
        a, b = http.tenant("a"), http.tenant("b")
        calling = http.portal.start_task_soon(_hung_up, http, a, a.open(), accept, begun)
        try:
            assert begun.wait(60)
            if accept == "text/event-stream":
                calling.result(60)  # nobody is answered any more
            refused = a.get("/v1/runs")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
            assert b.get("/v1/runs").status_code == 200
        finally:
            go_on.set()
        calling.result(60)
        wait_until(lambda: a.get("/v1/runs").status_code == 200)


async def _hung_up(http: HttpBench, tenant: Tenant, run: str, accept: str, begun: threading.Event) -> None:
    """A call whose client is gone as soon as its program has begun."""
    body = [{"type": "http.request", "body": b'{"argv": ["node", "src/app.mjs"]}'}]

    async def receive() -> Message:
        if body:
            return body.pop()
        await to_thread.run_sync(begun.wait)
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        """Into the void."""

    headers = [(b"authorization", f"Bearer {tenant.text}".encode()), (b"accept", accept.encode())]
    path = f"/v1/runs/{run}/tools/workspace.run_command"
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "method": "POST", "path": path,
        "query_string": b"", "headers": headers,
    }  # fmt: skip
    await http.app(scope, receive, send)


def test_a_body_with_two_lengths_is_refused_before_anything_else_and_its_connection_closed(tmp_path: Path) -> None:
    both = {"Transfer-Encoding": "chunked", "Content-Length": "5"}
    with HttpBench(tmp_path) as http:
        for path in ("/v1/runs", "/login", "/healthz"):
            refused = http.client.request("POST", path, headers=both, content=b"0\r\n\r\n")
            assert (refused.status_code, refused.json()["code"]) == (400, "ambiguous_length")
            assert refused.headers["connection"] == "close"


def test_threads_that_others_use_up_keep_nobody_from_being_known(tmp_path: Path) -> None:
    with HttpBench(tmp_path) as http:
        a = http.tenant("a")
        with http.portal.wrap_async_context_manager(_no_threads()):
            answers = [a.get("/v1/runs"), *(http.client.request("GET", path) for path in ("/healthz", "/readyz"))]
            assert [answer.status_code for answer in answers] == [200] * 3


@asynccontextmanager
async def _no_threads() -> AsyncIterator[None]:
    threads = to_thread.current_default_thread_limiter()
    users = [object() for _ in range(int(threads.available_tokens))]
    for user in users:
        threads.acquire_on_behalf_of_nowait(user)
    try:
        yield
    finally:
        for user in users:
            threads.release_on_behalf_of(user)


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
