"""MCP over streamable HTTP: who is let in, whose a session is, how many there are, and when their runs end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from runner.doors.http.callers import Callers
from runner.doors.http.listening import Place
from runner.doors.mcp.http import mcp_app, reached_by
from runner.doors.mcp.mcp_command import admitting
from runner.store.database import Database, default_url
from runner.store.tokens import Token, TokenStore, Verb
from tests.support.mcp_door import SHORT_SECONDS, McpHolding, act

URL = "http://127.0.0.1:8766/mcp"
POLICY = "p0.yml"
READ = {"path": "README.md"}
LONG_SECONDS = 3600.0
ASKING: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}

HEADERS = {"Accept": "application/json, text/event-stream"}


@dataclass
class House:
    """A server's parts over runs in memory. `now` is the tokens' clock."""

    holding: McpHolding
    database: Database
    now: float = 0.0
    tokens: TokenStore = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = TokenStore(self.database, lambda: self.now)

    def token(self, tenant: str = "a", **keys: Any) -> str:
        here = {"policies": [POLICY], "repositories": [f"file://{self.holding.bench.repository}"], "verbs": list(Verb)}
        return self.tokens.create(tenant, **{"seconds": 600, **here, **keys})[1]

    @asynccontextmanager
    async def served(self, *, most: int = 2, idle_seconds: float = LONG_SECONDS) -> AsyncIterator[Clients]:
        admit = admitting(self.holding.request(), POLICY)
        callers = Callers(self.tokens, lambda: self.now)
        names = reached_by(Place(port=8766))
        server = self.holding.server(at_once=most)
        app = mcp_app(server, callers, admit, names, idle_seconds=idle_seconds, most=most)
        async with app.router.lifespan_context(app):
            yield Clients(httpx.ASGITransport(app))


@dataclass
class Clients:
    transport: httpx.ASGITransport

    def plain(self, token: str | None, **headers: str) -> httpx.AsyncClient:
        shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.AsyncClient(transport=self.transport, headers={**HEADERS, **shown, **headers}, timeout=60)

    async def ask(self, token: str | None, body: object = ASKING, **headers: str) -> httpx.Response:
        async with self.plain(token, **headers) as client:
            return await client.post(URL, json=body)

    @asynccontextmanager
    async def session(self, token: str) -> AsyncIterator[ClientSession]:
        async with (
            self.plain(token) as client,
            streamable_http_client(URL, http_client=client) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    holding, database = McpHolding(tmp_path), Database(default_url(tmp_path))
    yield House(holding, database)
    holding.end_all()
    database.close()


async def begun(clients: Clients, token: str) -> str:
    """The id of a session that is there, and whose run is open."""
    answer = await clients.ask(token)
    assert answer.status_code == 200
    name = answer.headers["mcp-session-id"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await clients.ask(token, ready, **{"Mcp-Session-Id": name})).status_code == 202
    assert (await read(clients, token, name)).status_code == 200
    return name


async def read(clients: Clients, token: str, name: str) -> httpx.Response:
    call = {"name": "workspace_read_file", "arguments": READ}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    return await clients.ask(token, body, **{"Mcp-Session-Id": name})


async def ended(house: House, count: int) -> None:
    while [run.ended for run in house.holding.runs] != [True] * count:
        await anyio.sleep(SHORT_SECONDS)
    assert house.holding.bench.engine.objects() == []


def test_the_sdks_client_lists_and_calls_and_its_run_ends_with_it(house: House) -> None:
    async def story() -> None:
        async with house.served() as clients:
            async with clients.session(house.token()) as session:
                assert (await session.list_tools()).tools
                answer = await session.call_tool("workspace_read_file", READ)
                assert not answer.isError
                refused = await session.call_tool("workspace_write_file", {**READ, "content": "x"})
                assert refused.structuredContent is not None
                assert refused.structuredContent["code"] == "workspace_write_not_allowed"
            await ended(house, 1)

    act(story)


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("missing", 401, "token_missing"),
        ("wrong", 401, "token_wrong"),
        ("expired", 401, "token_expired"),
        ("other repository", 403, "repository_not_allowed"),
        ("other policy", 403, "policy_not_allowed"),
        ("only looks", 403, "verb_not_allowed"),
    ],
)
def test_who_is_not_let_in_is_told_why_and_no_run_begins(kind: str, status: int, code: str, house: House) -> None:
    tokens: dict[str, str | None] = {
        "missing": None,
        "wrong": "x" * 40,
        "expired": house.token(seconds=60),
        "other repository": house.token(repositories=["https://elsewhere.test/r.git"]),
        "other policy": house.token(policies=["strict"]),
        "only looks": house.token(verbs=[verb for verb in Verb if verb is not Verb.RUN]),
    }
    house.now = 61.0

    async def story() -> None:
        async with house.served() as clients:
            answer = await clients.ask(tokens[kind])
            assert (answer.status_code, answer.json()["code"]) == (status, code)
            assert answer.headers["content-type"] == "application/problem+json" and answer.json()["hint"]
            assert ("www-authenticate" in answer.headers) == (status == 401)

    act(story)
    assert house.holding.runs == []


def test_a_token_that_was_revoked_ends_its_use_of_a_session_at_once(house: House) -> None:
    token: tuple[Token, str] = house.tokens.create(
        "a",
        policies=[POLICY],
        repositories=[f"file://{house.holding.bench.repository}"],
        verbs=list(Verb),
        seconds=600,
    )

    async def story() -> None:
        async with house.served() as clients:
            name = await begun(clients, token[1])
            house.tokens.revoke(token[0].id)
            assert (await read(clients, token[1], name)).status_code == 401

    act(story)


def test_a_session_is_its_tenants_alone(house: House) -> None:
    async def story() -> None:
        async with house.served() as clients:
            mine, mine_too, theirs = house.token("a"), house.token("a"), house.token("b")
            name = await begun(clients, mine)
            assert (await read(clients, theirs, name)).status_code == 404
            async with clients.plain(theirs, **{"Mcp-Session-Id": name}) as client:
                assert (await client.delete(URL)).status_code == 404
                assert (await client.get(URL)).status_code == 404
            assert (await read(clients, theirs, "f" * 32)).status_code == 404
            assert (await read(clients, mine_too, name)).status_code == 200

    act(story)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "rebound.test:8766"}, 421),
        ({"Host": "127.0.0.1:9999"}, 421),
        ({"Origin": "http://evil.test"}, 403),
        ({"Host": "localhost:8766"}, 200),
    ],
)
def test_a_page_that_found_the_server_by_another_name_is_refused(
    headers: dict[str, str], status: int, house: House
) -> None:
    async def story() -> None:
        async with house.served() as clients:
            assert (await clients.ask(house.token(), **headers)).status_code == status

    act(story)
    assert house.holding.runs == []


@pytest.mark.parametrize(
    ("place", "further", "names"),
    [
        (Place("::1", 8766), (), {"[::1]:8766", "127.0.0.1:8766", "localhost:8766"}),
        (
            Place("0.0.0.0", 443, tls_cert=Path("c"), tls_key=Path("k")),
            ("r.test",),
            {
                "r.test:443",
                "r.test",
                "0.0.0.0",
                "0.0.0.0:443",
                "127.0.0.1",
                "127.0.0.1:443",
                "localhost",
                "localhost:443",
            },
        ),
    ],
)
def test_the_names_it_is_reached_by_are_those_that_clients_send(
    place: Place, further: tuple[str, ...], names: set[str]
) -> None:
    assert set(reached_by(place, further)) == names


def test_a_session_that_is_idle_ends_and_so_does_its_run(house: House) -> None:
    async def story() -> None:
        async with house.served(idle_seconds=1.0) as clients:
            token = house.token()
            name = await begun(clients, token)
            await ended(house, 1)
            assert (await read(clients, token, name)).status_code == 404

    act(story)


def test_no_more_sessions_than_allowed_and_one_that_is_deleted_makes_room(house: House) -> None:
    async def story() -> None:
        async with house.served(most=2) as clients:
            token = house.token()
            names = [await begun(clients, token) for _ in range(2)]
            assert (await clients.ask(token)).status_code == 503
            assert len(house.holding.runs) == 2
            async with clients.plain(token, **{"Mcp-Session-Id": names[0]}) as client:
                assert (await client.delete(URL)).status_code == 200
            await begun(clients, token)
            assert [run.ended for run in house.holding.runs] == [True, False, False]

    act(story)
    assert [run.ended for run in house.holding.runs] == [True] * 3


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[1]", 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', 400),
        (b"x" * 50_000_000, 413),
    ],
    ids=["half", "list", "no session", "50 MB"],
)
def test_what_is_no_request_is_refused_and_no_run_begins(body: bytes, status: int, house: House) -> None:
    async def story() -> None:
        async with house.served(most=1) as clients:
            token = house.token()
            async with clients.plain(token, **{"Content-Type": "application/json"}) as client:
                assert (await client.post(URL, content=body)).status_code == status
            assert (await clients.ask(token)).status_code == 200

    act(story)
    assert house.holding.runs == []
