"""The pages behind the form: who is let in, what the cookie is, and that nobody sees another tenant's runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from runner.doors.http.limits import TransportLimits
from runner.store.tokens import Verb
from tests.support.http_bench import HttpBench
from tests.support.waiting import wait_until

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def http(tmp_path: Path) -> Iterator[HttpBench]:
    with HttpBench(tmp_path) as made:
        yield made


def sign_in(http: HttpBench, text: str, after: str = "/runs", **headers: str) -> httpx.Response:
    body = urlencode({"token": text, "next": after})
    return http.client.request("POST", "/login", content=body, headers={**FORM, **headers})


def see(http: HttpBench, text: str, path: str) -> httpx.Response:
    return http.client.request("GET", path, headers={"Cookie": f"runner_token={text}"})


def test_a_token_is_given_once_and_kept_where_no_script_and_no_other_site_gets_at_it(http: HttpBench) -> None:
    text = http.tenant("a").text
    answer = sign_in(http, text, "/runs/abc123")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs/abc123")
    kept = answer.headers["set-cookie"]
    assert kept.startswith(f"runner_token={text};")
    assert "HttpOnly" in kept and "samesite=strict" in kept.lower() and "Max-Age=3600" in kept and "Secure" not in kept
    assert see(http, text, "/runs").status_code == 200
    gone = http.client.request("POST", "/logout").headers["set-cookie"]
    assert gone.startswith('runner_token="";') and "Max-Age=0" in gone


def test_every_page_of_somebody_who_is_signed_in_has_the_button_that_signs_out(http: HttpBench) -> None:
    tenant = http.tenant("a")
    for path in ("/runs", f"/runs/{tenant.open()}"):
        assert 'method="post" action="/logout"' in see(http, tenant.text, path).text
        assert '<bdi>a</bdi></span> <button type="submit"' in see(http, tenant.text, path).text  # and as whom
    assert "/logout" not in http.client.request("GET", "/login").text


def test_over_tls_the_cookie_goes_over_tls_alone(tmp_path: Path) -> None:
    with HttpBench(tmp_path, secure=True) as http:
        assert "Secure" in sign_in(http, http.tenant("a").text).headers["set-cookie"]


@pytest.mark.parametrize(
    "after", ["https://evil.example/", "//evil.example", "/runs/../x", "/runs\r\nX: y", "", "/v1/runs"]
)
def test_the_form_leads_to_pages_of_ours_alone(http: HttpBench, after: str) -> None:
    assert sign_in(http, http.tenant("a").text, after).headers["location"] == "/runs"


def test_nobody_is_let_in_without_a_token_that_may_read(http: HttpBench) -> None:
    blind = http.tenant("a", verbs=[Verb.RUN, Verb.METRICS]).text
    for text in ("", "x" * 5000, blind):
        refused = sign_in(http, text)
        assert (refused.status_code, "set-cookie" in refused.headers) == (200, False)  # no error for the console
        assert 'role="alert" id="problem"' in refused.text and 'action="/login"' in refused.text
        for path in ("/runs", "/runs/abc123", "/runs/abc123/events", "/runs/abc123/files/report.json"):
            turned = see(http, text, path)
            assert (turned.status_code, turned.headers["location"]) == (303, f"/login?next={path}")
    odd = http.client.request("POST", "/login", content=b"\xff=&token", headers=FORM)
    assert odd.status_code == 200 and 'id="problem"' in odd.text and "set-cookie" not in odd.headers


@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_a_form_of_another_site_signs_nobody_in_or_out(http: HttpBench, path: str) -> None:
    body = urlencode({"token": http.tenant("a").text})
    for site in ("cross-site", "same-site"):
        answer = http.client.request("POST", path, content=body, headers={**FORM, "Sec-Fetch-Site": site})
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_a_tenant_sees_its_own_runs_and_those_of_another_are_as_if_they_never_were(http: HttpBench) -> None:
    a, b = http.tenant("a"), http.tenant("b")
    run = b.open()
    b.call(run)
    b.end(run)
    assert run in see(http, b.text, "/runs").text
    assert see(http, b.text, f"/runs/{run}").status_code == 200
    assert see(http, b.text, f"/runs/{run}/files/report.json").status_code == 200
    assert run not in see(http, a.text, "/runs").text
    for rest in ("", "/live", "/events", "/files/report.json"):
        theirs, never = (see(http, a.text, f"/runs/{one}{rest}") for one in (run, "0" * len(run)))
        told: list[Any] = [(one.status_code, one.headers, one.content) for one in (theirs, never)]
        assert told[0] == told[1] and theirs.status_code == 404


@pytest.fixture
def full(tmp_path: Path) -> Iterator[HttpBench]:
    """A server on a host with one place, which another process has."""
    made = HttpBench(tmp_path)
    made.bench.host = replace(made.bench.host, max_runs=1)
    with made.bench.host.places.taken("another's", lambda _line: None), made:
        yield made


def test_a_run_that_waits_for_a_place_is_on_the_pages_and_stays_there_when_it_is_cancelled(full: HttpBench) -> None:
    a, b = full.tenant("a"), full.tenant("b")
    run = a.post("/v1/runs", json={"repo": str(full.bench.repository), "policy": "p0"}).json()["id"]
    wait_until(lambda: bool(a.get(f"/v1/runs/{run}").json()["progress"]))
    for path in ("/runs", f"/runs/{run}"):
        page = see(full, a.text, path)
        assert page.status_code == 200 and run in page.text and ">opening<" in page.text
    assert see(full, a.text, f"/runs/{run}/live").status_code == 200
    assert see(full, b.text, f"/runs/{run}").status_code == 404
    assert a.get(f"/v1/runs/{run}/report").json()["code"] == "not_there_yet"
    a.end(run)
    assert run in see(full, a.text, "/runs").text
    page = see(full, a.text, f"/runs/{run}")
    assert (
        ">interrupted<" in page.text
        and "given up while it waited" in page.text
        and "the run has not begun" in page.text
    )
    assert a.get(f"/v1/runs/{run}/report").json()["code"] == "never_written"


def test_pages_have_the_tenants_share_and_none_of_their_own(tmp_path: Path) -> None:
    with HttpBench(tmp_path, limits=TransportLimits(requests_per_minute=2)) as http:
        a = http.tenant("a")
        a.get("/v1/runs")
        assert [see(http, a.text, "/runs").status_code for _ in range(2)] == [200, 429]
