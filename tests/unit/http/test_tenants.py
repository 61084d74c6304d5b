"""Whose runs a request may see and touch: by tokens and, for every route, by pairs of tenants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.store.tokens import Verb
from tests.support.http_bench import WRITE, HttpBench, Tenant

NEVER = "0123456789abcdef"
# Every route that names a run, with a request that is good for the run's own tenant.
OF_A_RUN = [
    ("GET", "/v1/runs/{run_id}", {}),
    ("DELETE", "/v1/runs/{run_id}", {}),
    ("DELETE", "/v1/runs/{run_id}?interrupt=true", {}),
    ("POST", "/v1/runs/{run_id}/cancel", {}),
    ("POST", "/v1/runs/{run_id}/tools/workspace.write_file", {"json": WRITE}),
    ("POST", "/v1/runs/{run_id}/tools/workspace.write_file", {"content": b"{"}),
    ("POST", "/v1/runs/{run_id}/tools/no_such_tool", {"json": {}}),
    (
        "POST",
        "/v1/runs/{run_id}/tools/workspace.write_file",
        {"json": WRITE, "headers": {"Accept": "text/event-stream"}},
    ),
    ("GET", "/v1/runs/{run_id}/events", {}),
    ("GET", "/v1/runs/{run_id}/report", {}),
    ("GET", "/v1/runs/{run_id}/audit", {}),
    ("GET", "/v1/runs/{run_id}/receipt", {}),
    ("GET", "/v1/runs/{run_id}/patch", {}),
    ("GET", "/v1/runs/{run_id}/no_such_file", {}),
]


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpBench]:
    with HttpBench(tmp_path_factory.mktemp("tenants")) as made:
        yield made


@pytest.fixture(scope="module")
def runs(http: HttpBench) -> dict[str, str]:
    """Runs of tenant b: one that is open, one that has ended with all its files."""
    b = http.tenant("b")
    made = {"open": b.open(), "ended": b.open()}
    b.end(made["ended"])
    return made


@pytest.mark.parametrize("which", ["open", "ended"])
@pytest.mark.parametrize(("method", "path", "keys"), OF_A_RUN)
def test_a_run_of_another_tenant_is_not_told_from_one_that_never_was(
    http: HttpBench, runs: dict[str, str], which: str, method: str, path: str, keys: dict[str, object]
) -> None:
    a = http.tenant("a")
    theirs = a.send(method, path.format(run_id=runs[which]), **keys)
    never = a.send(method, path.format(run_id=NEVER), **keys)
    assert (theirs.status_code, theirs.json()["code"]) == (404, "no_such_run")
    assert (theirs.status_code, theirs.headers, theirs.content) == (never.status_code, never.headers, never.content)
    assert http.tenant("b").get(f"/v1/runs/{runs['open']}").json()["state"] == "open"


def test_every_route_that_names_a_run_is_among_the_pairs(http: HttpBench) -> None:
    there = {
        (method, path.replace("/report", "/{file}"))
        for method, path in ((one[0], one[1].partition("?")[0]) for one in OF_A_RUN)
    }
    tried = {(method, path.replace("workspace.write_file", "{tool}")) for method, path in there}
    routes = {
        (method.upper(), path)
        for path, methods in http.app.openapi()["paths"].items()
        for method in methods
        if "{run_id}" in path
    }
    assert routes and routes <= tried


def test_a_tenant_lists_its_own_runs_alone(http: HttpBench, runs: dict[str, str]) -> None:
    assert http.tenant("a").get("/v1/runs").json() == {"runs": []}
    assert {run["id"] for run in http.tenant("b").get("/v1/runs").json()["runs"]} == set(runs.values())


@pytest.mark.parametrize(("method", "path", "keys"), [*OF_A_RUN, ("GET", "/v1/runs", {}), ("POST", "/v1/runs", {})])
@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "token_missing"),
        ("Basic YTpi", "token_missing"),
        ("Bearer", "token_missing"),
        ("Bearer x", "token_wrong"),
        ("Bearer runner_0123456789ab_" + "A" * 43, "token_wrong"),
    ],
)
def test_no_route_of_the_api_answers_without_a_good_token(
    http: HttpBench,
    runs: dict[str, str],
    method: str,
    path: str,
    keys: dict[str, object],
    header: str | None,
    code: str,
) -> None:
    headers = {} if header is None else {"Authorization": header}
    sent = {name: value for name, value in keys.items() if name != "headers"}
    answer = http.client.request(method, path.format(run_id=runs["open"]), headers=headers, **sent)
    assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_cookie_is_not_taken_by_the_api(http: HttpBench) -> None:
    cookie = {"Cookie": f"runner_token={http.tenant('a').text}"}
    assert http.client.request("GET", "/v1/runs", headers=cookie).json()["code"] == "token_missing"


@pytest.mark.parametrize(("method", "path", "keys"), [*OF_A_RUN, ("GET", "/v1/runs", {}), ("GET", "/metrics", {})])
def test_a_token_is_good_for_its_verbs_alone(
    http: HttpBench, runs: dict[str, str], method: str, path: str, keys: dict[str, object]
) -> None:
    needed = Verb.METRICS if path == "/metrics" else Verb.READ if method == "GET" else Verb.RUN
    other = http.tenant("b", verbs=set(Verb) - {needed})
    answer = other.send(method, path.format(run_id=runs["open"]), **keys)
    assert (answer.status_code, answer.json()["code"]) == (403, "verb_not_allowed")


def test_a_token_ends_with_its_time_and_when_it_is_revoked(tmp_path: Path) -> None:
    with HttpBench(tmp_path) as http:
        token, text = http.tokens.create("a", policies=["p0"], repositories=["*"], verbs=[Verb.READ], seconds=60)
        a = Tenant(http, text)
        http.bench.clock.advance(59.9)
        assert a.get("/v1/runs").status_code == 200
        http.bench.clock.advance(0.1)
        assert (a.get("/v1/runs").status_code, a.get("/v1/runs").json()["code"]) == (401, "token_expired")
        assert http.tokens.revoke(token.id)
        assert (a.get("/v1/runs").status_code, a.get("/v1/runs").json()["code"]) == (401, "token_revoked")


def test_a_folder_of_the_servers_own_disk_is_opened_only_by_a_token_that_says_so(http: HttpBench) -> None:
    for repositories in (["*"], ["https://*"], ["file*"], ["file:/*"], ["f*"]):
        answer = http.tenant("c", repositories=repositories).ask()
        assert (answer.status_code, answer.json()["code"]) == (403, "repository_not_allowed"), repositories
    exact = f"file://{http.bench.repository}"
    assert http.tenant("c", repositories=[exact]).ask().json()["state"] == "open"


def test_a_link_out_of_the_folder_that_a_token_names_is_not_followed(http: HttpBench, tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "link").symlink_to(http.bench.repository)
    tenant = http.tenant("d", repositories=[f"file://{tmp_path}/allowed/*"])
    for way in ("allowed/link", "allowed/../elsewhere"):
        assert tenant.ask(repo=f"{tmp_path}/{way}").json()["code"] == "repository_not_allowed"


@pytest.mark.parametrize(
    ("repo", "status", "code"),
    [
        ("https://user:hunter2@git.example/x", 422, "credential_inline"),
        ("https://git.example/x", 403, "repository_not_allowed"),
    ],
)
def test_a_run_without_tools_keeps_no_address_that_a_run_with_tools_may_not_have(
    http: HttpBench, repo: str, status: int, code: str
) -> None:
    lone = http.tenant("lone")
    answer = lone.ask(repo=repo, tools=[])
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert lone.get("/v1/runs").json() == {"runs": []}
