"""The web pages over real sockets, with runs that a test writes, and a Chromium that looks at them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import Response

from runner.audit.keys import PublicKey
from runner.doors.web.responses import login_page
from runner.doors.web.routes import pages
from runner.pages.record import RecordFolder
from tests.support.run_record import RunRecord

__all__ = ["CHROMIUM_ARGUMENTS", "TestRuns", "served", "site"]

CHROMIUM_ARGUMENTS = (
    "--no-sandbox",  # tests run as root in containers; the pages are our own
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)
_SURE_SECONDS = 60.0


class TestRuns:
    """A `RunsSource` of runs that a test writes; it says when there is more to see."""

    __test__ = False

    def __init__(self, state: Path) -> None:
        self.state = state
        self.records: list[RunRecord] = []
        self._more = threading.Condition()
        self._count = 0
        self.stopped = False
        self.turned_away = 0  # the status that whoever asks gets instead of a page

    def add(self, record: RunRecord) -> RunRecord:
        """One more run, the newest."""
        self.records.insert(0, record)
        return record

    def told(self) -> None:
        """Who follows a run hears that there is more."""
        with self._more:
            self._count += 1
            self._more.notify_all()

    def stop(self) -> None:
        """No stream waits any longer."""
        self.stopped = True
        self.told()

    def who(self) -> str:
        return ""

    def runs(self) -> Sequence[RecordFolder]:
        return [RecordFolder(record.run_id, record.folder, record.alive) for record in self.records]

    def run(self, run_id: str) -> RecordFolder | None:
        return next((folder for folder in self.runs() if folder.run_id == run_id), None)

    def key(self) -> PublicKey | None:
        return self.records[0].key if self.records else None

    async def changes(self, run_id: str) -> AsyncIterator[None]:
        seen = -1
        while not self.stopped:
            seen = await asyncio.to_thread(self._wait, seen)
            folder = self.run(run_id)
            yield None
            if folder is None or not folder.alive:
                return

    def _wait(self, seen: int) -> int:
        with self._more:
            self._more.wait_for(lambda: self._count != seen, _SURE_SECONDS)
            return self._count


def site(runs: TestRuns) -> FastAPI:
    """The pages, and a form to sign in with, as a server has them."""
    app = FastAPI(openapi_url=None)

    def viewer() -> TestRuns:
        if runs.turned_away:
            raise HTTPException(runs.turned_away, headers={"Location": "/login"})
        return runs

    app.include_router(pages(viewer))

    @app.get("/login")
    def login(problem: str = "") -> Response:
        return login_page("/login", problem=problem)

    return app


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The address of the app, on a port of its own."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, ws="none", lifespan="off"))
    up = threading.Event()
    startup = server.startup

    async def started(sockets: list[object] | None = None) -> None:
        await startup(sockets)  # type: ignore[arg-type]
        up.set()

    server.startup = started  # type: ignore[method-assign, assignment]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert up.wait(_SURE_SECONDS)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(_SURE_SECONDS)
