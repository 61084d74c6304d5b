"""The routes of the web pages. They read records and change nothing; who is asking is settled before they are asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from importlib.resources import files
from typing import Any, Protocol

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from runner.audit.keys import PublicKey
from runner.doors.web.headings import Headings
from runner.doors.web.responses import SECURITY_HEADERS, download, message_page, page_response
from runner.pages.html import stylesheet
from runner.pages.page import run_page
from runner.pages.record import RecordFolder

__all__ = ["MAX_LISTED_RUNS", "RunsSource", "pages"]

MAX_LISTED_RUNS = 100
"""Runs that the list shows, the newest; a longer page is not looked through."""

_ASSETS = {
    "page.css": ("text/css", "runner.pages"),
    "live.js": ("text/javascript", "runner.doors.web"),
}


class RunsSource(Protocol):
    """What one viewer may see of the runs."""

    def who(self) -> str:
        """The name that the viewer is signed in under; empty where nobody is."""
        ...

    def runs(self) -> Sequence[RecordFolder]:
        """The viewer's runs, newest first."""
        ...

    def run(self, run_id: str) -> RecordFolder | None:
        """One of the viewer's runs; None for one that there is not, or that is somebody else's."""
        ...

    def key(self) -> PublicKey | None:
        """The key that receipts are checked with; None where no run was ever sealed."""
        ...

    def changes(self, run_id: str) -> AsyncIterator[None]:
        """Something whenever there is more to see of a run, at most a few times a second; ends with the run."""
        ...


def pages(viewer: Callable[..., RunsSource | AsyncIterator[RunsSource]], sign_out: str = "") -> APIRouter:
    """The pages, for a server to include. `viewer` is a dependency: it knows who asks, or raises what turns them away.

    `sign_out` is where a form signs the viewer out; without it nobody is signed in and the pages have no such button.
    Assets are handed out to everybody, since the page to sign in with needs them.
    """
    router = APIRouter(include_in_schema=False)
    headings = Headings()
    asked = Depends(viewer)

    @router.get("/")
    def root() -> Response:
        return RedirectResponse("/runs", 303, headers=dict(SECURITY_HEADERS))

    @router.get("/assets/{name}")
    def asset(name: str) -> Response:
        return _asset(name)

    @router.get("/runs")
    def listed(source: RunsSource = asked) -> Response:
        return _list(source, headings, sign_out)

    @router.get("/runs/{run_id}")
    def one(run_id: str, source: RunsSource = asked) -> Response:
        found = source.run(run_id)
        if found is None:
            return _unknown()
        page = run_page(found, source.key())
        return page_response("run.html", page=page, sign_out=sign_out, who=source.who())

    @router.get("/runs/{run_id}/live")
    def live(run_id: str, after: int = 0, source: RunsSource = asked) -> Response:
        found = source.run(run_id)
        return _unknown() if found is None else _live(found, after)

    @router.get("/runs/{run_id}/events")
    async def events(run_id: str, source: RunsSource = asked) -> Response:
        found = source.run(run_id)
        return _unknown() if found is None else _stream(source.changes(run_id))

    @router.get("/runs/{run_id}/files/{name}")
    def file(run_id: str, name: str, source: RunsSource = asked) -> Response:
        found = source.run(run_id)
        if found is None or name not in found.files():
            return _unknown()
        return download(found.path / name)

    return router


def _unknown() -> Response:
    return message_page(404, "Not found", "There is no such run, or it is not yours to see.")


def _asset(name: str) -> Response:
    if name not in _ASSETS:
        return Response(status_code=404, headers=dict(SECURITY_HEADERS))
    kind, package = _ASSETS[name]
    body = stylesheet() if name == "page.css" else (files(package) / "assets" / name).read_text(encoding="utf-8")
    return Response(body, media_type=kind, headers={**SECURITY_HEADERS, "Cache-Control": "no-cache"})


def _list(source: RunsSource, headings: Headings, sign_out: str) -> Response:
    found = source.runs()
    told = [headings.of(folder) for folder in found[:MAX_LISTED_RUNS]]
    values: dict[str, Any] = {"runs": told, "live": sum(run.live for run in told), "unlisted": len(found) - len(told)}
    return page_response("runs.html", sign_out=sign_out, who=source.who(), **values)


def _live(folder: RecordFolder, after: int) -> Response:
    """What the log says beyond the line `after`, to be put where it belongs on a page that shows all before it."""
    page = run_page(folder, None)
    fresh = [call for call in (*page.first_calls, *page.last_calls) if call.told.line > after]
    refusals = [call for call in page.refusals if call.told.line > after]
    connections = [one for one in page.connections if one.line > after]
    return page_response("live.html", page=page, calls=fresh, refusals=refusals, connections=connections)


def _stream(changes: AsyncIterator[None]) -> Response:
    """Server-sent events that hold nothing: they say when to ask. A reader that lost some asks for the same lines."""

    async def told() -> AsyncIterator[str]:
        async for _ in changes:
            yield "event: changed\ndata: 1\n\n"
        yield "event: ended\ndata: 1\n\n"

    headers = {**SECURITY_HEADERS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told(), media_type="text/event-stream", headers=headers)
