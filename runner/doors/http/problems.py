"""Errors as problem+json (RFC 9457), with the codes that every other door has."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from runner.model.errors import ExitCode, RunnerError
from runner.serving.refusals import Busy, Conflict, Forbidden, NotFound, ServiceRefusal
from runner.store.database import StoreUnavailable

__all__ = ["CONTENT_TYPE", "Problem", "Unauthorized", "handle_errors", "problem", "problem_of"]

CONTENT_TYPE = "application/problem+json"
_STATUS_OF_REFUSAL = (
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 422),
    (Busy, 429),
)
_STATUS_OF_EXIT = {
    ExitCode.USAGE: 422,
    ExitCode.ENGINE: 503,
    ExitCode.REPOSITORY: 422,
    ExitCode.LIMIT: 409,
    ExitCode.POSTURE: 503,
}
_RETRY_SECONDS = "5"


class Problem(BaseModel):
    """What an error's body has. `code` does not change, texts may."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    hint: str = ""


class Unauthorized(Exception):
    """Nobody, or nobody who is known, is asking."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def problem(
    status: int, code: str, detail: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The response."""
    said = Problem(title=code.replace("_", " "), status=status, code=code, detail=detail, hint=hint)
    retry = {"Retry-After": _RETRY_SECONDS} if status in (429, 503) else {}
    return JSONResponse(said.model_dump(), status, headers={**retry, **(headers or {})}, media_type=CONTENT_TYPE)


def handle_errors(app: FastAPI) -> None:
    """Every error of the application answers as a problem."""
    for known in (ServiceRefusal, RunnerError, Unauthorized):
        app.add_exception_handler(known, _known)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def problem_of(error: Exception) -> JSONResponse:
    """The response of one of our own errors; any other is raised again."""
    if isinstance(error, ServiceRefusal):
        status = next(status for kind, status in _STATUS_OF_REFUSAL if isinstance(error, kind))
        return problem(status, error.code, error.message, error.hint)
    if isinstance(error, Unauthorized):
        return problem(401, error.code, error.message, error.hint, {"WWW-Authenticate": 'Bearer realm="runner"'})
    if isinstance(error, RunnerError):
        status = 503 if isinstance(error, StoreUnavailable) else _STATUS_OF_EXIT.get(error.exit_code, 500)
        return problem(status, error.code, f"{error.message}.", error.hint)
    raise error


def _known(_request: Request, error: Exception) -> JSONResponse:
    return problem_of(error)


def _malformed(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    # Field and reason only: values are not echoed, they may be large or hostile.
    said = [f"{'.'.join(str(part)[:64] for part in each['loc'])}: {each['msg']}" for each in error.errors()[:10]]
    return problem(422, "invalid_request", "; ".join(said) + ".", "docs/openapi.json has the forms of requests.")


def _http(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    codes = {400: "invalid_request", 404: "not_found", 405: "method_not_allowed"}
    headers = dict(error.headers or {})
    return problem(error.status_code, codes.get(error.status_code, "http_error"), f"{error.detail}.", headers=headers)


def _bug(_request: Request, error: Exception) -> JSONResponse:
    return problem(500, "internal_error", f"{type(error).__name__}.", "Please report it.")
