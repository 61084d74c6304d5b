"""The web pages for people: a token is given once to a form and kept in a cookie, and each tenant sees its own runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from runner.audit.keys import PublicKey
from runner.controller.host import Host
from runner.controller.stopwatch import utc
from runner.doors.http.callers import COOKIE, Callers, require_verb
from runner.doors.http.limits import Shares
from runner.doors.http.problems import Unauthorized
from runner.doors.web.folder_runs import FolderRuns
from runner.doors.web.responses import login_page, message_page
from runner.doors.web.routes import pages
from runner.pages.record import NotBegun, RecordFolder
from runner.serving.refusals import NoSuchRun, ServiceRefusal
from runner.serving.service import Service
from runner.store.runs import RunRow
from runner.store.tokens import Token, Verb

__all__ = ["Pages", "web_pages"]

Pages = Callable[[Callers, Shares], APIRouter]

_HOME = "/runs"
_OURS = re.compile(r"/runs(?:/[a-z0-9]{1,64})?", re.ASCII)
_MOST_RUNS = 500


class TenantRuns(FolderRuns):
    """What the bearer of a token may see of the runs: its tenant's, in the order of the database."""

    def __init__(self, host: Host, service: Service, token: Token, key: Callable[[], PublicKey | None]) -> None:
        super().__init__(host.state, key)
        self._service, self._token = service, token

    def who(self) -> str:
        """The tenant: it is whose runs these are."""
        return self._token.tenant

    def runs(self) -> Sequence[RecordFolder]:
        """The tenant's runs, newest first; those without a folder too, which wait for a place or never had one."""
        return [self._shown(row) for row in self._service.all(self._token, limit=_MOST_RUNS)]

    def run(self, run_id: str) -> RecordFolder | None:
        """One of the tenant's runs."""
        # The id is a folder's name: nothing but letters and digits may lead anywhere.
        if not (run_id.isascii() and run_id.isalnum()):
            return None
        try:
            return self._shown(self._service.get(self._token, run_id))
        except NoSuchRun:
            return None

    def _shown(self, row: RunRow) -> RecordFolder:
        if self._path(row.id).is_dir():
            return self._folder(row.id)
        asked = {name: row.request.get(name) for name in ("repo", "ref", "policy")}
        told = {"repository": asked.pop("repo"), **asked, "started": utc(row.created_unix)}
        return RecordFolder(row.id, self._path(row.id), row.live, NotBegun(str(row.state), told, row.code, row.because))

    def _goes_on(self, run_id: str) -> bool:
        return super()._goes_on(run_id) or self._service.holds(run_id)


def web_pages(host: Host, service: Service, key: Callable[[], PublicKey | None], *, secure: bool) -> Pages:
    """The pages. `secure`: the cookie is sent over TLS alone."""

    def made(callers: Callers, shares: Shares) -> APIRouter:
        async def viewer(request: Request) -> AsyncIterator[TenantRuns]:
            try:
                token = await _reader(callers, request.cookies.get(COOKIE, ""))
            except (Unauthorized, ServiceRefusal) as error:
                where = f"/login?next={quote(request.url.path)}"
                raise HTTPException(303, headers={"Location": where}) from error
            request.state.token = token  # for the access log
            with shares.take(token.tenant):
                yield TenantRuns(host, service, token, key)

        router = APIRouter(include_in_schema=False)
        router.include_router(_signing_in(callers, host.unix, secure=secure))
        router.include_router(pages(viewer, sign_out="/logout"))
        return router

    return made


def _signing_in(callers: Callers, unix: Callable[[], float], *, secure: bool) -> APIRouter:
    router = APIRouter()

    @router.get("/login")
    def form(next: str = _HOME) -> Response:
        return login_page("/login", _after(next))

    @router.post("/login")
    async def sign_in(request: Request) -> Response:
        if _from_elsewhere(request):
            return message_page(403, "Not from here", "Another site sent this form.")
        sent = parse_qs((await request.body()).decode("utf-8", "replace"))  # its size is bounded by `BodyLimits`
        after, text = _after(sent.get("next", [_HOME])[0]), sent.get("token", [""])[0].strip()
        try:
            token = await _reader(callers, text)
        # The form again, with what is wrong, is a page as any other: browsers put each answer of 400 and above on the
        # console as a fault of the page. A program learns of a refused token by the API, which answers 401 and 403.
        except Unauthorized as error:
            return login_page("/login", after, str(error))
        except ServiceRefusal as error:
            return login_page("/login", after, error.message)
        answer = RedirectResponse(after, 303)
        seconds = int(token.expires_unix - unix())
        answer.set_cookie(COOKIE, text, max_age=seconds, secure=secure, httponly=True, samesite="strict")
        return answer

    @router.post("/logout")
    def sign_out(request: Request) -> Response:
        if _from_elsewhere(request):
            return message_page(403, "Not from here", "Another site sent this form.")
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, secure=secure, httponly=True, samesite="strict")
        return answer

    return router


async def _reader(callers: Callers, text: str) -> Token:
    return require_verb(await callers.of_text(text), Verb.READ)


def _after(said: str) -> str:
    """Where the form leads: to a page of ours, whatever a link to the form says."""
    return said if _OURS.fullmatch(said) else _HOME


def _from_elsewhere(request: Request) -> bool:
    """A form of another site would sign somebody in as somebody else. Browsers say where a form comes from."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
