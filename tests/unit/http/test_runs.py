"""Runs over HTTP: opened, called, cancelled, ended; and how each refusal is told."""

from __future__ import annotations

import base64
import itertools
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from runner.audit.record_forms import ReceiptFile, ReportFile
from runner.controller.held import HeldRun
from runner.engine.fake import FakeCall, FakeOutcome
from tests.support.http_bench import HttpBench, Tenant

NODE = {"argv": ["node", "src/app.mjs"]}
TENANTS = itertools.count()
PROBLEM = "application/problem+json"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def http(tmp_path: Path) -> Iterator[HttpBench]:
    with HttpBench(tmp_path) as made:
        yield made


@pytest.fixture
def a(http: HttpBench) -> Tenant:
    return http.tenant("a")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpBench]:
    """One for the tables of what is refused: a server takes longer to make than most of them."""
    with HttpBench(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture
def somebody(server: HttpBench) -> Tenant:
    """A tenant that nothing was done as yet."""
    return server.tenant(f"tenant{next(TENANTS)}")


def events(text: str) -> list[tuple[str, dict[str, object]]]:
    """The events of a stream, by kind."""
    told = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.split("\n\n") if block]
    return [(one["event"], json.loads(one["data"])) for one in told]


def test_a_run_is_opened_called_and_ended_and_nothing_of_it_is_left(http: HttpBench, a: Tenant) -> None:
    made = a.ask()
    run = made.json()["id"]
    assert (made.status_code, made.headers["location"]) == (202, f"/v1/runs/{run}")
    assert a.call(run).json()["ok"]
    read = a.call(run, "workspace.read_file", json={"path": "src/n.txt"}).json()
    assert (read["seq"], read["ok"], read["tool"]) == (2, True, "workspace.read_file")
    ended = a.end(run)
    assert (ended["state"], ended["exit_code"], ended["code"]) == ("completed", 0, None)
    assert a.end(run) == ended
    assert http.bench.engine.objects() == []


def test_what_a_run_leaves_is_there_once_it_has_ended(a: Tenant) -> None:
    run = a.open()
    a.call(run)
    assert a.get(f"/v1/runs/{run}/report").json()["code"] == "not_there_yet"
    a.end(run)
    ReportFile.model_validate(a.get(f"/v1/runs/{run}/report").json())
    ReceiptFile.model_validate(a.get(f"/v1/runs/{run}/receipt").json())
    patch = a.get(f"/v1/runs/{run}/patch")
    assert (patch.status_code, patch.headers["content-type"]) == (200, "application/octet-stream")
    assert patch.headers["content-disposition"].startswith("attachment")
    assert len(a.get(f"/v1/runs/{run}/audit").text.splitlines()) > 3
    assert a.get(f"/v1/runs/{run}/lock").json()["code"] == "no_such_file"


def test_a_refusal_is_an_answer_and_not_an_error_of_http(a: Tenant) -> None:
    run = a.open()
    outside = a.call(run, "workspace.read_file", json={"path": "../../etc/passwd"})
    unknown = a.call(run, "workspace.format_disk", json={})
    assert [(one.status_code, one.json()["ok"]) for one in (outside, unknown)] == [(200, False)] * 2
    assert unknown.json()["error"]["code"] == "unknown_tool"
    assert set(unknown.json()) == {"seq", "tool", "ok", "error", "duration_ms"}
    assert set(a.call(run).json()) == {"seq", "tool", "ok", "result", "duration_ms"}


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"path": 1, "path": 2}',
        b"\xff",
        b"[" * 5000,
        b'{"path": NaN}',
        b"[]",
        b"null",
        b'{"argv": [' + b'"a",' * 1_000_000 + b'"a"]}',
    ],
)
def test_a_body_that_cannot_be_read_is_invalid_arguments_and_counts(somebody: Tenant, body: bytes) -> None:
    run = somebody.open()
    answer = somebody.call(run, content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, "invalid_arguments")
    assert somebody.call(run).json()["seq"] == 2


def test_a_call_after_the_end_is_told_that_the_run_has_ended(a: Tenant) -> None:
    run = a.open()
    a.end(run, params={"interrupt": True})
    answer = a.call(run)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["seq"]) == (200, "run_ended", None)
    assert a.get(f"/v1/runs/{run}").json()["state"] == "interrupted"
    assert a.post(f"/v1/runs/{run}/cancel").json() == {"cancelled": False}


