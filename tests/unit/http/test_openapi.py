"""The API as it describes itself: the page is fresh, and what the server does is what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from runner.store.tokens import Verb
from scripts.openapi import PAGE, document, text_of
from tests.support.http_bench import HttpBench

OPERATIONS = [
    (path, method)
    for path, methods in json.loads(PAGE.read_text(encoding="utf-8"))["paths"].items()
    for method in methods
]
PLAIN = {"/healthz", "/readyz"}  # they take nothing, so that nothing can be wrong with it
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def test_the_page_is_what_the_code_says() -> None:
    described = document()
    assert described["openapi"].startswith("3.1.")
    assert PAGE.read_text(encoding="utf-8") == text_of(described), "run: make openapi"


def test_the_server_gives_the_page_to_anybody(tmp_path: Path) -> None:
    with HttpBench(tmp_path) as http:
        assert http.client.request("GET", "/v1/openapi.json").json() == json.loads(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpBench]:
    with HttpBench(tmp_path_factory.mktemp("described")) as made:
        yield made


@pytest.fixture(scope="module")
def described(http: HttpBench) -> Any:
    """What the server says of itself, read once."""
    return schemathesis.openapi.from_dict(http.app.openapi())


@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [(*one, mode) for one in OPERATIONS for mode in GenerationMode if one[0] not in PLAIN or mode.is_positive],
)
def test_whatever_is_sent_the_answer_is_one_that_the_page_tells_of(
    http: HttpBench, described: Any, path: str, method: str, mode: GenerationMode
) -> None:
    tenant = http.tenant("a", verbs=set(Verb), policies=["p0", "*"], repositories=["*"])
    run = http.tenant("a").open() if "{run_id}" in path else ""
    if run and method == "get":
        http.tenant("a").end(run)  # the events of one that goes on have no end
    operation = described[path][method]

    @settings(max_examples=10, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(mode))
    def send(case: Any) -> None:
        if run and len(case.path_parameters["run_id"]) % 2:
            case.path_parameters["run_id"] = run
        sent = case.as_transport_kwargs(base_url="http://server.test")
        sent["headers"] = {**sent["headers"], "Authorization": f"Bearer {tenant.text}"}
        case.validate_response(_answered(http, sent), checks=CHECKS)

    send()
    if run:
        tenant.end(run)


def _answered(http: HttpBench, sent: dict[str, Any]) -> Any:
    sent.pop("cookies", None)
    content = {"content": sent.pop("data")} if "data" in sent else {}
    return http.client.request(sent.pop("method"), sent.pop("url"), **sent, **content)
