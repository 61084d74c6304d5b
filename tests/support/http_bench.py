"""The HTTP door over a host in memory: tenants with tokens, and a client that speaks to the application itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

from runner.audit.keys import PublicKey
from runner.controller.held import HeldRun
from runner.controller.spec import RunRequest
from runner.doors.asking import request_of
from runner.doors.http.admission import Access
from runner.doors.http.app import Parts, make_app
from runner.doors.http.limits import TransportLimits
from runner.doors.http.signing_in import web_pages
from runner.doors.http.tracing import Tracing
from runner.engine.fake import FakeCall, FakeOutcome
from runner.policy.load import LoadedPolicy, policy_digest
from runner.serving.service import Opener, Service, Wanted
from runner.store.database import Database, default_url
from runner.store.runs import RunStore
from runner.store.tokens import TokenStore, Verb
from tests.support.clocks import ManualClock
from tests.support.policies import P0, policy
from tests.support.run_bench import Bench

__all__ = ["WRITE", "HttpBench", "Tenant"]

WRITE = {"path": "src/n.txt", "content": "x"}
_MADE = policy(**{**P0, "setup": "off"})
_POLICY = LoadedPolicy(_MADE, "p0", policy_digest(_MADE))


class Tenant:
    """Somebody with a token."""

    def __init__(self, bench: HttpBench, text: str) -> None:
        self._bench, self.text = bench, text

    def send(self, method: str, path: str, **keys: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.text}", **keys.pop("headers", {})}
        return self._bench.client.request(method, path, headers=headers, **keys)

    def get(self, path: str, **keys: Any) -> httpx.Response:
        return self.send("GET", path, **keys)

    def post(self, path: str, **keys: Any) -> httpx.Response:
        return self.send("POST", path, **keys)

    def ask(self, key: str | None = None, **changed: object) -> httpx.Response:
        """A run is asked for."""
        headers = {} if key is None else {"Idempotency-Key": key}
        asked = {"repo": str(self._bench.bench.repository), "policy": "p0", **changed}
        return self.post("/v1/runs?wait=60", json=asked, headers=headers)

    def open(self) -> str:
        """The name of a run that is open."""
        answer = self.ask()
        assert (answer.status_code, answer.json()["state"]) == (202, "open"), answer.text
        return str(answer.json()["id"])

    def call(self, run: str, tool: str = "workspace.write_file", **keys: Any) -> httpx.Response:
        return self.post(f"/v1/runs/{run}/tools/{tool}", **(keys or {"json": WRITE}))

    def end(self, run: str, **keys: Any) -> dict[str, Any]:
        ended: dict[str, Any] = self.send("DELETE", f"/v1/runs/{run}", **keys).json()
        return ended


class _Client:
    """Requests from any thread to an application, which lives in a thread of its own with one event loop."""

    def __init__(self, portal: BlockingPortal, app: FastAPI) -> None:
        self._portal = portal
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://server.test", timeout=None)

    def request(self, method: str, path: str, **keys: Any) -> httpx.Response:
        async def sent() -> httpx.Response:
            return await self._client.request(method, path, **keys)

        return self._portal.call(sent)


class HttpBench:
    """A server in the test's own process. `start` is a server's start, `stop` its polite end."""

    def __init__(
        self,
        folder: Path,
        *,
        limits: TransportLimits | None = None,
        runs_per_tenant: int = 10,
        opener: Opener = HeldRun,
        tracing: Tracing | None = None,
        url: str | None = None,
        secure: bool = False,
        access: Access | None = None,
    ) -> None:
        self.bench = Bench(folder)
        self.clock = ManualClock()
        self.url = url or default_url(self.bench.state.path)
        self._limits, self._runs_per_tenant, self._opener = limits or TransportLimits(), runs_per_tenant, opener
        self._tracing, self._secure, self._access = tracing or Tracing(), secure, access
        self.stack = ExitStack()

    def __enter__(self) -> HttpBench:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        host = self.bench.host
        self.database = Database(self.url)
        self.stack.callback(self.database.close)
        self.tokens = TokenStore(self.database, host.unix)
        self.runs = RunStore(self.database, host.unix)
        self.service = Service(host, self.runs, _request, runs_per_tenant=self._runs_per_tenant, opener=self._opener)
        shown = web_pages(host, self.service, self._key, secure=self._secure)
        parts = Parts(
            host,
            self.service,
            self.tokens,
            self.clock,
            self._limits,
            pages=shown,
            tracing=self._tracing,
            access=self._access,
        )
        self.app: FastAPI = make_app(parts)
        self.portal = self.stack.enter_context(start_blocking_portal())
        self.stack.enter_context(self.portal.wrap_async_context_manager(self.app.router.lifespan_context(self.app)))
        self.client = _Client(self.portal, self.app)

    def _key(self) -> PublicKey | None:
        path = self.bench.state.path / "audit-key.pub"
        return PublicKey.in_file(path) if path.is_file() else None

    def stop(self) -> None:
        self.stack.close()

    def tenant(
        self,
        name: str = "a",
        *,
        verbs: Iterable[Verb] = (Verb.RUN, Verb.READ),
        policies: Sequence[str] = ("p0",),
        repositories: Sequence[str] = ("file:///*",),
        seconds: float = 3600,
    ) -> Tenant:
        _, text = self.tokens.create(name, verbs=verbs, policies=policies, repositories=repositories, seconds=seconds)
        return Tenant(self, text)

    def metrics(self) -> str:
        return self.tenant("monitor", verbs=[Verb.METRICS]).get("/metrics").text

    def program(self, name: str, act: Any) -> None:
        """What a program does in runs that are opened from here on."""
        self.bench.engine.programs = {**self.bench.engine.programs, name: act}

    def prints(self, text: bytes) -> None:
        """`node` prints this."""

        def node(_call: FakeCall) -> FakeOutcome:
            return FakeOutcome(stdout=text)

        self.program("node", node)


def _request(wanted: Wanted) -> RunRequest:
    said = _POLICY if wanted.policy == "p0" else wanted.policy
    narrow = [text.encode("utf-8", "surrogatepass") for text in wanted.narrow]
    return request_of(wanted.repo, ref=wanted.ref, depth=wanted.depth, policy=said, narrow=narrow, tools=wanted.tools)