def test_a_call_in_flight_is_cancelled_and_the_run_goes_on(http: HttpBench, a: Tenant) -> None:
    begun = threading.Event()

    def waits(_call: FakeCall) -> FakeOutcome:
        begun.set()
        return FakeOutcome(until_cancelled=True)

    http.program("node", waits)
    run = a.open()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(a.call, run, "workspace.run_command", json=NODE)
        assert begun.wait(60)
        assert a.post(f"/v1/runs/{run}/cancel").json() == {"cancelled": True}
        assert answer.result().status_code == 200
    assert a.call(run).json()["ok"]


def test_output_comes_as_events_and_the_answer_last(http: HttpBench, a: Tenant) -> None:
    http.prints(b"hello \xff\n")
    run = a.open()
    told = a.call(run, "workspace.run_command", json=NODE, headers={"Accept": "text/event-stream"})
    assert told.headers["content-type"].startswith("text/event-stream")
    kinds = events(told.text)
    seen = b"".join(base64.b64decode(str(one["data"])) for kind, one in kinds if kind == "output")
    assert seen == b"hello \xff\n"
    assert kinds[-1][0] == "answer" and kinds[-1][1]["ok"] is True


def test_the_log_is_followed_to_its_end_and_goes_on_where_it_stopped(a: Tenant) -> None:
    run = a.open()
    a.call(run)
    a.end(run)
    whole = a.get(f"/v1/runs/{run}/events").text
    lines = a.get(f"/v1/runs/{run}/audit").text.splitlines()
    assert [one for kind, one in events(whole) if kind == "audit"] == [json.loads(line) for line in lines]
    assert events(whole)[-1] == ("end", {})
    later = events(a.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": "3"}).text)
    assert len(later) == len(events(whole)) - 3
    assert a.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": "x"}).json()["code"] == "invalid_request"


def test_the_same_request_with_the_same_key_opens_one_run(http: HttpBench, a: Tenant) -> None:
    first = a.ask("job-1")
    assert a.ask("job-1").json()["id"] == first.json()["id"]
    other = a.ask("job-1", depth=1)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert http.tenant("b").ask("job-1").json()["id"] != first.json()["id"]
    assert len(http.bench.engine.sandboxes) == 2


def test_two_who_send_a_key_at_once_get_one_run(http: HttpBench, a: Tenant) -> None:
    start = threading.Barrier(8)

    def ask(_number: int) -> str:
        start.wait()
        return str(a.ask("job-1").json()["id"])

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert len(http.bench.engine.sandboxes) == 1


def test_a_key_of_a_run_that_failed_does_not_open_it_again(a: Tenant) -> None:
    failed = a.ask("job-1", repo="file:///nowhere/at/all").json()
    assert (failed["state"], failed["exit_code"]) == ("failed", 4)
    assert a.ask("job-1", repo="file:///nowhere/at/all").json() == failed


def test_a_run_whose_opening_breaks_is_failed_and_its_callers_are_told(tmp_path: Path) -> None:
    def breaks(*_args: object, **_keys: object) -> HeldRun:
        raise ZeroDivisionError

    with HttpBench(tmp_path, opener=breaks) as http:
        run = http.tenant("a").ask().json()
        assert (run["state"], run["code"], run["exit_code"]) == ("failed", "internal_error", 1)


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"policy": "node-app"}, 403, "policy_not_allowed"),
        ({"repo": "https://git.example/x"}, 403, "repository_not_allowed"),
        ({"repo": None}, 422, "usage"),
        ({"repo": "file:///x\u0000y"}, 422, "repository_address_invalid"),
        ({"tools": ["rm"]}, 422, "usage"),
        ({"depth": 0}, 422, "invalid_request"),
        ({"depth": "1"}, 422, "invalid_request"),
        ({"more": 1}, 422, "invalid_request"),
        ({"narrow": {"limits": {"pids": 5000}}}, 422, "policy_invalid"),
        ({"narrow": "limits: {pids: 5000}"}, 422, "policy_invalid"),
        ({"narrow": [{"limits": {"pids": 50}}, "limits: {pids: 51}"]}, 422, "policy_invalid"),
        ({"narrow": {"writeAlow": []}}, 422, "policy_invalid"),
        ({"narrow": ""}, 422, "policy_invalid"),
        ({"narrow": "/etc/passwd"}, 422, "policy_invalid"),
        ({"narrow": "read-only"}, 422, "policy_invalid"),
        ({"narrow": [{}] * 11}, 422, "policy_invalid"),
        ({"narrow": 1}, 422, "invalid_request"),
        ({"narrow": [["a"]]}, 422, "invalid_request"),
        ({"narrow": "#" * 20_000}, 422, "usage"),
        ({"narrow": {"writeDeny": ["a" * 1000] * 20}}, 422, "usage"),
    ],
)
def test_a_run_that_cannot_be_opened_is_a_problem_with_a_code(
    somebody: Tenant, changed: dict[str, Any], status: int, code: str
) -> None:
    answer = somebody.ask(**changed)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == PROBLEM
    assert set(answer.json()) == {"type", "title", "status", "code", "detail", "hint"}
    assert somebody.get("/v1/runs").json() == {"runs": []}


