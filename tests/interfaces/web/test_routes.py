"""The routes of the web pages: what each answers, with which headers, and to whom not."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, HTTPException

from runner.controller.records import StateFolder
from runner.doors.web.folder_runs import FolderRuns
from runner.doors.web.headings import Headings
from runner.doors.web.responses import SECURITY_HEADERS
from runner.doors.web.routes import MAX_LISTED_RUNS, RunsSource, pages
from tests.support.run_record import HOSTILE, RunRecord, rich_record
from tests.support.web_site import TestRuns, served, site


@pytest.fixture
def runs(tmp_path: Path) -> TestRuns:
    made = TestRuns(tmp_path)
    made.add(rich_record(tmp_path)).end()
    return made


@pytest.fixture
def client(runs: TestRuns) -> Iterator[httpx.Client]:
    with served(site(runs)) as base, httpx.Client(base_url=base, timeout=60) as made:
        yield made


PLACES = ("/", "/runs", "/runs/run1", "/runs/run1/live", "/runs/run1/files/audit.jsonl", "/runs/none", "/login")


@pytest.mark.parametrize("place", [*PLACES, "/assets/page.css", "/assets/live.js", "/assets/none", "/runs/run1/events"])
def test_every_answer_keeps_to_itself(client: httpx.Client, place: str) -> None:
    answer = client.get(place)
    assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none';") and "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|https?:|\*", policy)


@pytest.mark.parametrize("place", PLACES[1:])
def test_no_page_is_kept_by_a_shared_computer(client: httpx.Client, place: str) -> None:
    assert client.get(place).headers["cache-control"] == "no-store"


def test_the_list_has_each_run_in_a_row_and_its_page_has_its_parts(client: httpx.Client) -> None:
    listed = client.get("/runs").text
    assert 'href="/runs/run1"' in listed and "is-completed" in listed and "0 running, 1 listed" in listed
    page = client.get("/runs/run1").text
    for part in ("calls", "refusals", "network", "changes", "posture", "setup", "bounds", "record"):
        assert f'id="{part}-part"' in page
    assert "Verified." in page


def test_a_long_list_is_cut_and_says_so(runs: TestRuns, client: httpx.Client) -> None:
    for number in range(MAX_LISTED_RUNS + 1):
        runs.add(RunRecord(runs.state, f"more{number}"))
    listed = client.get("/runs").text
    assert listed.count('scope="row"') == MAX_LISTED_RUNS and "2 older are not" in listed


def test_live_updates_have_what_came_after_a_line_and_nothing_before(runs: TestRuns, client: httpx.Client) -> None:
    record = runs.add(RunRecord(runs.state, "run2"))
    record.start()
    record.end_call(record.begin_call(argv=["node", "one.js"]))
    page = client.get("/runs/run2").text
    (after,) = re.findall(r'data-after="(\d+)"', page)
    record.end_call(record.begin_call(argv=["node", "two.js"]))
    more = client.get("/runs/run2/live", params={"after": after}).text
    assert 'id="call-2"' in more and 'id="call-1"' not in more and "2 calls so far" in more
    assert client.get("/runs/run2/live?after=x").status_code == 422


def test_files_of_a_record_are_handed_out_to_be_saved_as_they_are(runs: TestRuns, client: httpx.Client) -> None:
    for name in ("audit.jsonl", "receipt.json", "report.json", "changes.patch", "outputs.jsonl"):
        answer = client.get(f"/runs/run1/files/{name}")
        assert answer.content == (runs.records[0].folder / name).read_bytes()
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert answer.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("name", ["run.json", "audit-key.pub", "..%2f..%2faudit-key.pem", "%2e%2e", "lock"])
def test_other_files_of_a_folder_are_not_handed_out(client: httpx.Client, name: str) -> None:
    assert client.get(f"/runs/run1/files/{name}").status_code == 404


@pytest.mark.parametrize(
    "place", ["/runs/x", "/runs/x/live", "/runs/x/events", "/runs/x/files/audit.jsonl", "/runs/a%00b"]
)
def test_a_run_that_is_not_the_viewers_is_not_there(client: httpx.Client, place: str) -> None:
    assert client.get(place).status_code == 404


def test_the_stream_of_a_run_that_has_ended_ends_at_once(client: httpx.Client) -> None:
    answer = client.get("/runs/run1/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("event: ended\ndata: 1\n\n")


def test_who_may_not_come_in_gets_no_page_and_assets_all_the_same() -> None:
    def nobody() -> RunsSource:
        raise HTTPException(401)

    app = FastAPI()
    app.include_router(pages(nobody))
    with served(app) as base, httpx.Client(base_url=base, timeout=60) as client:
        for place in ("/runs", "/runs/run1", "/runs/run1/live", "/runs/run1/events", "/runs/run1/files/audit.jsonl"):
            assert client.get(place).status_code == 401
        assert client.get("/assets/page.css").status_code == 200


def test_the_form_to_sign_in_shows_a_problem_as_text(client: httpx.Client) -> None:
    page = client.get("/login", params={"problem": "<b>no</b>"}).text
    assert "&lt;b&gt;no&lt;/b&gt;" in page and 'method="post" action="/login"' in page


def test_a_heading_is_kept_until_its_report_is_another(tmp_path: Path) -> None:
    runs, headings = TestRuns(tmp_path), Headings()
    record = runs.add(rich_record(tmp_path, text=HOSTILE))
    assert headings.of(runs.runs()[0]).status == "running"
    record.end()
    ended = headings.of(runs.runs()[0])
    assert ended.status == "completed" and headings.of(runs.runs()[0]) is ended
    report = record.folder / "report.json"
    report.write_text(report.read_text().replace('"status": "completed"', '"status": "failed"'))
    os.utime(report, ns=(1, 1))
    assert headings.of(runs.runs()[0]).status == "failed"


def test_runs_of_a_state_folder_are_seen_by_those_who_may(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    record = state.begin()
    rich_record(tmp_path, "ended1").end()
    everybody = FolderRuns(state, lambda: None, pause=0.0)
    assert {folder.run_id: folder.alive for folder in everybody.runs()}["ended1"] is False
    found = everybody.run(record.run_id)
    assert found is not None and found.alive and everybody.run("../runs") is None and everybody.run("none") is None
    others = FolderRuns(state, lambda: None, may_see=lambda run: run == "ended1")
    assert [folder.run_id for folder in others.runs()] == ["ended1"] and others.run(record.run_id) is None
    record.release()


def test_a_run_is_followed_while_its_log_grows_and_to_its_end(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    record = state.begin()
    log = record.folder / "audit.jsonl"
    source = FolderRuns(state, lambda: None, pause=0.0)

    async def follow() -> int:
        heard = 0
        async for _ in source.changes(record.run_id):
            heard += 1
            if heard == 1:
                log.write_bytes(b"one\n")
            elif heard == 2:
                record.release()
        return heard

    assert asyncio.run(asyncio.wait_for(follow(), 60)) >= 2
