"""A server's own life: started again, stopped, its database or its engine away; what a monitor is told."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from runner.doors.http import tracing
from runner.doors.http.limits import TransportLimits
from runner.doors.http.metrics import Metrics
from runner.engine.fake import FakeCall, FakeOutcome
from runner.model.errors import EngineUnavailable
from runner.store import database
from tests.support.http_bench import HttpBench
from tests.support.waiting import wait_until


@contextmanager
def locked(http: HttpBench) -> Iterator[None]:
    """Another program writes to the database and does not come to an end."""
    with closing(sqlite3.connect(http.bench.state.path / "server.sqlite3")) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.rollback()


@pytest.fixture
def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpBench]:
    monkeypatch.setattr(database, "_BUSY_MILLISECONDS", 1)
    with HttpBench(tmp_path) as made:
        yield made


def test_a_server_that_is_started_again_has_its_runs_and_keys(http: HttpBench) -> None:
    a = http.tenant("a")
    run = a.ask("job-1").json()["id"]
    a.end(run)
    http.stop()
    http.start()
    assert a.get(f"/v1/runs/{run}").json()["state"] == "completed"
    assert a.ask("job-1").json()["id"] == run
    assert a.get(f"/v1/runs/{run}/report").status_code == 200


def test_a_polite_end_interrupts_every_run_and_leaves_nothing(http: HttpBench) -> None:
    begun = threading.Event()

    def waits(_call: FakeCall) -> FakeOutcome:
        begun.set()
        return FakeOutcome(until_cancelled=True)

    http.program("node", waits)
    a = http.tenant("a")
    runs = [a.open() for _ in range(3)]
    calling = threading.Thread(
        target=lambda: a.call(runs[0], "workspace.run_command", json={"argv": ["node", "src/app.mjs"]})
    )
    calling.start()
    assert begun.wait(60)
    http.stop()
    calling.join()
    assert http.bench.engine.objects() == []
    http.start()
    assert {a.get(f"/v1/runs/{run}").json()["state"] for run in runs} == {"interrupted"}


def test_no_run_is_opened_by_a_server_that_is_stopping(http: HttpBench) -> None:
    http.service.shutdown()
    refused = http.tenant("a").ask()
    assert (refused.status_code, refused.json()["code"]) == (429, "stopping")


def test_runs_of_a_server_that_died_are_lost_and_are_not_in_the_way(http: HttpBench) -> None:
    a = http.tenant("a")
    run = a.ask("job-1").json()["id"]
    died = http.service
    http.service.shutdown = lambda: None  # type: ignore[method-assign]
    http.bench.state.alive = lambda run_id: False  # type: ignore[method-assign]  # as when its process is gone
    http.stop()
    http.start()
    lost = a.get(f"/v1/runs/{run}").json()
    assert (lost["state"], lost["code"], lost["exit_code"]) == ("lost", "run_ended", 5)
    assert a.get(f"/v1/runs/{run}/report").json()["code"] == "never_written"
    assert ">lost<" in a.get(f"/runs/{run}", headers={"Cookie": f"runner_token={a.text}"}).text
    answer = a.call(run).json()
    assert (answer["ok"], answer["error"]["code"], answer["error"]["details"]) == (False, "run_ended", {"lost": True})
    assert a.ask("job-1").json()["state"] == "lost"
    assert a.get(f"/v1/runs/{run}/events").status_code == 200
    type(died).shutdown(died)


def test_a_locked_database_refuses_a_run_and_nothing_is_begun(http: HttpBench) -> None:
    a = http.tenant("a")
    with locked(http):
        refused = a.ask("job-1")
        assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
        assert refused.headers["retry-after"] == "5"
    assert http.bench.engine.sandboxes == {}
    assert a.ask("job-1").json()["state"] == "open"


def test_how_a_run_ended_is_told_to_the_database_once_it_is_back(http: HttpBench) -> None:
    a = http.tenant("a")
    run = a.open()
    with locked(http):
        a.end(run)
        assert http.bench.engine.objects() == []
        assert a.call(run).json()["error"]["code"] == "run_ended"
    assert a.get(f"/v1/runs/{run}").json()["state"] == "completed"
    assert http.runs.live() == []


def test_a_run_whose_opening_the_database_missed_takes_calls(http: HttpBench) -> None:
    opening = threading.Event()
    go_on = threading.Event()

    def git(call: FakeCall) -> FakeOutcome:
        opening.set()
        assert go_on.wait(60)
        outcome: FakeOutcome = first(call)
        return outcome

    first: Any = http.bench.engine.programs["git"]
    http.program("git", git)
    a = http.tenant("a")
    run = a.post("/v1/runs", json={"repo": str(http.bench.repository), "policy": "p0"}).json()["id"]
    assert opening.wait(60)
    with locked(http):
        go_on.set()
        assert a.call(run).json()["ok"]
    assert a.get(f"/v1/runs/{run}").json()["state"] == "open"


def test_an_engine_that_is_away_makes_the_server_not_ready_and_does_not_end_it(
    http: HttpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert http.client.request("GET", "/readyz").json() == {"status": "ok"}
    http.stop()

    def away(*_args: object) -> None:
        raise EngineUnavailable("nobody answers")

    for name in ("info", "objects"):
        monkeypatch.setattr(http.bench.engine, name, away)
    http.start()
    assert http.client.request("GET", "/healthz").json() == {"status": "ok"}
    told = http.client.request("GET", "/readyz")
    assert (told.status_code, told.json()["code"]) == (503, "engine_unavailable")
    assert "nobody answers" not in told.text
    monkeypatch.undo()
    http.clock.advance(1)
    assert http.client.request("GET", "/readyz").status_code == 200


def test_an_engine_that_hangs_takes_one_thread_however_many_ask_whether_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    go_on = threading.Event()

    def hangs() -> None:
        asked.append(1)
        assert go_on.wait(60)

    with HttpBench(tmp_path, limits=TransportLimits(ready_seconds=0.001)) as http:
        monkeypatch.setattr(http.bench.engine, "info", hangs)
        a = http.tenant("a")
        try:
            told = [http.client.request("GET", "/readyz") for _ in range(45)]
            http.clock.advance(60)
            told.append(http.client.request("GET", "/readyz"))
            assert {(one.status_code, one.json()["code"]) for one in told} == {(503, "not_answered_yet")}
            assert a.get("/v1/runs").status_code == http.client.request("GET", "/healthz").status_code == 200
            assert len(asked) == 1
        finally:
            go_on.set()
        wait_until(lambda: http.client.request("GET", "/readyz").status_code == 200)


def test_whether_a_server_is_ready_is_asked_once_a_second(http: HttpBench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(http.bench.engine, "info", lambda: asked.append(http.clock()))
    for _ in range(4):
        assert [http.client.request("GET", "/readyz").status_code for _ in range(3)] == [200] * 3
        http.clock.advance(0.5)
    assert asked == [1000.0, 1001.0]


def test_a_monitor_is_told_how_much_and_not_of_whom(http: HttpBench) -> None:
    a = http.tenant("secret-tenant")
    run = a.open()
    a.call(run)
    a.call(run, "made-up-tool", json={})
    a.call(run, "workspace.read_file", json={"path": "../secret-path"})
    a.get("/v1/secret-route")
    told = http.metrics()
    assert "runner_runs_live 1.0" in told and "runner_runs_queued 0.0" in told
    assert "runner_opening_seconds_count 1.0" in told
    assert 'runner_calls_total{outcome="ok",tool="workspace.write_file"} 1.0' in told
    assert 'runner_calls_total{outcome="refused",tool="unknown"} 1.0' in told
    assert 'runner_http_requests_total{status="404"} 1.0' in told
    assert not any(word in told for word in ("secret", "made-up", run, str(http.bench.repository)))
    assert http.tenant("a").get("/metrics").json()["code"] == "verb_not_allowed"


def test_a_monitor_is_told_how_runs_ended_and_how_many_never_opened(http: HttpBench) -> None:
    a = http.tenant("a")
    a.end(a.open())
    a.end(a.open(), params={"interrupt": "true"})
    failed = a.ask(repo="/nowhere").json()
    assert failed["state"] == "failed"
    code = failed["code"]
    told = http.metrics()
    assert 'runner_runs_total{code="none",state="completed"} 1.0' in told
    assert 'runner_runs_total{code="none",state="interrupted"} 1.0' in told
    assert f'runner_runs_total{{code="{code}",state="failed"}} 1.0' in told
    assert f'runner_openings_failed_total{{code="{code}"}} 1.0' in told
    assert "runner_opening_seconds_count 2.0" in told


def test_codes_of_a_monitor_have_an_end() -> None:
    metrics = Metrics(lambda: 0, lambda: 0)
    for number in range(1000):
        metrics.ended("failed", f"code{number}")
    assert metrics.text().count(b"runner_runs_total{") == 101


def test_the_access_log_has_whose_request_it_was_and_nothing_that_was_sent(tmp_path: Path) -> None:
    lines: list[Mapping[str, Any]] = []
    with HttpBench(tmp_path, access=lines.append) as http:
        a = http.tenant("a")
        assert a.get("/v1/runs?before=1").status_code == 200
        assert http.client.request("POST", "/v1/runs", content=b"body").status_code == 401
        http.client.request("GET", "/runs", headers={"Cookie": f"runner_token={a.text}"})
    told = [(one["method"], one["path"], one["status"], one["tenant"]) for one in lines]
    assert told == [("GET", "/v1/runs", 200, "a"), ("POST", "/v1/runs", 401, None), ("GET", "/runs", 200, "a")]
    assert all(set(one) == {"method", "path", "status", "ms", "tenant"} for one in lines)


def test_a_span_says_the_route_and_nothing_that_was_sent(tmp_path: Path) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with HttpBench(tmp_path, tracing=tracing.Tracing(provider.get_tracer("test"))) as http:
        a = http.tenant("secret-tenant")
        run = a.open()
        a.call(run, "secret-tool", json={"path": "secret"})
        a.get("/secret?secret=secret")
        a.send("SECRET", f"/v1/runs/{run}")
        http.client.request("GET", "/v1/runs", headers={"Authorization": "Bearer secret"})
        told = spans.get_finished_spans()
    assert {span.name for span in told} == {
        "POST /v1/runs",
        "POST /v1/runs/{run_id}/tools/{tool}",
        "GET (none)",
        "OTHER /v1/runs/{run_id}",
    }
    everything = "".join(span.to_json() for span in told)
    assert "secret" not in everything and run not in everything
    provider.shutdown()


def test_without_a_collector_nothing_is_traced() -> None:
    with tracing.tracing_to(None).request({"method": "GET"}):
        pass


def test_every_route_needs_a_token_or_is_known_not_to(http: HttpBench) -> None:
    others = {path for path in http.app.openapi()["paths"] if not path.startswith("/v1/")}
    assert others == {"/healthz", "/readyz", "/metrics"}
    assert http.client.request("GET", "/metrics").status_code == 401