@pytest.mark.parametrize(
    "narrow",
    [
        {"writeDeny": ["src/**"]},
        "writeDeny: [src/**]\n",
        [{"limits": {"pids": 50}}, "writeDeny:\n- src/**\n"],
    ],
)
def test_a_caller_narrows_the_policy_of_its_run_with_keys_or_a_text(http: HttpBench, a: Tenant, narrow: Any) -> None:
    opened = a.ask(narrow=narrow).json()
    answer = a.call(opened["id"]).json()
    number = len(narrow) if isinstance(narrow, list) else 1
    assert answer["error"]["details"]["rule"] == f"narrow.{number}.write.deny.pattern"
    assert len(opened["request"]["narrow"]) == number
    a.end(opened["id"])
    request = a.get(f"/v1/runs/{opened['id']}/report").json()["request"]
    assert request["policy"].endswith(", narrowed by " + ", ".join(f"narrow {n + 1}" for n in range(number)))
    assert "narrow" not in a.ask().json()["request"]


def test_a_key_does_not_stand_for_a_request_that_narrows_otherwise(a: Tenant) -> None:
    first = a.ask("k", narrow={"setup": "off", "writeDeny": []})
    again = a.ask("k", narrow={"writeDeny": [], "setup": "off"})
    assert again.json()["id"] == first.json()["id"]
    assert a.ask("k", narrow={"setup": "off"}).json()["code"] == "idempotency_key_reused"
    assert a.ask("k").json()["code"] == "idempotency_key_reused"


def test_half_a_surrogate_pair_narrows_nothing_and_is_a_problem(a: Tenant) -> None:
    answer = a.post("/v1/runs", content=b'{"repo": "/x", "policy": "p0", "narrow": "\\ud800"}', headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "policy_invalid")


def test_every_answer_that_is_no_success_is_a_problem(a: Tenant) -> None:
    answers = [
        a.get("/v1/nothing"),
        a.send("PUT", "/v1/runs"),
        a.get("/v1/runs?limit=0"),
        a.post("/v1/runs", content=b"\xff\xfe", headers={"Content-Type": "application/json"}),
        a.post("/v1/runs", content=b"{}", headers={"Content-Type": "text/plain"}),
        a.get("/nothing"),
    ]
    told = [(one.status_code, one.json()["code"], one.headers["content-type"]) for one in answers]
    assert told == [
        (404, "not_found", PROBLEM),
        (405, "method_not_allowed", PROBLEM),
        (422, "invalid_request", PROBLEM),
        (422, "invalid_request", PROBLEM),
        (422, "invalid_request", PROBLEM),
        (404, "not_found", PROBLEM),
    ]


def test_runs_are_listed_newest_first_and_in_pages(http: HttpBench, a: Tenant) -> None:
    made = []
    for _ in range(3):
        http.bench.clock.advance(1)
        made.append(a.open())
    page = a.get("/v1/runs?limit=2").json()["runs"]
    assert [run["id"] for run in page] == [made[2], made[1]]
    rest = a.get("/v1/runs", params={"before": page[-1]["created_unix"]}).json()["runs"]
    assert [run["id"] for run in rest] == [made[0]]


def test_no_run_of_the_same_moment_is_left_out_between_pages(http: HttpBench, a: Tenant) -> None:
    made = sorted(a.open() for _ in range(3))  # the bench's clock stands still
    seen: list[str] = []
    last: dict[str, Any] = {}
    while page := a.get("/v1/runs", params={"limit": 1, **last}).json()["runs"]:
        seen.append(page[-1]["id"])
        last = {"before": page[-1]["created_unix"], "before_id": page[-1]["id"]}
    assert seen == made
