"""`/v1`: runs, their calls, what they leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from runner.controller.records import StateFolder
from runner.doors.http.callers import require_verb
from runner.doors.http.described import BEARER, ERRORS
from runner.doors.http.events import audit_events, call_events
from runner.doors.http.forms import AnswerForm, CancelForm, ListForm, RunForm, RunRequestForm, run_form
from runner.doors.http.metrics import Metrics
from runner.model.errors import ErrorCode, ToolError
from runner.policy.strict_json import read_call
from runner.serving.refusals import NotFound
from runner.serving.service import Service
from runner.store.runs import RunRow
from runner.store.tokens import Token, Verb

__all__ = ["api"]

_PREFIX = "/v1"
_MAX_WAIT_SECONDS = 60.0
_CALLS_AT_ONCE = 256
"""Threads for calls, over all tenants; a tenant's own share is much smaller, so that none can take them all."""

_FILES = {
    "report": ("report.json", "application/json"),
    "audit": ("audit.jsonl", "application/jsonl"),
    "receipt": ("receipt.json", "application/json"),
    # Text for an editor, never for a browser to show: git made it from what the workspace holds.
    "patch": ("changes.patch", "application/octet-stream"),
}
_ARGUMENTS = {
    "requestBody": {
        "description": "The tool's arguments, as docs/tools.md has them.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}
_OUTPUT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
_LEFT = {kind: {"schema": {"type": "string"}} for _, kind in _FILES.values() if kind != "application/json"}
_LEFT |= {"application/json": {"schema": {"type": "object"}}}
Key = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200, description="Carried out once for each.")
]


class _Door:
    """What the routes have in common."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.calls = CapacityLimiter(_CALLS_AT_ONCE)
        self.may_run = Depends(_asking(Verb.RUN))
        self.may_read = Depends(_asking(Verb.READ))

    def form(self, row: RunRow) -> RunForm:
        return run_form(row, self.service.progress(row.id))

    async def off(self, act: Callable[[], Any]) -> Any:
        return await to_thread.run_sync(act, limiter=self.calls)


def api(service: Service, metrics: Metrics, state: StateFolder) -> APIRouter:
    """The routes, for one service."""
    door = _Door(service)
    router = APIRouter(responses=ERRORS, dependencies=[BEARER])
    router.include_router(_runs(door))
    router.include_router(_calls(door, metrics))
    router.include_router(_records(door, state))
    return router


def _runs(door: _Door) -> APIRouter:
    router = APIRouter(prefix=_PREFIX)
    service, off, form, may_run, may_read = door.service, door.off, door.form, door.may_run, door.may_read

    @router.post("/runs", status_code=202, response_model=RunForm, summary="Open a run")
    async def create(
        response: Response,
        asked: RunRequestForm,
        token: Token = may_run,
        key: Key = None,
        wait: Annotated[float, Query(ge=0, le=_MAX_WAIT_SECONDS, description="Seconds to wait until it is open.")] = 0,
    ) -> RunForm:
        """A fresh container with the repository; the answer comes at once, `state` tells when it takes calls."""
        row = await off(lambda: service.create(token, asked.wanted(), key))
        response.headers["Location"] = f"/v1/runs/{row.id}"
        return form(row if not wait else await off(lambda: service.wait(token, row.id, wait)))

    @router.get("/runs", response_model=ListForm, summary="List runs")
    async def listed(
        token: Token = may_read,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
        before: Annotated[float | None, Query(description="Those created before this moment, in Unix seconds.")] = None,
        before_id: Annotated[
            str, Query(max_length=64, description="With `before`, both of a page's last run: those listed after it.")
        ] = "",
    ) -> ListForm:
        """The tenant's runs, newest first."""
        rows = await off(lambda: service.all(token, limit=limit, before=before, before_id=before_id))
        return ListForm(runs=[form(row) for row in rows])

    @router.get("/runs/{run_id}", response_model=RunForm, summary="Show a run")
    async def show(
        run_id: str,
        token: Token = may_read,
        wait: Annotated[float, Query(ge=0, le=_MAX_WAIT_SECONDS, description="Seconds to wait until it is open.")] = 0,
    ) -> RunForm:
        """How it stands."""
        return form(await off(lambda: service.wait(token, run_id, wait)))

    @router.delete("/runs/{run_id}", response_model=RunForm, summary="End a run")
    async def end(
        run_id: str,
        token: Token = may_run,
        interrupt: Annotated[bool, Query(description="Cancel what is in flight; the state is `interrupted`.")] = False,
    ) -> RunForm:
        """Torn down, verified, reported and sealed when the answer comes. Ending it again changes nothing."""
        return form(await off(lambda: service.end(token, run_id, interrupt=interrupt)))

    return router


def _calls(door: _Door, metrics: Metrics) -> APIRouter:
    router = APIRouter(prefix=_PREFIX)
    service, off, may_run = door.service, door.off, door.may_run

    @router.post("/runs/{run_id}/cancel", response_model=CancelForm, summary="Cancel the call in flight")
    async def cancel(run_id: str, token: Token = may_run) -> CancelForm:
        """Each program that the call started is killed, with its descendants; the call answers, the run goes on."""
        return CancelForm(cancelled=await off(lambda: service.cancel(token, run_id)))

    @router.post(
        "/runs/{run_id}/tools/{tool}",
        response_model=AnswerForm,
        response_model_exclude_unset=True,  # `result` or `error`, never the other as null: as every door has it
        summary="Call a tool",
        openapi_extra=_ARGUMENTS,
        responses=_OUTPUT,
    )
    async def call(
        request: Request,
        run_id: str,
        tool: str,
        token: Token = may_run,
    ) -> Any:
        """The answer, also of a refusal. With `Accept: text/event-stream`, output as it comes and the answer last."""
        body = await request.body()
        await off(lambda: service.get(token, run_id))

        def act(on_output: Any = None) -> dict[str, Any]:
            answer = _called(service, token, run_id, tool, body, on_output)
            metrics.called(answer)
            return answer

        if "text/event-stream" in request.headers.get("accept", ""):
            told = call_events(act, door.calls, request.state.share.until)
            return StreamingResponse(told, media_type="text/event-stream")
        return await off(act)

    return router


def _records(door: _Door, state: StateFolder) -> APIRouter:
    router = APIRouter(prefix=_PREFIX)
    service, off, may_read = door.service, door.off, door.may_read

    @router.get(
        "/runs/{run_id}/events", summary="Follow a run's audit log", response_class=StreamingResponse, responses=_OUTPUT
    )
    async def events(
        run_id: str,
        token: Token = may_read,
        after: Annotated[int | None, Header(alias="Last-Event-ID", description="Go on after this line.")] = None,
    ) -> StreamingResponse:
        """Server-sent events, one for each line as it is written; the stream ends with the run."""
        row = await off(lambda: service.get(token, run_id))
        path = state.path / "runs" / row.id / "audit.jsonl"
        lines = audit_events(path, after or 0, lambda: service.holds(row.id))
        return StreamingResponse(lines, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @router.get(
        "/runs/{run_id}/{file}",
        summary="What a run left: report, audit, receipt or patch",
        response_class=FileResponse,
        responses={200: {"content": _LEFT}},
    )
    async def left(run_id: str, file: str, token: Token = may_read) -> FileResponse:
        """The file as it is in the run's record. Report, receipt and patch are there once it has ended."""
        row = await off(lambda: service.get(token, run_id))
        if file not in _FILES:
            raise NotFound("no_such_file", f"A run leaves no {file[:40]!r}.", f"It leaves {', '.join(_FILES)}.")
        name, kind = _FILES[file]
        path = state.path / "runs" / row.id / name
        if not path.is_file():
            raise _missing(name, row)
        headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
        return FileResponse(path, media_type=kind, filename=name, headers=headers)

    return router


def _missing(name: str, row: RunRow) -> NotFound:
    if row.live:
        return NotFound("not_there_yet", f"The run has no {name} yet.", "It is written when the run ends.")
    began = "" if row.opened_unix is None else " Its log is kept as far as it goes."
    return NotFound("never_written", f"The run ended as {row.state}, without {name}.", f"There will be none.{began}")


def _called(service: Service, token: Token, run_id: str, tool: str, body: bytes, on_output: Any) -> dict[str, Any]:
    """As strictly read as a line of a calls file, so that every door takes and refuses the same."""
    try:
        arguments = read_call(body or b"{}")
    except ValueError as error:
        said = ToolError(
            ErrorCode.INVALID_ARGUMENTS, f"The arguments cannot be read: {error}.", hint="Send one object."
        )
        return service.refuse(token, run_id, tool, said)
    return service.call(token, run_id, tool, arguments, on_output)


def _asking(verb: Verb) -> Callable[[Request], Awaitable[Token]]:
    async def asking(request: Request) -> Token:
        return require_verb(request.state.token, verb)  # `Admission` has put it there

    return asking
